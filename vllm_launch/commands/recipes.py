"""recipes list and recipes search."""

from __future__ import annotations

from ..catalog.index import entries
from ..catalog.search import Wanted, is_wanted, ranked
from ..catalog.shelf import Shelf
from ..errors import LaunchError, NothingFits, UsageError
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..commandline import Invocation
    from ..model.entry import Entry
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """List the recipes that are asked for."""
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    _refuse_what_changes_nothing(settings)
    there = _entries(shelf)
    found = [entry for entry in there if is_wanted(entry, _wanted(settings, shelf))]
    if invocation.command.name == "recipes search":
        found = ranked(found, [invocation.argument or "", *invocation.more])
    if not found:
        remark(f"none of {len(there)} recipes is like that{_closest(there, settings)}\n")
    fitting = None
    if settings["fits"] and found:
        from .fitting import fitting_variants

        fitting = fitting_variants(shelf, [entry.id for entry in found], settings)
        found = [entry for entry in found if fitting[entry.id]]
        if not found:
            raise NothingFits(
                f"none of {len(fitting)} recipes fits there",
                hint="vllm-launch fit MODEL says of each what would do",
            )
    _print(found, fitting, settings)
    return 0


def _refuse_what_changes_nothing(settings: Settings) -> None:
    """Raise UsageError for a machine on the command line that nothing is fitted to."""
    for name in ("hardware", "gpus", "host_facts"):
        source = settings.source(name)
        if source.startswith("-") and not settings["fits"]:
            raise UsageError(
                f"{source} goes with --fits", hint="add --fits, or list what is --verified there"
            )


def _entries(shelf: Shelf) -> list[Entry]:
    """What the recipes say; one that cannot be read is told about and passed over."""
    there: list[Entry] = []
    for entry in entries(shelf):
        if isinstance(entry, LaunchError):
            remark(f"warning: {entry.message}\n")
        else:
            there.append(entry)
    return there


def _wanted(settings: Settings, shelf: Shelf) -> Wanted:
    """What the list is narrowed to. Raises UsageError for hardware that there is none of."""
    for name in settings.listed("verified"):
        _require_known(name, settings.source("verified"), shelf)
    return Wanted(
        providers=settings.listed("provider"),
        tasks=settings.listed("task"),
        verified=settings.listed("verified"),
        least=settings["min_params"] or 0,
        most=settings["max_params"] or 0,
    )


def _require_known(hardware: str, source: str, shelf: Shelf) -> None:
    profiles = {name: 0 for each in shelf.libraries for name in each.taxonomy.hardware_profiles}
    if hardware not in profiles:
        from ..catalog.kinds import closest

        known = f"known: {', '.join(profiles)}"
        raise UsageError(
            f"{source}: unknown hardware {hardware!r}",
            hint=" ".join(filter(None, (closest(hardware, profiles), known))),
        )


def _closest(there: Sequence[Entry], settings: Settings) -> str:
    """What may have been meant by a provider or a task that no recipe has."""
    from ..catalog.kinds import closest

    providers = [name for e in there for name in (e.provider, e.id.partition("/")[0])]
    tasks = [task for entry in there for task in entry.tasks]
    near = [closest(word, providers) for word in settings.listed("provider")]
    near += [closest(word, tasks) for word in settings.listed("task")]
    return "".join(f"; {text}" for text in near if text)


def _print(
    found: list[Entry], fitting: dict[str, tuple[str, ...]] | None, settings: Settings
) -> None:
    if settings["output"] == "json":
        from ..render.envelope import envelope
        from ..render.recipe_list import list_record

        answer(envelope("recipes", list_record(found, fitting)))
    else:
        from ..render.paper import paper
        from ..render.recipe_list import list_text

        answer(list_text(found, fitting, paper(bool(settings["no_color"]))))
