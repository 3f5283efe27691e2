"""What a shell offers after the tab key."""

from __future__ import annotations

from .catalog.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping, Sequence

    from .model.recipe import Recipe

_BREAKS = (":", "=")


def candidates(
    subject: str, model: str, directories: Sequence[str], sources: Sequence[str]
) -> Iterator[str]:
    """The values that there are, of a model or of all that the recipes directories have.

    Raises LaunchError where these cannot be read.
    """
    if subject == "source":
        from .catalog.sources import synced_names

        yield from synced_names()
        return
    if subject == "server":
        from .running.state import names

        yield from names()
        return
    if subject == "check":
        from .preflight import CHECKS

        yield from ("all", *(check.code for check in CHECKS))
        return
    shelf = Shelf(directories, sources)
    if subject == "recipe":
        yield from (recipe_id for recipe_id, _ in shelf.ids())
    elif subject == "hardware":
        yield from shelf.libraries[0].taxonomy.hardware_profiles
    else:
        found = shelf.find(model)
        if subject == "kv_offload":
            yield from (*found.library.taxonomy.kv_offload, *found.library.kv_stores())
        else:
            yield from _of_recipe(subject, found.recipe)


def _of_recipe(subject: str, recipe: Recipe) -> Iterator[str]:
    if subject == "variant":
        yield from recipe.variants
    elif subject == "strategy":
        yield from recipe.compatible_strategies
    elif subject == "feature":
        for feature in recipe.features.values():
            yield feature.id
            yield from (f"{feature.id}={mode}" for mode in feature.modes)
    elif subject == "preset":
        for preset in recipe.presets.values():
            yield preset.id
            yield from (f"{preset.id}:{point}" for point in preset.points)


def join_words(environ: MutableMapping[str, str]) -> str:
    """Put together what bash cuts apart at ":" and "="; the part that it keeps of the last word.

    bash hands over ``--preset name:po`` as four words, and replaces only what follows the colon.
    """
    words = environ.get("COMP_WORDS", "").split("\n")
    current = environ.get("COMP_CWORD", "")
    if not current.isdecimal() or int(current) >= len(words):
        return ""
    whole: list[str] = []
    for before, word in zip(("", *words), words[: int(current) + 1], strict=False):
        if whole and word and (word in _BREAKS or before in _BREAKS):
            whole[-1] += word
        else:
            whole.append(word)
    option, equals, value = whole[-1].partition("=")
    if equals and option.startswith("--"):
        whole[-1:] = [option, value]
    environ["COMP_WORDS"] = "\n".join(whole)
    environ["COMP_CWORD"] = str(len(whole) - 1)
    return whole[-1][: -len(word)] if word not in _BREAKS else whole[-1]
