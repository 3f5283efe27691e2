"""Names in a recipe that must exist: strategies, variants, features, modes, hardware.

They are looked up in the file's tree and not in the record made of it, so that what is
wrong elsewhere in the file neither hides a name nor makes one unknown.
"""

from __future__ import annotations

from .tree import child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any, TypeAlias

    from ..model.taxonomy import Taxonomy
    from .kinds import Reading
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
    "strategy_min_gpus": {"@": "hardware or strategy"},
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
