"""Whether a mended file says what it said, but for the words that were to change."""

from __future__ import annotations

from ..catalog.files import parse
from ..errors import RecipeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..catalog.tree import Node
    from .fault import Edit

    Words = Mapping[tuple[int, int], Sequence[str]]


def says_the_same(before: str, after: str, edits: Sequence[Edit]) -> bool:
    """Whether one text, read with these edits, is the other, read as it is."""
    words = {(edit.line, edit.column): edit.words for edit in edits}
    try:
        old, new = (parse(text.encode(), "", is_json=False)[0] for text in (before, after))
    except RecipeError:
        return False
    return bool(_edited(old, words) == _edited(new, {}))


def _edited(node: Node, words: Words) -> Any:
    """What a tree says, kinds of values told apart, with other words at some places.

    A list that nothing is left of is nothing.
    """
    kind, _, _, value, raw = node
    if kind == "map":
        return [
            (name, _edited(child, words))
            for key, at, start, child in value
            for name in words.get((int(at), start), (key,))
        ]
    if kind == "list":
        return [each for child in value for each in _items(child, words)] or None
    return None if kind == "null" else (kind, value, raw)


def _items(node: Node, words: Words) -> Iterator[Any]:
    """An item of a list, or the texts that take its place."""
    new = words.get((int(node[1]), node[2]))
    if new is None or node[0] in ("map", "list"):
        yield _edited(node, words)
    else:
        yield from (("text", word, "") for word in new)
