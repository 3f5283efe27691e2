"""recipes sources: where recipes come from, in order."""

from __future__ import annotations

import os
from functools import partial

from ..catalog.library import bundled, foreign
from ..catalog.shelf import user_overlays
from ..catalog.sources import current_of, masked, parse, synced
from ..errors import LaunchError
from ..model.origin import Listed
from ..streams import answer, without_secrets
from .sync import synced_specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..catalog.library import Library
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """List the sources, the nearest first; one that cannot be used says why."""
    from ..render.sources import listed_record, listed_text

    libraries: list[Library] = []
    listed = list(_in_use(settings, libraries))
    overlays = list(_overlays(libraries))
    used = {each.source for each in listed}
    unused = [_synced(spec.name) for spec in synced_specs() if spec.url not in used]
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("sources", listed_record(listed, unused, overlays)))
    else:
        answer(listed_text(listed, unused, overlays))
    return 0


def _in_use(settings: Settings, libraries: list[Library]) -> Iterator[Listed]:
    """Each source that a run looks through; ``libraries`` collects those that can be read."""
    for place in settings.listed("recipes_dir"):
        yield _opened(place, partial(foreign, place), libraries)
    for text in settings.listed("sources"):
        yield _opened(text, partial(synced, text), libraries)
    yield _opened("bundled", bundled, libraries)


def _opened(place: str, open_it: Callable[[], Library], libraries: list[Library]) -> Listed:
    try:
        library = open_it()
    except LaunchError as error:
        hint = f"; {error.hint}" if error.hint else ""
        problem = without_secrets(f"{error.message}{hint}")
        return Listed(source=masked(place), problem=problem)
    libraries.append(library)
    if library.synced:
        return _synced(parse(place).name, library.source)
    return Listed(
        source=library.source,
        revision=library.revision(),
        recipes=sum(1 for _ in library.recipe_ids()),
    )


def _synced(name: str, url: str = "") -> Listed:
    """A synced source, by its name, or by its address where it has another."""
    current = current_of(name)
    if current is None or (url and current.url != url):
        name, current = next(
            (each.name, current_of(each.name)) for each in synced_specs() if each.url == url
        )
    assert current is not None
    return Listed(
        source=current.url,
        name=name,
        revision=current.revision,
        pin=current.pin,
        synced=current.synced,
        recipes=current.recipes,
        broken=current.broken,
    )


def _overlays(libraries: list[Library]) -> Iterator[tuple[str, bool]]:
    """The overlays that there are, and whether there is a recipe for each."""
    known = {recipe_id for library in libraries for recipe_id in library.recipe_ids()}
    nearer = [os.path.join(each.directory, "overlays") for each in libraries if not each.own]
    for directory in (user_overlays(), *nearer):
        for folder, names, files in os.walk(directory):
            names.sort()
            for file in sorted(files):
                path = os.path.join(folder, file)
                recipe_id = os.path.relpath(path, directory).removesuffix(".yaml")
                yield path, recipe_id in known and file.endswith(".yaml")
