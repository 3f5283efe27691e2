"""Switches of the target vLLM, which take no true or false."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.vllm import opposite
from .arguments import BOOLEAN_WORDS, forms_of
from .plan import arguments
from .target import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.vllm import VllmOptions
    from .plan import Given
    from .situation import Situation
    from .target import Target


def booleans_spelt(situation: Situation) -> Iterable[Finding] | None:
    """Switches have forms of their own, and take no true or false."""
    options, at = situation.options, target(situation)
    if options is None or at is None:
        return None
    return list(_booleans(situation, options, at))


def switch(options: VllmOptions, given: Given, among: int) -> str | None:
    """What to write for a switch with true or false behind it, "" for nothing; None for others."""
    forms, word = forms_of(options, given, among), given.text.lower()
    if not forms or forms[-1].kind == "value" or word not in BOOLEAN_WORDS or given.key:
        return None
    if word in ("true", "1", "yes", "on"):
        return given.flag
    name = forms[-1].flags[0]
    if given.flag in (f"--no-{name[2:]}", opposite(name)):
        return name
    return f"--no-{name[2:]}" if forms[-1].kind == "bool" else ""


def _booleans(situation: Situation, options: VllmOptions, at: Target) -> Iterator[Finding]:
    for given in arguments(situation.process):
        instead = switch(options, given, at.among)
        if instead is None:
            continue
        yield Finding(
            severity="fail" if at.sure else "warn",
            what=f"{given.written} takes no value, found {given.text!r}",
            why="The word is taken for another argument, and the server does not start.",
            remedy=f"Write {instead} alone." if instead else f"Leave {given.flag} out.",
            cause=given.flag,
            source=given.source,
        )


CHECKS = (
    Check(
        code="BOOL_FALSE",
        subject="arguments",
        about="switches in their own forms, --x and --no-x",
        run=booleans_spelt,
    ),
)
