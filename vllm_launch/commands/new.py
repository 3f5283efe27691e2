"""recipes new: a recipe to begin with, from what the model's config says."""

from __future__ import annotations

import os

from ..catalog.kinds import name
from ..catalog.published import is_recipe_id
from ..catalog.reading import Reading
from ..catalog.shelf import Shelf
from ..errors import UnknownRecipe, UsageError
from ..host.checkpoint import find, read
from ..render.new_recipe import new_recipe
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the recipe, or write it."""
    model = invocation.argument or ""
    _require_id(model)
    _tell_of_another(model, settings)
    path = find(model, os.environ)
    checkpoint = read(path) if path is not None else None
    if checkpoint is None:
        remark(
            f"note: no config of {model} is at hand; hf download {model} config.json gets it, "
            "and this fills in what it says\n"
        )
    text = new_recipe(model, checkpoint)
    out = settings["out"]
    if out is None:
        answer(text)
        return 0
    _write(out, text, force=bool(settings["force"]))
    remark(f"wrote {out}; next: vllm-launch recipes lint {out}\n")
    return 0


def _require_id(model: str) -> None:
    """Raise UsageError for what can name no recipe."""
    reading = Reading("", own=False)
    parts = model.split("/")
    for part in parts:
        name(("text", 1, 1, part, ""), "", reading)
    if len(parts) != 2 or not is_recipe_id(model) or reading.problems:
        raise UsageError(f"{model!r} is no model's id", hint="name it as ORG/MODEL")


def _tell_of_another(model: str, settings: Settings) -> None:
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    try:
        found = shelf.find(model)
    except UnknownRecipe:
        return
    remark(
        f"note: {found.library.source} has a recipe for {model}; an overlay changes it "
        "without a copy\n"
    )


def _write(path: str, text: str, *, force: bool) -> None:
    """Write a file whole or not at all. Raises UsageError for one that is there, or cannot be."""
    beside = f"{path}.{os.getpid()}.part"
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(beside, "x", encoding="utf-8") as file:
            file.write(text)
        if force:
            os.replace(beside, path)
        else:
            os.link(beside, path)  # which never takes a file's place
            os.unlink(beside)
    except FileExistsError:
        _discard(beside)
        raise UsageError(f"{path} is there already", hint="--force writes over it") from None
    except OSError as error:
        _discard(beside)
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
