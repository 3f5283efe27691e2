"""Where in a file each kind of value stands, by the format."""

from __future__ import annotations

from .kinds import SHAPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from .reading import Reader
    from .tree import Node

    Place: TypeAlias = tuple[Reader, Node, str]  # what reads it, the value, its key path


def places(node: Node, reader: Reader, path: str = "") -> Iterator[Place]:
    """Every value in a tree with what reads it, in the order in which they stand there.

    What is of another kind than the format has there is passed over: reading tells about it.
    """
    form, *parts = SHAPES.get(reader, ("",))
    yield reader, node, path
    if form == "table" and node[0] == "map":
        for key, _, _, child in node[3]:
            if key in parts[0] and child[0] != "null":
                yield from places(child, parts[0][key], f"{path}.{key}" if path else key)
    elif form in ("keyed", "named", "some named") and node[0] == "map":
        for key, _, _, child in node[3]:
            if child[0] != "null":
                yield from places(child, parts[0], f"{path}.{key}")
    elif form == "list" and node[0] == "list":
        for i, child in enumerate(node[3]):
            yield from places(child, parts[0], f"{path}[{i}]")
    elif form == "image or" and node[0] == "map":
        yield from places(node, parts[0], path)
