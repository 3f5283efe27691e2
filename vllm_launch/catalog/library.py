"""A recipes directory: what is in it, read only when it is asked for."""

from __future__ import annotations

import os

from .. import __version__
from ..errors import RecipeError, UsageError, instead
from .files import broken, config_directory, read_past
from .reading import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..model.problem import Problem
    from ..model.recipe import Recipe
    from ..model.strategy import KvStore, Strategy
    from ..model.taxonomy import Taxonomy
    from .reading import Reader
    from .tree import Node

_SUFFIXES = (".yaml", ".yml", ".json")

_OBEYED = frozenset("\\\"'`$&|;<>(){}[]*?!~# ")


class Library:
    """One recipes directory. ``own`` is this project's: its files must have no unknown keys."""

    def __init__(
        self, directory: str, *, own: bool, fallback: Library | None = None, source: str = ""
    ) -> None:
        self.directory = directory
        self.own = own
        self.source = source or ("bundled" if own else directory)  # how it is called
        self.synced = ""  # the revision, where it was synced
        self.overlays: tuple[str, ...] = ()  # directories of overlays, the nearest last
        self.fallback = fallback  # lends the taxonomy and strategies that this one lacks
        self.warnings: list[Problem] = []
        self._taxonomy: Taxonomy | None = None
        self._strategies: dict[str, Strategy] = {}
        self._stores: dict[str, KvStore] = {}
        self._recipes: dict[str, Recipe] = {}
        self._files: dict[str, str] = {}  # of the recipes that were read
        self._overlays_of: dict[str, tuple[str, ...]] = {}
        self._bytes: dict[str, bytes] = {}  # of the recipes and overlays that were read

    @property
    def taxonomy(self) -> Taxonomy:
        """The controlled words. Raises RecipeError."""
        if self._taxonomy is None:
            path = os.path.join(self.directory, "taxonomy.yaml")
            if self.fallback is not None and not os.path.exists(path):
                self._taxonomy = self.fallback.taxonomy
            else:
                from .format import TAXONOMY

                self._taxonomy = self._with_own_profiles(self._read(path, "taxonomy", TAXONOMY))
        return self._taxonomy

    def _with_own_profiles(self, taxonomy: Taxonomy) -> Taxonomy:
        """The taxonomy with the user's own hardware profiles, which come first."""
        path = os.path.join(config_directory(), "hardware.yaml")
        if not os.path.isfile(path):
            return taxonomy
        from .format import TAXONOMY

        own = self._read(path, "hardware", TAXONOMY).hardware_profiles
        return taxonomy.replace(hardware_profiles={**own, **taxonomy.hardware_profiles, **own})

    def strategy(self, name: str) -> Strategy:
        """One strategy. Raises RecipeError where its file is missing or broken."""
        found = self._strategies.get(name)
        if found is None:
            from .format import STRATEGY

            found = self._strategies[name] = self._named("strategies", name, STRATEGY)
        return found

    def kv_store(self, name: str) -> KvStore:
        """One KV store. Raises RecipeError where its file is missing or broken."""
        found = self._stores.get(name)
        if found is None:
            from .format import KV_STORE

            found = self._stores[name] = self._named("kv_store", name, KV_STORE)
        return found

    def kv_stores(self) -> tuple[str, ...]:
        """The names of the KV stores there are, as ``kv_store`` finds them: its own come first."""
        names = _stems(os.path.join(self.directory, "kv_store"), (".yaml",))
        lent = self.fallback.kv_stores() if self.fallback is not None else ()
        return tuple(dict.fromkeys((*names, *lent)))

    def recipe(self, recipe_id: str) -> Recipe:
        """The recipe ``org/repo``, spelt as its file is.

        Raises UsageError where there is none, RecipeError where it is broken.
        """
        found = self._recipes.get(recipe_id)
        if found is None:
            path = self.path_of(recipe_id)
            if path is None:
                raise UsageError(f"no recipe {recipe_id!r} in {self.directory}")
            found = self._recipes[recipe_id] = self.read_recipe(path, recipe_id)
            self._files[recipe_id] = path
        return found

    def file_of(self, recipe_id: str) -> str:
        """The file that a recipe was read from."""
        return self._files[recipe_id]

    def files(self, folder: str) -> list[str]:
        """The YAML files in one of its folders."""
        there = os.path.join(self.directory, folder)
        return [os.path.join(there, name) for name in _names(there) if name.endswith(".yaml")]

    def path_of(self, recipe_id: str) -> str | None:
        """The file of a recipe, or None; an id that leaves the directory has none."""
        parts = recipe_id.split("/")
        if len(parts) != 2 or not all(is_plain_name(part) for part in parts):
            return None
        for suffix in _SUFFIXES:
            path = os.path.join(self.directory, "models", *parts) + suffix
            if os.path.isfile(path):
                return path
        return None

    def recipe_ids(self) -> Iterator[str]:
        """Every recipe's id, in alphabetical order."""
        models = os.path.join(self.directory, "models")
        for org in _names(models):
            for stem in _stems(os.path.join(models, org), _SUFFIXES):
                yield f"{org}/{stem}"

    def read_recipe(self, path: str, recipe_id: str | None = None) -> Recipe:
        """Read a recipe file, checked against this directory's words.

        Raises RecipeError with every fault in it.
        """
        _, recipe, reading = self.examine(path, recipe_id or "")
        self._settle(reading)
        return recipe if recipe_id else recipe.replace(id=recipe.model.model_id)

    def examine(self, path: str, recipe_id: str) -> tuple[Node, Recipe, Reading]:
        """A recipe file's tree, the recipe, and the reading with every fault noted.

        There is no recipe to speak of where one of the faults is an error. Raises RecipeError
        for a file that cannot be read as YAML or JSON at all.
        """
        from .format import RECIPE
        from .references import check, unlinked

        root, reading = self._open(path, recipe_id)
        if path.endswith(".json"):
            from .published import as_recipe

            root = as_recipe(root)
        below = root
        for overlay in self.overlays_of(recipe_id):
            root = self._overlaid(root, overlay, reading)
            reading.overlays.append(overlay)
        if root is not below:
            root = unlinked(root, below)
        recipe: Recipe = RECIPE(root, "", reading)
        check(root, self.taxonomy, self.kv_stores(), reading)
        return root, recipe, reading

    def shown(self, path: str) -> str:
        """How messages name a file: bundled ones from "recipes/" on, others by their path."""
        if self.own and path.startswith(self.directory + os.sep):
            return "recipes/" + os.path.relpath(path, self.directory)
        return path

    def overlays_of(self, recipe_id: str) -> tuple[str, ...]:
        """The overlays of a recipe, the nearest last; a file that goes by no id has none."""
        found = self._overlays_of.get(recipe_id)
        if found is None:
            paths = (os.path.join(each, f"{recipe_id}.yaml") for each in self.overlays)
            there = tuple(path for path in paths if recipe_id and os.path.lexists(path))
            found = self._overlays_of[recipe_id] = there
        return found

    def with_overlays(self, directories: tuple[str, ...]) -> Library:
        """The same recipes, with these overlays over them, the nearest last, and no others."""
        from copy import copy

        library = copy(self)
        library.overlays = directories
        library._recipes, library._files, library._overlays_of = {}, {}, {}
        return library

    def _overlaid(self, root: Node, path: str, reading: Reading) -> Node:
        """A recipe's tree with an overlay laid over it."""
        from .overlays import merge, of_file

        above, problems, self._bytes[path] = read_past(path, path)
        reading.problems += problems
        return merge(root, of_file(above, path), reading) if root[0] == "map" else root

    def revision(self, path: str = "") -> str:
        """The launcher's version, the synced revision or a checkout's commit; "" if not known.

        ``path`` is a file of it, which may be in a checkout where the whole is not.
        """
        if self.own or self.synced:
            return __version__ if self.own else self.synced
        from .checkout import commit_of

        return commit_of(os.path.dirname(path) if path else self.directory)

    def digest(self, path: str) -> str:
        """Of the bytes that a recipe or an overlay was read from: "sha256:…"."""
        from hashlib import sha256

        return f"sha256:{sha256(self._bytes[path]).hexdigest()}"

    def _named(self, folder: str, name: str, reader: Reader) -> Any:
        if not is_plain_name(name):
            raise UsageError(f"{name!r} is no name of a file in {folder}/")
        path = os.path.join(self.directory, folder, f"{name}.yaml")
        if not os.path.exists(path):
            if self.fallback is not None:
                return self.fallback._named(folder, name, reader)
            names = _stems(os.path.join(self.directory, folder), (".yaml",))
            raise UsageError(
                f"there is no {folder}/{name}.yaml in {self.directory}",
                hint=instead(name, "there are", names),
            )
        return self._read(path, name, reader)

    def _read(self, path: str, name: str, reader: Reader) -> Any:
        root, reading = self._open(path, name)
        value = reader(root, "", reading)
        self._settle(reading)
        return value

    def _open(self, path: str, name: str) -> tuple[Node, Reading]:
        """A file's tree, and the reading that goes on with what was found in its text."""
        shown = self.shown(path)
        root, problems, self._bytes[path] = read_past(path, shown)
        reading = Reading(shown, self.own)
        reading.key = name
        reading.problems += problems
        return root, reading

    def _settle(self, reading: Reading) -> None:
        """Raise where a file has errors; keep its warnings."""
        if any(not problem.warning for problem in reading.problems):
            raise broken(reading.file, reading.problems, reading.overlays)
        self.warnings.extend(reading.problems)


def bundled() -> Library:
    """This project's own recipes, from the installed package or the checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for directory in (os.path.join(package, "recipes"), os.path.join(package, "..", "recipes")):
        if os.path.exists(os.path.join(directory, "taxonomy.yaml")):
            return Library(os.path.normpath(directory), own=True)
    raise RecipeError(
        f"the bundled recipes are missing beside {package}", hint="reinstall vllm-launch"
    )


def foreign(place: str) -> Library:
    """A directory, published JSON file or synced address of someone else's.

    Raises UsageError where it is none.
    """
    if "://" in place:
        from .sources import synced

        return synced(place)
    for directory in (place, os.path.join(place, "recipes")):  # that of a checkout of this project
        if os.path.isdir(os.path.join(directory, "models")):
            return Library(directory, own=False, fallback=bundled(), source=place)
    if place.endswith(".json") and os.path.isfile(place):
        from .published import Published

        return Published(place, own=False, fallback=bundled())
    why = "it has no models/ folder" if os.path.isdir(place) else "it is a file"
    raise UsageError(
        f"{place} is no recipes directory: {why if os.path.exists(place) else 'it is not there'}",
        hint="name the folder that holds taxonomy.yaml, strategies/ and models/",
    )


def is_plain_name(name: str) -> bool:
    """Whether a name stays in its directory, can be shown, and cannot be taken for an option.

    What a shell would obey is in no name either: names stand in the commands that are told.
    """
    plain = bool(name) and name[0] not in ".-" and "/" not in name and name.isprintable()
    return plain and _OBEYED.isdisjoint(name)


def _names(directory: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if is_plain_name(name))
    except OSError:
        return []


def _stems(directory: str, suffixes: tuple[str, ...]) -> tuple[str, ...]:
    """The names, each once, of what has one of the suffixes in a directory."""
    names = (os.path.splitext(name) for name in _names(directory))
    return tuple(dict.fromkeys(stem for stem, suffix in names if suffix in suffixes))
