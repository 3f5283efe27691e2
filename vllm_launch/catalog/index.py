"""The index: what every recipe says of itself, without reading each of them whole.

What is kept goes by the bytes that it was read from, not by a file's name or time: an edit, a
file that is new or gone, and another directory need no rule of their own, and nothing can be out
of date.
"""

from __future__ import annotations

import os
import sys
from _imp import source_hash

from .. import __version__
from ..errors import LaunchError
from ..model.entry import Entry, Served
from .files import cache_directory, keep, load_kept, read_bytes
from .outline import outline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, TypeAlias

    from ..model.recipe import Recipe
    from .library import Library
    from .shelf import Shelf

    Facts: TypeAlias = tuple[Any, ...]  # an entry without id and source, as the cache has it

_FORMAT = f"{__version__} 1"  # the number grows with the form of the facts
_MOST = 4096  # facts that are kept
_KEY_BYTES = 8


def entries(shelf: Shelf) -> Iterator[Entry | LaunchError]:
    """Every recipe in use; for one that cannot be read, why.

    Of a plain recipe file only the first pages are read: what else is wrong with it is for the
    use of it, and for lint, to say.
    """
    index = Index(_path())
    for recipe_id, library in shelf.ids():
        try:
            yield _entry(recipe_id, library.source, index.facts(library, recipe_id))
        except LaunchError as error:
            yield error
    index.save()


class Index:
    """Facts by the hash of the bytes that they were read from.

    The hash is keyed with a number that no recipe's author knows, so that none can be made to
    pass for another.
    """

    def __init__(self, path: str) -> None:
        """Read what was kept in a file; ``path`` "" is of no file."""
        self.path = path
        self.key, self._kept = _load(path)
        self._used: dict[bytes, Facts] = {}
        self._is_new = False

    def facts(self, library: Library, recipe_id: str) -> Facts:
        """What a recipe says. Raises LaunchError for one that cannot be read."""
        path = library.path_of(recipe_id) or ""
        if library.overlays_of(recipe_id) or not path.endswith((".yaml", ".yml")):
            return _facts(library.recipe(recipe_id))
        data = read_bytes(path, library.shown(path))
        key = source_hash(self.key, data)
        found = self._kept.get(key)
        if found is None:
            found = _facts(outline(data) or library.recipe(recipe_id))
            self._is_new = True
        self._used[key] = found
        return found

    def save(self) -> None:
        """Keep what was used now, and of the rest as much as there is room for."""
        if self.path and self._is_new:
            rest = {key: facts for key, facts in self._kept.items() if key not in self._used}
            kept = dict([*rest.items(), *self._used.items()][-_MOST:])
            keep(self.path, (_FORMAT, self.key, kept))


def _load(path: str) -> tuple[int, dict[bytes, Facts]]:
    """The key and the facts that were kept, or a new key."""
    kept = load_kept(path) if path else None
    if isinstance(kept, tuple) and len(kept) == 3 and kept[0] == _FORMAT:
        return kept[1], kept[2]
    return int.from_bytes(os.urandom(_KEY_BYTES), "little", signed=True), {}


def _path() -> str:
    """The index's file; "" without a home."""
    directory = cache_directory()
    if not os.path.isabs(directory):
        return ""
    return os.path.join(directory, f"index-{sys.implementation.cache_tag}")


def _facts(recipe: Recipe) -> Facts:
    meta, model = recipe.meta, recipe.model
    variants = tuple(
        (variant.id, variant.model_id or model.model_id, variant.description)
        for variant in recipe.variants.values()
    )
    return (
        meta.title, meta.provider, meta.description, meta.tasks, model.parameter_count,
        model.active_parameters, model.context_length, tuple(meta.hardware.items()), variants,
    )  # fmt: skip


def _entry(recipe_id: str, source: str, facts: Facts) -> Entry:
    title, provider, description, tasks, count, active, context, hardware, variants = facts
    return Entry(
        id=recipe_id,
        source=source,
        title=title,
        provider=provider,
        description=description,
        tasks=tasks,
        parameter_count=count,
        active_parameters=active,
        context_length=context,
        hardware=hardware,
        variants=tuple(
            Served(id=name, checkpoint=checkpoint, description=about)
            for name, checkpoint, about in variants
        ),
    )
