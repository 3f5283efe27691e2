"""A model that no recipe is of: what its config.json lets plan."""

from __future__ import annotations

import os

from ..catalog.published import is_recipe_id
from ..catalog.shelf import Found, repository_of
from ..errors import UnknownRecipe, UsageError
from ..host.checkpoint import find, read
from ..resolve.unrecorded import draft
from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Shelf


def without_recipe(model: str, shelf: Shelf, error: UnknownRecipe) -> Found:
    """What can be planned without a recipe, told loudly.

    Raises UnknownRecipe, with how to get a config, where there is none; UsageError for one that
    cannot be read.
    """
    path = find(model, os.environ)
    if path is None:
        raise _with_advice(model, error)
    is_local = os.path.isdir(model)
    path = os.path.abspath(path)
    checkpoint = read(path)
    file = os.path.join(path, "config.json")
    if checkpoint is None:
        raise UsageError(f"{error.message}, and {file} cannot be read", hint=error.hint)
    remark(
        f"warning: {error.message}\n"
        f"warning: this is a generic plan, made from {file}; nobody has verified it\n"
    )
    name = repository_of(path) if is_local else model
    return Found(
        recipe=draft(name, checkpoint, shelf.bundled.taxonomy.hardware_profiles),
        library=shelf.bundled,
        path=file,
        model_path=path if is_local else None,
        checkpoint=checkpoint,
    )


def _with_advice(model: str, error: UnknownRecipe) -> UnknownRecipe:
    """The error, with what would let a model be served that no recipe is of."""
    if not is_recipe_id(model):
        return error
    advice = f"to plan without a recipe, by its config: hf download {model} config.json"
    return UnknownRecipe(error.message, hint=f"{error.hint}\n  {advice}")
