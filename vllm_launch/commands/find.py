"""Find a model's recipe; where there is none, plan by its config."""

from __future__ import annotations

from ..catalog.shelf import Shelf
from ..errors import UnknownRecipe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..settings import Settings


def find_model(model: str, settings: Settings) -> Found:
    """The recipe of a model, or what its config lets plan, which is told loudly.

    Raises UsageError where there is neither, RecipeError for a recipe that is broken.
    """
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    try:
        return shelf.find(model)
    except UnknownRecipe as error:
        from .unrecorded import without_recipe

        return without_recipe(model, shelf, error)
