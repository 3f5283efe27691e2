"""Which files recipes lint looks at, and which lie among them that nothing reads."""

from __future__ import annotations

import os

from ..catalog.shelf import user_overlays
from ..errors import UsageError
from ..lint import Fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..catalog.library import Library
    from ..catalog.shelf import Shelf

    # The directory that lends the words, the file, its kind, and its id where overlays count.
    Job = tuple[Library, str, str, str]

_SUFFIXES = (".yaml", ".yml", ".json")
_OVERLAYS = "overlays"
_PLACES = {
    "models": "models/ORG/REPO.yaml",
    "strategies": "strategies/NAME.yaml",
    "kv_store": "kv_store/NAME.yaml",
    _OVERLAYS: "ORG/REPO.yaml, named as the recipe is, capitals included",
}


def chosen(shelf: Shelf, paths: Sequence[str]) -> tuple[list[Job], list[Fault]]:
    """The files to look at, and a fault for each that nothing reads. Raises UsageError.

    Of a directory these are all in it, of no path those of all sources in use.
    """
    jobs: list[Job] = []
    places: list[tuple[str, str, Library]] = []  # a directory, what is in it, and whose it is
    for path in paths:
        overlays, lenders = _overlays_at(shelf, path)
        if overlays:
            jobs += _overlaid(overlays, lenders, path)
            places += [(overlays, _OVERLAYS, shelf.bundled)] if os.path.isdir(path) else []
        elif os.path.isdir(path):
            library = shelf.directory(path)
            overlays = os.path.join(library.directory, _OVERLAYS)
            library = library.with_overlays(() if library.own else (overlays,))
            farther = [each for each in shelf.libraries if each.directory != library.directory]
            jobs += [*files_of(library), *_overlaid(overlays, farther, besides=library)]
            places += _places_of(library)
        elif os.path.isfile(path) and path.endswith(_SUFFIXES):
            jobs.append((shelf.lender(path), path, "recipe", ""))
        else:
            what = "no recipe file" if os.path.exists(path) else "not there"
            raise UsageError(f"{path} is {what}", hint="name a recipe file, or a recipes directory")
    if not paths:
        jobs += [job for library in shelf.libraries for job in files_of(library)]
        places += [place for library in shelf.libraries for place in _places_of(library)]
        places.append((user_overlays(), _OVERLAYS, shelf.bundled))
    jobs = list(dict.fromkeys(jobs))
    return jobs, list(_ignored(places, jobs))


def files_of(library: Library) -> Iterator[Job]:
    """The files of a recipes directory: words, strategies, stores, recipes."""
    taxonomy = os.path.join(library.directory, "taxonomy.yaml")
    if os.path.isfile(taxonomy):
        yield library, taxonomy, "taxonomy", ""
    for kind, folder in (("strategy", "strategies"), ("kv_store", "kv_store")):
        for path in library.files(folder):
            yield library, path, kind, ""
    for recipe_id in library.recipe_ids():
        recipe = library.path_of(recipe_id)
        if recipe is not None:
            yield library, recipe, "recipe", recipe_id


def _overlays_at(shelf: Shelf, path: str) -> tuple[str, list[Library]]:
    """The directory of overlays that a path is or is in, "" for none, and whose recipes count."""
    for directory in (path, os.path.normpath(os.path.join(path, "..", ".."))):
        root, name = os.path.split(os.path.realpath(directory))
        if os.path.join(root, name) == os.path.realpath(user_overlays()):
            return directory, list(shelf.libraries)
        if name == _OVERLAYS and os.path.isdir(os.path.join(root, "models")):
            return directory, [shelf.directory(root), *shelf.libraries]
    return "", []


def _overlaid(
    overlays: str, lenders: Sequence[Library], path: str = "", besides: Library | None = None
) -> Iterator[Job]:
    """The recipes that overlays go over, with these alone; of one that is named, its recipe."""
    lenders = [each.with_overlays((overlays,)) for each in lenders]
    one = os.path.relpath(path, overlays) if os.path.isfile(path) else ""
    for file in [one] if one else _files_below(overlays):
        recipe_id = file.removesuffix(".yaml") if file.endswith(".yaml") else ""
        if besides is not None and besides.path_of(recipe_id):
            continue
        for library in lenders:
            recipe = library.path_of(recipe_id)
            if recipe is not None:
                yield library, recipe, "recipe", recipe_id
                break
        else:
            if one:
                raise UsageError(
                    f"{path} is an overlay, and no recipe has the id {recipe_id or file!r}",
                    hint="an overlay is named as its recipe is: see vllm-launch recipes list",
                )


def _places_of(library: Library) -> Iterator[tuple[str, str, Library]]:
    for folder in _PLACES:
        if folder != _OVERLAYS or not library.own:
            yield os.path.join(library.directory, folder), folder, library


def _ignored(places: Iterable[tuple[str, str, Library]], jobs: Iterable[Job]) -> Iterator[Fault]:
    """Files that nothing reads, by their place or their name."""
    read: set[str] = set()
    for library, path, _, recipe_id in jobs:
        read.update((path, *library.overlays_of(recipe_id)))
    for directory, folder, library in places:
        for file in _files_below(directory):
            path = os.path.join(directory, file)
            if path not in read:
                yield _nothing_reads(library.shown(path), folder)


def _files_below(directory: str) -> Iterator[str]:
    """The files below a directory that look like recipes, by their paths from there."""
    for at, folders, names in os.walk(directory):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and name[0] != ".":
                yield os.path.relpath(os.path.join(at, name), directory)


def _nothing_reads(file: str, folder: str) -> Fault:
    return Fault(
        code="LINT_IGNORED",
        severity="warning",
        file=file,
        what="no recipe has this id" if folder == _OVERLAYS else "nothing reads this file",
        remedy=f"Its place is {_PLACES[folder]}, in letters that no shell obeys, and each name "
        "once.",
    )
