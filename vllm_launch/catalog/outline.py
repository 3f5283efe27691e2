"""The first pages of a recipe file, read without the rest of it.

Most of a recipe is its guide, its features and its presets. In a block mapping every line that
begins at the margin is a key, unless a quoted text or a bracket is open; so the keys that are
wanted are cut out and read alone. Where that could go wrong (a key that is not plain, missing or
there twice; an anchor; a part that does not read by itself) nothing is answered, and the file is
read whole.
"""

from __future__ import annotations

from .tree import SyntaxFault, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.recipe import Recipe

_MODEL = ("model_id", "parameter_count", "active_parameters", "context_length")
_WANTED: dict[str, Any] = {
    "meta": None,
    "model": dict.fromkeys(_MODEL),
    "variants": {"*": {"model_id": None, "description": None}},
}


def outline(data: bytes) -> Recipe | None:
    """The recipe, with what its first pages say and no more; None where it must be read whole."""
    try:
        text = _cut(decode(data))
    except SyntaxFault:
        return None
    return _read(text) if text is not None else None


def _cut(text: str) -> str | None:
    """The parts of a file that are wanted; None where these are not plain to see."""
    import re

    # Looking for a line's end is several times as fast as looking for its beginning.
    lines = re.split(r"\n(?=[^\s#])", f"\n{text}")[1:]
    parts = [*(f"{part}\n" for part in lines[:-1]), *lines[-1:]]
    keys = [re.match(r"([a-z_]+):\s", part) for part in parts]
    names = [key[1] for key in keys if key is not None]
    if len(names) < len(parts) or any(names.count(name) != 1 for name in _WANTED):
        return None
    cut = "".join(part for name, part in zip(names, parts, strict=True) if name in _WANTED)
    # An alias means the nearest anchor before it, which may be one that was cut away.
    return None if "&" in cut and re.search(r"[\s\[{,]&[\w-]", cut) else cut


def _read(text: str) -> Recipe | None:
    from .format import RECIPE
    from .reading import Reading
    from .yamltext import parse

    faults: list[SyntaxFault] = []
    try:
        root = parse(text.encode(), faults, _WANTED)
    except SyntaxFault:
        return None
    reading = Reading("", own=False)
    recipe: Recipe = RECIPE(root, "", reading)
    if faults or any(not problem.warning for problem in reading.problems):
        return None
    return recipe
