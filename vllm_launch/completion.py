"""What a shell offers after the tab key."""

from __future__ import annotations

from .catalog.shelf import Shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from .model.recipe import Recipe


def candidates(
    subject: str, params: Mapping[str, Any], incomplete: str, environ: Mapping[str, str]
) -> list[str]:
    """The values that begin with what was typed; case does not matter.

    ``params`` are the line's other values, of which the model narrows the rest.
    """
    directories = [d for d in environ.get("VLLM_LAUNCH_RECIPES_DIR", "").split(",") if d]
    shelf = Shelf(directories)
    if subject == "recipe":
        names: Iterator[str] = (recipe_id for recipe_id, _ in shelf.ids())
    elif subject == "hardware":
        names = iter(shelf.libraries[0].taxonomy.hardware_profiles)
    else:
        found = shelf.find(str(params.get("argument") or ""))
        names = _of_recipe(subject, found.recipe)
        if subject == "kv_offload":
            names = iter((*found.library.taxonomy.kv_offload, *found.library.kv_stores()))
    typed = incomplete.lower()
    return [name for name in names if name.lower().startswith(typed)]


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
