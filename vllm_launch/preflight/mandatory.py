"""Arguments that a recipe calls mandatory, and those that vLLM is giving up."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .plan import arguments, is_on
from .renames import DEPRECATED
from .target import target
from .version import is_less

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.deployment import ProcessPlan
    from .plan import Given
    from .situation import Situation


def mandatory_kept(situation: Situation) -> Iterable[Finding] | None:
    """Arguments that the recipe calls mandatory."""
    mandatory = situation.deployment.recipe.model.mandatory_args
    if not mandatory:
        return None
    found = []
    for flag, tokens, _ in mandatory:
        given = _last(situation.process, flag)
        words = tokens[1:]
        off = _is_off(situation.process, flag)
        if given is not None and given.values == words and not off:
            continue
        wanted = " ".join((flag, *words))
        there = f"{given.written} {given.text}".rstrip() if given is not None else "none"
        there += " switched off" if off else ""
        found.append(
            Finding(
                severity="fail",
                what=f"{wanted} needed by this model, found {there}",
                why="The recipe calls it mandatory: otherwise the server stops, or errs.",
                remedy=f"Leave your own {flag} out; or, knowing better, pass --skip BLOCK_SIZE.",
                cause=flag,
                source=given.source if given is not None else None,
            )
        )
    return found


def _last(process: ProcessPlan, flag: str) -> Given | None:
    """The last argument of a flag, a dotted key being part of it."""
    name, _, key = flag.partition(".")
    same = [one for one in arguments(process) if (one.flag, one.key) == (name, key)]
    return same[-1] if same else None


def _is_off(process: ProcessPlan, flag: str) -> bool:
    """Whether a switch that is given is switched off behind that."""
    name, _, key = flag.partition(".")
    given = {one.flag for one in arguments(process)}
    return not key and f"--no-{name[2:]}" in given and not is_on(process, name)


def still_wanted(situation: Situation) -> Iterable[Finding] | None:
    """Arguments that the target vLLM calls deprecated."""
    options, at = situation.options, target(situation)
    if options is None or at is None:
        return None
    found = []
    for given in arguments(situation.process):
        advice = _deprecated(given.flag, at.version or options.releases[-1])
        marked = any(form.deprecated & at.among for form in options.forms(given.flag))
        if (advice or marked) and options.having_flag(given.flag) & at.among:
            found.append(
                Finding(
                    severity="note",
                    what=f"{given.written} is deprecated in vLLM {at.shown}"
                    + (f": {advice}" if advice else ""),
                    why="A later release will not start with it.",
                    cause=given.flag,
                    source=given.source,
                )
            )
    return found


def _deprecated(flag: str, version: str) -> str:
    since, advice = DEPRECATED.get(flag, ("", ""))
    return advice if since and not is_less(version, since) else ""


CHECKS = (
    Check(
        code="BLOCK_SIZE",
        subject="arguments",
        about="arguments that the recipe calls mandatory, --block-size above all",
        run=mandatory_kept,
    ),
    Check(
        code="ARG_DEPRECATED",
        subject="arguments",
        about="arguments that the target vLLM is giving up",
        run=still_wanted,
    ),
)
