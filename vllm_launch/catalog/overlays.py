"""Overlays: a file that changes a recipe without copying it.

An overlay has the recipe's own keys. Mappings merge, lists and scalars replace, null takes away,
and a key that ends in "+" appends to the list below it. The merge is of trees, before the recipe
is read, so that what an overlay says is checked like what a recipe says.
"""

from __future__ import annotations

from .tree import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from .reading import Reading
    from .tree import Node

    Entry: TypeAlias = tuple[str, int, int, Node]

_DATA = "json_args"  # where null is a value: it takes a key of a flag's JSON away


def of_file(node: Node, file: str) -> Node:
    """A tree whose every line knows its file."""
    kind, line, column, value, raw = node
    if kind == "map":
        value = tuple(
            (key, Line(at, file), start, of_file(child, file)) for key, at, start, child in value
        )
    elif kind == "list":
        value = tuple(of_file(child, file) for child in value)
    return (kind, Line(line, file), column, value, raw)


def merge(below: Node, above: Node, reading: Reading, path: str = "") -> Node:
    """What an overlay makes of the recipe below it; what cannot be is noted in ``reading``.

    A mapping keeps its place: what is said of it as a whole is said of the recipe.
    """
    if above[0] != "map":
        if not path:
            reading.problem(above, path, "an overlay must be a mapping with a recipe's keys")
            return below
        return above
    if below[0] != "map":
        return ("map", *above[1:3], tuple(_from_nothing(above, reading, path)), "")
    entries: dict[str, Entry] = {entry[0]: entry for entry in below[3]}
    for key, line, column, child in above[3]:
        _apply((key, line, column, child), entries, reading, path)
    return ("map", *below[1:3], tuple(entries.values()), "")


def _from_nothing(above: Node, reading: Reading, path: str) -> list[Entry]:
    """A mapping of an overlay that there is nothing below."""
    entries: dict[str, Entry] = {}
    for entry in above[3]:
        _apply(entry, entries, reading, path)
    return list(entries.values())


def _apply(entry: Entry, entries: dict[str, Entry], reading: Reading, path: str) -> None:
    """Put one key of an overlay in place."""
    key, line, column, child = entry
    target = key.removesuffix("+")
    there = entries.get(target)
    below = f"{path}.{target}" if path else target
    if child[0] == "null" and there is None and _DATA not in path.split("."):
        missing = f"there is no {target!r} here to take away"
        reading.problem(("text", line, column, key, ""), below, missing, warning=True)
    if target != key:
        joined = _appended(there, entry, reading, below)
        if joined is not None:
            entries[target] = joined
    elif child[0] == "null" and there is not None:
        del entries[target]
    elif child[0] == "map":
        base = there[3] if there is not None else ("null", line, column, None, "")
        place = there[1:3] if there is not None and there[3][0] == "map" else (line, column)
        entries[target] = (target, *place, merge(base, child, reading, below))
    else:
        entries[target] = entry


def _appended(there: Entry | None, entry: Entry, reading: Reading, path: str) -> Entry | None:
    """A list with an overlay's items behind its own; None, with a fault, where that cannot be."""
    key, line, column, child = entry
    if child[0] != "list":
        reading.problem(child, path, f"{key!r} appends to a list, and this is none")
        return None
    if there is None or there[3][0] == "null":
        return (key[:-1], line, column, child)
    kind, at, start, items, raw = there[3]
    if kind != "list":
        reading.problem(child, path, f"{key!r} appends to a list, and what stands below is none")
        return None
    return (*there[:3], (kind, at, start, (*items, *child[3]), raw))
