"""recipes show."""

from __future__ import annotations

from ..catalog.shelf import Shelf
from ..options import SHOWN
from ..render.recipe_page import Asked, Shown, show_text
from ..streams import answer
from .deployment import deployment_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Show one recipe; with options that choose, what they lead to."""
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    found = shelf.find(invocation.argument or "")
    chooses = any(settings[name] for name in SHOWN)
    shown = Shown(
        recipe=found.recipe,
        origin=found.origin,
        offload=_offload(found),
        deployment=deployment_of(found, invocation, settings, anywhere=True)[0]
        if chooses
        else None,
    )
    if settings["output"] == "json":
        from ..render.envelope import envelope
        from ..render.recipe_record import show_record

        answer(envelope("recipe", show_record(shown)))
    else:
        from ..render.paper import paper

        answer(show_text(shown, _asked(settings), paper(bool(settings["no_color"]))))
    return 0


def _asked(settings: Settings) -> Asked:
    return Asked(
        presets=bool(settings["presets"]),
        notes=bool(settings["notes"]),
        guide=bool(settings["guide"]),
        everything=bool(settings["all"]),
    )


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
