"""The published JSON: one recipe, brought into the YAML format's shape, or an index of several."""

from __future__ import annotations

import os

from ..errors import UsageError
from .files import read_tree
from .library import Library, is_plain_name
from .tree import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .tree import Node


class Published(Library):
    """A published JSON file: a recipe, or an index with the recipes' files beside it."""

    def __init__(self, path: str, **settings: Any) -> None:
        """Raises RecipeError for what is no JSON, UsageError for what is neither."""
        super().__init__(path, **settings)
        self._paths = _paths(path)

    def path_of(self, recipe_id: str) -> str | None:
        return self._paths.get(recipe_id)

    def recipe_ids(self) -> Iterator[str]:
        yield from sorted(self._paths)


def _paths(path: str) -> dict[str, str]:
    """The files of the recipes that a published file holds or lists, by their ids."""
    root = read_tree(path, path)
    if root[0] == "map":
        recipe_id = _text(root, "hf_id") or _text(child(root, "model"), "model_id")
        found = {recipe_id: path} if is_recipe_id(recipe_id) else {}
    else:
        folder = os.path.dirname(path)
        found = {each: os.path.join(folder, f"{each}.json") for each in listed_ids(root)}
        found = {each: file for each, file in found.items() if os.path.isfile(file)}
    if not found:
        raise UsageError(
            f"{path} is neither a published recipe nor an index with recipes beside it",
            hint="a recipe has hf_id; an index is a list of hf_id, and has ORG/REPO.json beside it",
        )
    return found


def listed_ids(root: Node) -> list[str]:
    """The recipes that a published index lists, without those that are variants of others."""
    entries = root[3] if root[0] == "list" else ()
    ids = (_text(entry, "hf_id") for entry in entries if child(entry, "derived_from") is None)
    return [each for each in dict.fromkeys(ids) if is_recipe_id(each)]


def is_recipe_id(text: str) -> bool:
    """Whether a text is a recipe's id, "org/repo", and leads to nowhere else."""
    parts = text.split("/")
    return len(parts) == 2 and len(text) <= 200 and all(map(is_plain_name, parts))


def _text(node: Node | None, key: str) -> str:
    found = child(node, key) if node is not None else None
    return found[3] if found is not None and found[0] == "text" else ""


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
