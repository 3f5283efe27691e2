"""Several recipes directories, the nearest first, and how a model's name finds its recipe."""

from __future__ import annotations

import os

from ..errors import LaunchError, UnknownRecipe, UsageError
from ..model.record import Record
from .files import config_directory, read_bytes
from .library import Library, bundled, foreign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..model.checkpoint import Checkpoint
    from ..model.origin import Origin
    from ..model.recipe import Recipe

_RECIPE_FILES = (".yaml", ".yml", ".json")


class Found(Record):
    """A recipe, the directory that it is from, and what its name said beside that."""

    recipe: Recipe
    library: Library
    path: str  # of the recipe's file
    source: str = ""  # where it is not the directory's: the file that was named
    shadowed: tuple[str, ...] = ()  # farther sources that have the recipe too
    overlays: tuple[str, ...] = ()  # the files that were laid over it, the nearest last
    variant: str | None = None  # where the name was that variant's checkpoint
    model_path: str | None = None  # where the name was a local checkpoint
    checkpoint: Checkpoint | None = None  # what a plan is made from that no recipe stands behind

    @property
    def origin(self) -> Origin:
        """Which source, revision and bytes the recipe is from; it takes reading and hashing."""
        from ..model.origin import Origin

        if self.checkpoint is not None:
            from hashlib import sha256

            digest = sha256(read_bytes(self.path, self.path)).hexdigest()
            return Origin(
                source=f"no recipe: {self.path}", digest=f"sha256:{digest}", verified=False
            )
        return Origin(
            source=self.source or self.library.source,
            digest=self.library.digest(self.path),
            revision=self.library.revision(self.path),
            overlays=tuple((path, self.library.digest(path)) for path in self.overlays),
            shadowed=self.shadowed,
        )


class Shelf:
    """The sources of recipes that a run looks in, the nearest first."""

    def __init__(self, directories: Sequence[str] = (), sources: Sequence[str] = ()) -> None:
        """Directories, JSON files and addresses; then sources as the settings have them.

        Raises UsageError for one that is none, or that was not synced.
        """
        self.bundled = bundled()
        libraries = {each.directory: each for each in map(foreign, directories)}
        if sources:
            from .sources import synced

            for text in sources:
                library = synced(text)
                libraries.setdefault(library.directory, library)
        self.libraries = (*libraries.values(), self.bundled)
        _lay_overlays(self.libraries)

    def find(self, model: str) -> Found:
        """The recipe of a model: by id, checkpoint id, recipe file or checkpoint directory.

        Case does not matter. Raises UsageError where there is none, RecipeError where it is
        broken.
        """
        for library in self.libraries:
            if library.path_of(model) is not None:
                return self._found(model, library)
        if model.endswith(_RECIPE_FILES) and os.path.isfile(model):
            return self._from_file(model)
        if os.path.isdir(model):
            return self._from_checkpoint(_absolute(model))
        found = self._by_name(model) or self._by_checkpoint_id(model)
        if found is None and _is_path(model):
            raise _no_recipe_file(model)
        if found is None:
            raise UnknownRecipe(f"there is no recipe for {model!r}", hint=self._suggestion(model))
        return found

    def ids(self) -> Iterator[tuple[str, Library]]:
        """Every recipe id with its directory; a name in several is the nearest one's."""
        seen = set()
        for library in self.libraries:
            for recipe_id in library.recipe_ids():
                if recipe_id not in seen:
                    seen.add(recipe_id)
                    yield recipe_id, library

    def _found(self, recipe_id: str, library: Library) -> Found:
        """A recipe of a directory, with what farther ones have of that name."""
        farther = self.libraries[self.libraries.index(library) + 1 :]
        return Found(
            recipe=library.recipe(recipe_id),
            library=library,
            path=library.file_of(recipe_id),
            shadowed=tuple(each.source for each in farther if each.path_of(recipe_id)),
            overlays=library.overlays_of(recipe_id),
        )

    def _by_name(self, model: str) -> Found | None:
        wanted = model.lower()
        for recipe_id, library in self.ids():
            if recipe_id.lower() == wanted:
                return self._found(recipe_id, library)
        return None

    def _by_checkpoint_id(self, model: str) -> Found | None:
        """The recipe, or the variant of one, that serves this checkpoint."""
        wanted = model.lower()
        return self._serving(wanted, lambda served: served == wanted)

    def _serving(self, text: str, is_it: Callable[[str], bool]) -> Found | None:
        """The first recipe that serves such a checkpoint; broken recipes are passed over."""
        for recipe_id, library in self.ids():
            path = library.path_of(recipe_id)
            if path is None or not _mentions(path, text):
                continue
            try:
                recipe = library.recipe(recipe_id)
            except LaunchError:
                continue
            if is_it(recipe.model.model_id.lower()):
                return self._found(recipe_id, library)
            for variant in recipe.variants.values():
                if variant.model_id is not None and is_it(variant.model_id.lower()):
                    return self._found(recipe_id, library).replace(variant=variant.id)
        return None

    def _from_file(self, path: str) -> Found:
        """A recipe file; it is its own source, whatever lends it words."""
        library = self.lender(path)
        recipe = library.read_recipe(path)
        return Found(recipe=recipe, library=library, path=path, source=path)

    def lender(self, path: str) -> Library:
        """What lends a recipe file its words: the recipes directory that it stands in, if any."""
        models = os.path.dirname(os.path.dirname(_absolute(path)))
        return self._library(os.path.dirname(models))

    def directory(self, path: str) -> Library:
        """A recipes directory by its path. Raises UsageError where it is none."""
        found = self._library(_absolute(path))
        return found if found in self.libraries else foreign(path)

    def _library(self, path: str) -> Library:
        root = os.path.realpath(path)
        return next(
            (each for each in self.libraries if os.path.realpath(each.directory) == root),
            Library(root, own=False, fallback=self.bundled),
        )

    def _from_checkpoint(self, path: str) -> Found:
        """The recipe of a local checkpoint, by the name of its directory."""
        if not os.path.isfile(os.path.join(path, "config.json")):
            raise UsageError(
                f"{path} is no checkpoint: it has no config.json",
                hint="name the directory that holds config.json and the weights",
            )
        wanted = repository_of(path).lower()
        for recipe_id, library in self.ids():
            if wanted in _names(recipe_id.lower()):
                return self._found(recipe_id, library).replace(model_path=path)
        found = self._serving(wanted, lambda served: wanted in _names(served))
        if found is None:
            raise UnknownRecipe(
                f"no recipe is named like the checkpoint {path}",
                hint="name its directory like the repository it is from, as in "
                "…/MiniMaxAI/MiniMax-M3",
            )
        return found.replace(model_path=path)

    def _suggestion(self, model: str) -> str:
        ids = [recipe_id for recipe_id, _ in self.ids()]
        by_lower = {recipe_id.lower(): recipe_id for recipe_id in ids}
        by_lower |= {recipe_id.rpartition("/")[2].lower(): recipe_id for recipe_id in ids}
        from difflib import get_close_matches

        near = get_close_matches(model.lower(), list(by_lower), n=3, cutoff=0.5)
        names = list(dict.fromkeys(by_lower[name] for name in near))
        if names:
            return f"did you mean {' or '.join(names)}?"
        return "see vllm-launch recipes list, or give --recipes-dir"


def _is_path(model: str) -> bool:
    """Whether a name can only be meant as a path."""
    return not model or model.startswith(("/", "./", "../", "~")) or model.endswith(_RECIPE_FILES)


def _no_recipe_file(model: str) -> UsageError:
    """The error for a path that leads to no recipe and to no checkpoint."""
    if not model:
        what = "MODEL is empty"
    elif os.path.exists(model):
        what = f"{model!r} is no recipe file: its name does not end in .yaml or .json"
    else:
        what = f"there is no file or directory {model!r}"
    return UsageError(
        what, hint="name a recipe (see vllm-launch recipes list), its file, or a checkpoint's "
        "directory",
    )  # fmt: skip


def user_overlays() -> str:
    """The directory of the user's own overlays."""
    return os.path.join(config_directory(), "recipes")


def _lay_overlays(libraries: Sequence[Library]) -> None:
    """Tell each source which overlays go over its recipes: its own, nearer ones', the user's."""
    directories: tuple[str, ...] = ()
    if os.path.isabs(config_directory()):
        directories = (user_overlays(),)
    for library in libraries:
        if not library.own:
            directories = (os.path.join(library.directory, "overlays"), *directories)
        library.overlays = directories


def _absolute(path: str) -> str:
    """A path from the root. Raises UsageError where the current directory is gone."""
    try:
        return os.path.abspath(path)
    except OSError as error:
        raise UsageError(
            f"cannot find {path}: {error.strerror}", hint="the current directory may be gone"
        ) from None


def _names(recipe_id: str) -> tuple[str, str]:
    """A repository's name with and without its owner."""
    return recipe_id, recipe_id.rpartition("/")[2]


def _mentions(path: str, wanted: str) -> bool:
    """Whether a file's text has a name in it: cheaper than reading it as a recipe."""
    try:
        return wanted.encode(errors="surrogatepass") in read_bytes(path, path).lower()
    except LaunchError:
        return False


def repository_of(path: str) -> str:
    """The repository that a checkpoint directory is named after; the hub cache's form too."""
    parts = path.split(os.sep)
    for part in reversed(parts):
        if part.startswith("models--"):
            return part.removeprefix("models--").replace("--", "/")
    return parts[-1]
