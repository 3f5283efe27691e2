"""recipes diff: what resolves differently in two sources, or in two revisions of one."""

from __future__ import annotations

import os

from ..catalog.library import bundled, foreign
from ..catalog.shelf import Shelf
from ..catalog.sources import kept
from ..errors import CheckFailed, LaunchError, UsageError, did_you_mean
from ..model.choice import Request
from ..model.record import Record
from ..resolve.difference import Target, changes, outcomes
from ..resolve.resolver import Resolver
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..catalog.library import Library
    from ..commandline import Invocation
    from ..model.recipe import Recipe
    from ..render.difference import RecipeDifference
    from ..settings import Settings

_FILES = (".yaml", ".yml")  # JSON may be an index of several


class Side(Record):
    """One of the two: a directory's recipes, or one file's."""

    library: Library
    paths: Mapping[str, str]  # of the recipes, by id
    recipe: Recipe | None = None  # a file's
    shown: str  # what it is called


def run(invocation: Invocation, settings: Settings) -> int:
    """Print what changes from the first to the second."""
    from ..render.difference import difference_record, difference_text

    if len(invocation.more) < 1:
        raise UsageError(
            "two things to compare are needed", hint="vllm-launch recipes diff A B [MODEL…]"
        )
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    old, new = (_side(text, shelf) for text in (invocation.argument or "", invocation.more[0]))
    pairs = list(_pairs(old, new, invocation.more[1:]))
    found = list(_compared(old, new, pairs, settings))
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("diff", difference_record(old.shown, new.shown, found, len(pairs))))
    else:
        answer(difference_text(old.shown, new.shown, found, len(pairs)))
    return CheckFailed.exit_status if found and settings["exit_code"] else 0


def _side(text: str, shelf: Shelf) -> Side:
    """What a text names. Raises UsageError where that is nothing, RecipeError for a bad file."""
    if text.endswith(_FILES) and os.path.isfile(text):
        library = shelf.lender(text)
        recipe = library.read_recipe(text)
        return Side(library=library, paths={recipe.id: text}, recipe=recipe, shown=text)
    library = _library(text)
    if not library.own:
        library = library.with_overlays((os.path.join(library.directory, "overlays"),))
    paths = {each: library.path_of(each) or "" for each in library.recipe_ids()}
    revision = library.revision()
    return Side(library=library, paths=paths, shown=f"{text} ({revision})" if revision else text)


def _library(text: str) -> Library:
    if text == "bundled":
        return bundled()
    if "://" in text or os.path.exists(text):
        return foreign(text)
    library = kept(text)
    if library is None:
        raise UsageError(
            f"{text!r} is neither a directory, a recipe file nor a synced source",
            hint="name a path, NAME or NAME@REVISION of 'recipes sources', or bundled",
        )
    return library


def _pairs(old: Side, new: Side, asked: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The recipes to compare, by their ids on both sides: all, or those asked for, or a file's."""
    if old.recipe is not None and new.recipe is not None:
        yield old.recipe.id, new.recipe.id
        return
    ids = sorted({**old.paths, **new.paths}, key=str.lower)
    if asked:
        ids = list(dict.fromkeys(_known(each, ids) for each in asked))
    elif old.recipe is not None or new.recipe is not None:
        ids = [(old.recipe or new.recipe).id]  # type: ignore[union-attr]
    yield from ((each, each) for each in ids)


def _known(asked: str, ids: Sequence[str]) -> str:
    by_lower = {each.lower(): each for each in ids}
    if asked.lower() not in by_lower:
        raise UsageError(
            f"neither side has a recipe {asked!r}",
            hint=did_you_mean(asked, ids) or "see vllm-launch recipes list",
        )
    return by_lower[asked.lower()]


def _compared(
    old: Side, new: Side, pairs: Sequence[tuple[str, str]], settings: Settings
) -> Iterator[RecipeDifference]:
    """What differs of each recipe; nothing of those that do not."""
    from ..render.difference import RecipeDifference

    targets = [_targets(side, settings) for side in (old, new)]
    if not any(targets):
        raise UsageError(
            f"unknown hardware {settings['hardware']!r}",
            hint=f"known: {', '.join(new.library.taxonomy.hardware_profiles)}",
        )
    same_words = _words(old.library) == _words(new.library)
    for before, after in pairs:
        if before not in old.paths or after not in new.paths:
            status = "added" if before not in old.paths else "removed"
            yield RecipeDifference(id=after, status=status)
            continue
        if same_words and _bytes(old, before) == _bytes(new, after):
            continue
        try:
            one, other = _read(old, before), _read(new, after)
        except LaunchError as error:
            yield from _unreadable(old, new, before, after, error)
            continue
        was = outcomes(one, old.library.kv_stores(), targets[0])
        now = outcomes(other, new.library.kv_stores(), targets[1])
        found = changes(was, now)
        if found:
            yield RecipeDifference(
                id=after, status="changed", changes=tuple(found), among=frozenset((*was, *now))
            )


def _read(side: Side, recipe_id: str) -> Resolver:
    library = side.library
    recipe = side.recipe or library.recipe(recipe_id)
    return Resolver(recipe, library)


def _unreadable(
    old: Side, new: Side, before: str, after: str, error: LaunchError
) -> Iterator[RecipeDifference]:
    """A recipe that one side cannot read; of one that neither can, only a remark."""
    from ..render.difference import RecipeDifference

    broken = [not _can_be_read(old, before), not _can_be_read(new, after)]
    remark(f"warning: {error.message}\n")
    if broken == [True, False]:
        yield RecipeDifference(id=after, status="readable")
    elif broken == [False, True]:
        yield RecipeDifference(id=after, status="unreadable")


def _can_be_read(side: Side, recipe_id: str) -> bool:
    try:
        _read(side, recipe_id)
    except LaunchError:
        return False
    return True


def _bytes(side: Side, recipe_id: str) -> list[bytes]:
    """The bytes of a recipe's file, and of each overlay over it."""
    from ..catalog.files import read_bytes

    overlays = side.library.overlays_of(recipe_id) if side.recipe is None else ()
    return [read_bytes(path, path) for path in (side.paths[recipe_id], *overlays)]


def _words(library: Library) -> dict[str, bytes]:
    """The bytes of the words, strategies and stores that recipes are put together with."""
    from ..catalog.files import read_bytes

    lent = _words(library.fallback) if library.fallback is not None else {}
    files = [os.path.join(library.directory, "taxonomy.yaml")]
    files += [*library.files("strategies"), *library.files("kv_store")]
    own = {
        os.path.relpath(path, library.directory): read_bytes(path, path)
        for path in files
        if os.path.isfile(path)
    }
    return {**lent, **own}


def _targets(side: Side, settings: Settings) -> list[Target]:
    """The hardware to plan for, with this side's profiles: what is named, or all there is."""
    named, profiles = settings["hardware"], side.library.taxonomy.hardware_profiles
    if named == "auto" or settings["host_facts"]:
        from ..resolve.on_host import request_for_host
        from .host import find_host

        request = request_for_host(find_host(settings, side.library.taxonomy), Request(), None)
        assert request.profile is not None
        return [Target(name=request.profile.id, profile=request.profile, request=request)]
    return [
        Target(name=name, profile=profile, request=Request(hardware=name))
        for name, profile in profiles.items()
        if named in (None, name)
    ]
