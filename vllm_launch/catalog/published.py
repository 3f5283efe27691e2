"""The published JSON of one recipe, brought into the YAML format's shape."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tree import Node


def as_recipe(root: Node) -> Node:
    """Add ``compatible_strategies``, which the JSON holds as its recommended command's.

    They are the recommended strategy and the keys of its ``alternatives``, without the
    KV stores, which wrap a strategy and are none.
    """
    recommended = _child(root, "recommended_command")
    if recommended is None or _child(root, "compatible_strategies") is not None:
        return root
    names = [
        node
        for node in (_child(recommended, "strategy"), *_keys(_child(recommended, "alternatives")))
        if node is not None and not str(node[3]).startswith("kv_store_")
    ]
    kind, line, column, entries, raw = root
    strategies: Node = ("list", recommended[1], recommended[2], tuple(names), "")
    added = ("compatible_strategies", recommended[1], recommended[2], strategies)
    return (kind, line, column, (*entries, added), raw)


def _child(node: Node, key: str) -> Node | None:
    if node[0] != "map":
        return None
    return next((child for name, _, _, child in node[3] if name == key), None)


def _keys(node: Node | None) -> list[Node]:
    if node is None or node[0] != "map":
        return []
    return [("text", line, column, key, "") for key, line, column, _ in node[3]]
