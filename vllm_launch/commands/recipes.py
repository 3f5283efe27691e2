"""recipes list and recipes show."""

from __future__ import annotations

from ..catalog.shelf import Shelf
from ..errors import LaunchError
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """List the recipes, or show one."""
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    as_json = settings["output"] == "json"
    if invocation.command.name == "recipes show":
        _show(shelf.find(invocation.argument or ""), as_json)
    else:
        _list(shelf, as_json)
    return 0


def _list(shelf: Shelf, as_json: bool) -> None:
    """Every recipe that can be read; one that cannot is told about and passed over."""
    recipes = []
    for recipe_id, library in shelf.ids():
        try:
            recipes.append(library.recipe(recipe_id))
        except LaunchError as error:
            remark(f"warning: {error.message}\n")
    from ..render.recipes import list_record, list_text

    if as_json:
        from ..render.envelope import envelope

        answer(envelope("recipes", list_record(recipes)))
    else:
        answer(list_text(recipes))


def _show(found: Found, as_json: bool) -> None:
    from ..render.recipes import show_record, show_text

    recipe, offload = found.recipe, _offload(found)
    if as_json:
        from ..render.envelope import envelope

        answer(envelope("recipe", show_record(recipe, offload, found.origin)))
    else:
        answer(show_text(recipe, offload, found.origin))


def _offload(found: Found) -> dict[str, str]:
    """The KV offload options that the recipe may use, and the KV stores, with what they are."""
    support = found.recipe.kv_offload_support
    options = {
        option.id: option.description
        for option in found.library.taxonomy.kv_offload.values()
        if support.get(option.id) == "verified"
        or (not option.requires_opt_in and support.get(option.id) != "unsupported")
    }
    stores = map(found.library.kv_store, found.library.kv_stores())
    return {**options, **{store.name: store.description.strip() for store in stores}}
