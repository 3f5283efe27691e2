"""recipes list and recipes search."""

from __future__ import annotations

from ..catalog.index import entries
from ..catalog.search import Wanted, any_of, is_wanted, ranked
from ..catalog.shelf import Shelf
from ..errors import LaunchError, NothingFits, UsageError, instead
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
    wanted = _wanted(settings, shelf, there)
    found = [entry for entry in there if is_wanted(entry, wanted)]
    if invocation.command.name == "recipes search":
        found = ranked(found, [invocation.argument or "", *invocation.more])
    if not found:
        remark(f"none of {len(there)} recipes is like that\n")
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


def _wanted(settings: Settings, shelf: Shelf, there: Sequence[Entry]) -> Wanted:
    """What the list is narrowed to. Raises UsageError for a word that nothing has."""
    for name, noun, words in (
        ("verified", "hardware", _hardware),
        ("task", "task", _tasks),
        ("provider", "provider", _providers),
    ):
        asked = settings.listed(name)
        known = words(shelf, there) if asked else []
        for word in asked:
            if word not in known and (name == "verified" or not any_of((word,), known)):
                raise _unknown(settings.source(name), noun, word, known)
    return Wanted(
        providers=settings.listed("provider"),
        tasks=settings.listed("task"),
        verified=settings.listed("verified"),
        least=settings["min_params"] or 0,
        most=settings["max_params"] or 0,
    )


def _hardware(shelf: Shelf, _: Sequence[Entry]) -> list[str]:
    return [name for each in shelf.libraries for name in each.taxonomy.hardware_profiles]


def _tasks(shelf: Shelf, there: Sequence[Entry]) -> list[str]:
    named = [task.id for each in shelf.libraries for task in each.taxonomy.tasks]
    return [*named, *(task for entry in there for task in entry.tasks)]


def _providers(_: Shelf, there: Sequence[Entry]) -> list[str]:
    both = [name for entry in there for name in (entry.provider, entry.id.partition("/")[0])]
    return [name for name in both if name]


def _unknown(source: str, noun: str, word: str, known: Sequence[str]) -> UsageError:
    hint = instead(word, "known", dict.fromkeys(known))
    return UsageError(f"{source}: unknown {noun} {word!r}", hint=hint)


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
