"""recipes sync: fetch sources of recipes."""

from __future__ import annotations

import os

from ..catalog.files import config_directory
from ..catalog.sources import SourceSpec, current_of, is_pin, masked, no_source, parse, synced_names
from ..errors import LaunchError, UsageError, instead
from ..streams import answer, remark, shows_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..commandline import Invocation
    from ..settings import Settings
    from ..sync.source import Outcome, Telling

_TOLD = 10  # recipes that cannot be read, before the rest is counted
_EXAMPLE = "https://github.com/vllm-project/recipes"


def run(invocation: Invocation, settings: Settings) -> int:
    """Fetch one source, or all; one that fails does not keep the others from it."""
    from ..sync.limits import Limits
    from ..sync.source import Wish, sync

    named = [each for each in (invocation.argument, *invocation.more) if each is not None]
    _refuse_contradictions(named, settings)
    specs = _specs(named, settings)
    wish = Wish(pin=settings["pin"] or "", unpin=bool(settings["unpin"]), ca=settings["ca"])
    limits = Limits(seconds=settings["timeout"]) if settings["timeout"] else Limits()
    outcomes: list[Outcome] = []
    failures: list[LaunchError] = []
    for spec in specs:
        try:
            outcomes.append(sync(spec, wish, limits, _telling(spec.name)))
        except LaunchError as error:
            failures.append(error)
        finally:
            _clear()
    if outcomes:
        _print(outcomes, settings)
    for failure in failures[:-1]:
        remark(f"error: {failure.message}\n")
    if failures:
        raise failures[-1]
    return 0


def _refuse_contradictions(named: Sequence[str], settings: Settings) -> None:
    """Raise UsageError for what cannot be meant together."""
    pin, ca = settings["pin"], settings["ca"]
    if ca and not os.access(ca, os.R_OK):
        raise UsageError(
            f"{settings.source('ca')}: cannot read {ca}", hint="name a file of certificates in PEM"
        )
    if pin and settings["unpin"]:
        raise UsageError("--pin and --unpin contradict each other", hint="leave one out")
    if pin and len(named) != 1:
        raise UsageError(f"{settings.source('pin')}: a revision of which source?", hint="name one")
    if pin and not is_pin(pin):
        raise UsageError(
            f"{settings.source('pin')}: found {pin!r}; expected a commit, a branch or a tag"
        )


def configured(settings: Settings) -> list[SourceSpec]:
    """The synced sources that the settings name, in their order."""
    addresses = [each for each in settings.listed("recipes_dir") if "://" in each]
    return [_parsed(text) for text in (*addresses, *settings.listed("sources"))]


def _parsed(text: str) -> SourceSpec:
    try:
        return parse(text)
    except ValueError as error:
        raise no_source(text, error) from None


def synced_specs() -> list[SourceSpec]:
    """The sources that have a copy, whether the settings name them or not."""
    copies = ((name, current_of(name)) for name in synced_names())
    return [SourceSpec(name=name, url=copy.url) for name, copy in copies if copy is not None]


def _specs(named: Sequence[str], settings: Settings) -> list[SourceSpec]:
    """What to sync: the sources that are named, or each one once. Raises UsageError for none."""
    known = {spec.url: spec for spec in (*synced_specs(), *configured(settings))}
    if not named and not known:
        hint = f"name one, such as vllm-launch recipes sync {_EXAMPLE}"
        raise UsageError("there is no source to sync", hint=hint)
    return [_spec(each, known) for each in named] or list(known.values())


def _spec(argument: str, known: dict[str, SourceSpec]) -> SourceSpec:
    """The source with a name or an address. Raises UsageError for none."""
    found = next((spec for spec in known.values() if spec.name == argument), None)
    if found is not None:
        return found
    if "://" not in argument:
        hint = instead(argument, "there are", (spec.name for spec in known.values()))
        raise UsageError(f"there is no source {masked(argument)!r}", hint=hint)
    spec = _parsed(argument)
    there = known.get(spec.url)
    return spec if there is None else there.replace(pin=spec.pin or there.pin)


def _telling(name: str) -> Telling:
    """Where the sync says how it goes: on one line of a terminal, in lines elsewhere."""
    from ..sync.source import Telling

    if shows_progress():
        return Telling(
            line=lambda text: remark(f"{text}\n", over=True),
            step=lambda text: remark(f"{name}: {text}", over=True),
            count=lambda text: remark(f"{name}: {text}", over=True),
        )
    return Telling(
        line=lambda text: remark(f"{text}\n"),
        step=lambda text: remark(f"{name}: {text}\n"),
        count=lambda _: None,
    )


def _clear() -> None:
    if shows_progress():
        remark("", over=True)


def _print(outcomes: Sequence[Outcome], settings: Settings) -> None:
    from ..render.sources import outcome_record, outcome_text

    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("sync", [outcome_record(each) for each in outcomes]))
    else:
        answer("".join(outcome_text(each) for each in outcomes))
    used = {spec.url for spec in configured(settings)}
    for outcome in outcomes:
        faults = [f"warning: {name}: {why}\n" for name, why in outcome.broken.items()]
        more = len(faults) - _TOLD
        remark("".join(faults[:_TOLD]) + (f"warning: and {more} more\n" if more > 0 else ""))
        if outcome.kept_pin:
            remark(f"{outcome.name} stays at {outcome.current.pin}; --unpin follows the newest\n")
        if outcome.current.url not in used:
            remark(_use(outcome.current.url))


def _use(url: str) -> str:
    """How to have a source looked through in every run."""
    path = os.path.join(config_directory(), "config.yaml")
    from ..render.shell import quote

    return f"to use it, give --recipes-dir {quote(url)}, or put into {path}:\nsources:\n- {url}\n"
