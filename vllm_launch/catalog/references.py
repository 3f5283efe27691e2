"""Names in a recipe that must exist: strategies, variants, features, modes, hardware.

They are looked up in the file's tree and not in the record made of it, so that what is
wrong elsewhere in the file neither hides a name nor makes one unknown.
"""

from __future__ import annotations

from .tree import Line, child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any, TypeAlias

    from ..model.taxonomy import Taxonomy
    from .reading import Reading
    from .tree import Node

    # A name's kind, its node, its key path, and the key of the last mapping gone through.
    Name: TypeAlias = tuple[str, Node, str, str]

# The recipe format, as far as names stand in it. A text says what is named there; beside plain
# keys "@" stands for every key, "*" for every value and "[]" for every item.
_BY_HARDWARE = {"@": "hardware"}
_HARDWARES = {"[]": "hardware"}
_STRATEGIES = {"[]": "strategy"}
_VARIANTS = {"[]": "variant"}
_FEATURES = {"[]": "feature"}
_MODES = {"@": "feature", "*": "mode"}
_TUNING = {
    "tp": _BY_HARDWARE,
    "select": {"features": _MODES, "kv_offload": "KV offload option"},
}
_POOL = {
    "parallelism": _BY_HARDWARE,
    "tp": _BY_HARDWARE,
    "nodes": _BY_HARDWARE,
    "gpus": _BY_HARDWARE,
    "hardware_overrides": _BY_HARDWARE,
}
_FEATURE = {
    "default_mode": "mode",
    "modes": {
        "*": {
            "variants": _VARIANTS,
            "hardware": _BY_HARDWARE,
            "hardware_overrides": _BY_HARDWARE,
        }
    },
    "hardware": _BY_HARDWARE,
    "hardware_overrides": _BY_HARDWARE,
    "strategies": _STRATEGIES,
    "excludes": _FEATURES,
}
_VARIANT = {
    "precision_hardware": {"brand": "brand", "generation": "generation"},
    "supported_hardware": _HARDWARES,
    "tp": _BY_HARDWARE,
    "default_modes": _MODES,
    "hardware_overrides": _BY_HARDWARE,
}
_STRATEGY_OVERRIDE = {
    "tp": _BY_HARDWARE,
    "hardware_overrides": _BY_HARDWARE,
    "prefill": _POOL,
    "decode": _POOL,
}
_PRESET = {
    "hardware": "hardware profile",
    "strategy": "strategy",
    "variants": _VARIANTS,
    "points": {"*": _TUNING},
    **_TUNING,
}
_WHEN = {
    "hardware": _HARDWARES,
    "strategy": _STRATEGIES,
    "variant": _VARIANTS,
    "role": {"[]": "role"},
    "preset": {"[]": "preset"},
    "feature": _FEATURES,
}
_RECIPE = {
    "meta": {"hardware": {"@": "listed"}, "default_hardware": "hardware profile"},
    "features": {"*": _FEATURE},
    "opt_in_features": _FEATURES,
    "hardware_opt_in_features": {"@": "hardware", "*": _FEATURES},
    "variants": {"*": _VARIANT},
    "compatible_strategies": _STRATEGIES,
    "default_strategy": "strategy",
    "strategy_hardware": {"@": "strategy", "*": _BY_HARDWARE},
    "strategy_min_gpus": {"@": "hardware or strategy", "*": {"@": "strategy"}},
    "hardware_overrides": _BY_HARDWARE,
    "strategy_overrides": {"@": "strategy", "*": _STRATEGY_OVERRIDE},
    "kv_offload_support": {"@": "KV offload option"},
    "presets": {"*": _PRESET},
    "notes": {"[]": {"when": _WHEN}},
    "dependencies": {"[]": {"brand": "brand"}},
}
_ROLES = ("server", "head", "worker", "prefill", "decode", "instance")


def check(root: Node, taxonomy: Taxonomy, stores: Collection[str], reading: Reading) -> None:
    """Note every reference to something that neither the recipe nor its taxonomy has."""
    known = _known(root, taxonomy, stores)
    modes = _modes(root)
    for kind, node, path, key in _names(root, _RECIPE, "", ""):
        words = modes.get(key) if kind == "mode" else known[kind]
        if words is not None and node[3] not in words:
            # A foreign recipe may list hardware that its taxonomy has no profile of.
            listed = kind == "listed"
            message = f"unknown {'hardware profile' if listed else kind} {node[3][:80]!r}"
            hint = reading.closest(node[3], words) or reading.known(words)
            reading.problem(node, path, message, hint, warning=listed and not reading.own)


def _known(
    root: Node, taxonomy: Taxonomy, stores: Collection[str]
) -> dict[str, Collection[str] | None]:
    """The words there are of each kind; None where that cannot be told."""
    profiles = taxonomy.hardware_profiles
    brands = dict.fromkeys(profile.brand for profile in profiles.values())
    generations = dict.fromkeys(profile.generation for profile in profiles.values())
    hardware = dict.fromkeys((*profiles, *generations, *map(str.lower, brands), "default"))
    return {
        "listed": profiles,
        "hardware profile": profiles,
        "hardware": hardware,
        "hardware or strategy": dict.fromkeys((*hardware, *taxonomy.strategies)),
        "brand": brands,
        "generation": generations,
        "strategy": dict.fromkeys(taxonomy.strategies),
        "KV offload option": dict.fromkeys((*taxonomy.kv_offload, *stores, "off")),
        "role": _ROLES,
        "variant": _keys(root, "variants"),
        "feature": _keys(root, "features"),
        "preset": _keys(root, "presets"),
    }


def _keys(node: Node, block: str) -> Collection[str] | None:
    """The keys of a block: none where it is left out; None where it is no mapping."""
    found = child(node, block)
    if found is None:
        return () if node[0] == "map" else None
    if found[0] != "map":
        return None
    return dict.fromkeys(key for key, _, _, value in found[3] if value[0] != "null")


def _modes(root: Node) -> dict[str, Collection[str] | None]:
    """The modes of each feature; None where that cannot be told."""
    features = child(root, "features")
    if features is None or features[0] != "map":
        return {}
    return {name: _keys(feature, "modes") for name, _, _, feature in features[3]}


def _names(node: Node, places: Any, path: str, last: str) -> Iterator[Name]:
    """The names in a node, ``places`` telling where some stand."""
    kind = node[0]
    if isinstance(places, str):
        if kind == "text":
            yield places, node, path, last
        for i, item in enumerate(node[3] if kind == "list" else ()):
            yield from _names(item, places, f"{path}[{i}]", last)
    elif kind == "list" and "[]" in places:
        for i, item in enumerate(node[3]):
            yield from _names(item, places["[]"], f"{path}[{i}]", last)
    elif kind == "map":
        of_keys, of_values = places.get("@"), places.get("*")
        for key, line, column, value in node[3]:
            if value[0] == "null":
                continue
            below = f"{path}.{key}" if path else key
            if of_keys is not None:
                yield of_keys, ("text", line, column, key, ""), below, last
            if of_values is not None:
                yield from _names(value, of_values, below, key)
            elif of_keys is None and key in places:
                yield from _names(value, places[key], below, last)


# What stands for one of these alone goes with the last of them: a note, a preset, a mode.
_BLOCKS = (("variant", "variants"), ("feature", "features"), ("preset", "presets"))
_FOR = ("variants", "variant", "feature", "preset", "when")


def unlinked(root: Node, before: Node) -> Node:
    """A recipe's tree without the references to what overlays took away.

    What an overlay itself refers to stays, and is a fault where it is not there.
    """
    gone = _gone(root, before)
    while gone:  # a mode that goes with its variant is referred to as well
        root = _kept(root, _RECIPE, "", gone) or root
        gone, seen = _gone(root, before), gone
        if gone == seen:
            break
    return root


def _gone(root: Node, before: Node) -> dict[str, Any]:
    """The names of each kind that a tree had before, the modes by their features."""
    gone: dict[str, Any] = {}
    for kind, block in _BLOCKS:
        gone[kind] = _fewer(_keys(before, block), _keys(root, block))
    modes = _modes(root)
    gone["mode"] = {
        feature: names
        for feature, there in _modes(before).items()
        if feature in modes and (names := _fewer(there, modes[feature]))
    }
    return gone if any(gone.values()) else {}


def _fewer(before: Collection[str] | None, now: Collection[str] | None) -> list[str]:
    return [] if now is None else [name for name in before or () if name not in now]


def _kept(node: Node, places: Any, last: str, gone: dict[str, Any]) -> Node | None:
    """A node without what is gone; None where nothing of it is left to stand for."""
    kind, line, column, value, raw = node
    if isinstance(places, str):
        return None if _is_gone(places, node, last, gone) else node
    if kind == "list" and "[]" in places:
        items = [_kept(item, places["[]"], last, gone) for item in value]
        left = tuple(item for item in items if item is not None)
        return (kind, line, column, left, raw) if left or not items else None
    if kind != "map":
        return node
    entries = []
    of_keys, of_values = places.get("@"), places.get("*")
    for key, at, start, below in value:
        if of_keys is not None and _is_gone(of_keys, ("text", at, start, key, ""), last, gone):
            continue
        place = of_values if of_values is not None else places.get(key)
        left_of = below if place is None else _kept(below, place, key if of_values else last, gone)
        if left_of is not None:
            entries.append((key, at, start, left_of))
        elif key in _FOR and of_values is None:
            return None
    return (kind, line, column, tuple(entries), raw)


def _is_gone(kind: str, node: Node, last: str, gone: dict[str, Any]) -> bool:
    names = gone.get(kind, {})
    if kind == "mode":
        names = names.get(last, {})
    return node[0] == "text" and not isinstance(node[1], Line) and node[3] in names
