"""The published JSON of one recipe, brought into the YAML format's shape."""

from __future__ import annotations

from .tree import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tree import Node


def as_recipe(root: Node) -> Node:
    """Add ``compatible_strategies``, which the JSON holds as its recommended command's.

    They are the recommended strategy and the keys of its ``alternatives``, without the
    KV stores, which wrap a strategy and are none.
    """
    recommended = child(root, "recommended_command")
    if recommended is None or child(root, "compatible_strategies") is not None:
        return root
    strategy, alternatives = (child(recommended, key) for key in ("strategy", "alternatives"))
    names = [
        node
        for node in (*([strategy] if strategy else ()), *_keys(alternatives))
        if not str(node[3]).startswith("kv_store_")
    ]
    kind, line, column, entries, raw = root
    strategies: Node = ("list", recommended[1], recommended[2], tuple(names), "")
    added = ("compatible_strategies", recommended[1], recommended[2], strategies)
    return (kind, line, column, (*entries, added), raw)


def _keys(node: Node | None) -> list[Node]:
    """The keys of a mapping; anything else stands for itself, and is no strategy."""
    if node is None or node[0] != "map":
        return [node] if node else []
    return [("text", line, column, key, "") for key, line, column, _ in node[3]]
