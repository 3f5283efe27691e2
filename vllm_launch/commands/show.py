"""recipes show."""

from __future__ import annotations

from ..catalog.shelf import Shelf
from ..streams import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Show one recipe."""
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    _show(shelf.find(invocation.argument or ""), settings["output"] == "json")
    return 0


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
