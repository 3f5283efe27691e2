"""Names in a recipe that must exist: strategies, variants, features, modes, hardware."""

from __future__ import annotations

from .kinds import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from ..model.recipe import Feature, Preset, Recipe
    from ..model.taxonomy import Taxonomy
    from .kinds import Reading
    from .tree import Node


class _Names:
    """The names that a recipe may use, and where its own stand."""

    def __init__(
        self,
        recipe: Recipe,
        root: Node,
        taxonomy: Taxonomy,
        stores: Collection[str],
        reading: Reading,
    ) -> None:
        profiles = taxonomy.hardware_profiles
        self.root = root
        self.reading = reading
        self.hardware = profiles.keys()
        self.layers = {
            *profiles,
            *(profile.generation for profile in profiles.values()),
            *(profile.brand.lower() for profile in profiles.values()),
            "default",
        }
        self.strategies = taxonomy.strategies
        self.variants = recipe.variants.keys()
        self.features = recipe.features
        self.offload = {*taxonomy.kv_offload, *stores, "off"}

    def check(
        self,
        kind: str,
        names: Iterable[str],
        known: Collection[str],
        path: tuple[str, ...],
        *,
        warning: bool = False,
    ) -> None:
        for name in names:
            if name not in known:
                node, shown = _locate(self.root, path, name)
                hint = closest(name, known) or f"known: {', '.join(known)}"
                message = f"unknown {kind} {name!r}"
                self.reading.problem(node, shown, message, hint, warning)


def check(
    recipe: Recipe, root: Node, taxonomy: Taxonomy, stores: Collection[str], reading: Reading
) -> None:
    """Note every reference to something that neither the recipe nor its taxonomy has."""
    names = _Names(recipe, root, taxonomy, stores, reading)
    _check_hardware(recipe, names)
    _check_strategies(recipe, names)
    _check_variants(recipe, names)
    names.check("feature", recipe.opt_in_features, recipe.features, ("opt_in_features",))
    for hardware, features in recipe.hardware_opt_in_features.items():
        path = ("hardware_opt_in_features", hardware)
        names.check("feature", features, recipe.features, path)
    names.check(
        "KV offload option", recipe.kv_offload_support, names.offload, ("kv_offload_support",)
    )
    for feature in recipe.features.values():
        _check_feature(feature, names)
    for preset in recipe.presets.values():
        _check_preset(preset, names)


def _check_hardware(recipe: Recipe, names: _Names) -> None:
    """A foreign recipe may list hardware that its taxonomy has no profile of: a warning."""
    path = ("meta", "hardware")
    foreign = not names.reading.own
    names.check("hardware", recipe.meta.hardware, names.hardware, path, warning=foreign)
    default = recipe.meta.default_hardware
    names.check(
        "hardware", [default] if default else [], names.hardware, ("meta", "default_hardware")
    )
    names.check("hardware", recipe.hardware_overrides, names.layers, ("hardware_overrides",))
    names.check("hardware", recipe.strategy_min_gpus, names.layers, ("strategy_min_gpus",))
    names.check(
        "hardware", recipe.hardware_opt_in_features, names.layers, ("hardware_opt_in_features",)
    )


def _check_strategies(recipe: Recipe, names: _Names) -> None:
    known = names.strategies
    names.check("strategy", recipe.compatible_strategies, known, ("compatible_strategies",))
    if recipe.default_strategy:
        names.check("strategy", [recipe.default_strategy], known, ("default_strategy",))
    names.check("strategy", recipe.strategy_hardware, known, ("strategy_hardware",))
    for strategy, support in recipe.strategy_hardware.items():
        names.check("hardware", support, names.layers, ("strategy_hardware", strategy))
    names.check("strategy", recipe.strategy_overrides, known, ("strategy_overrides",))
    for strategy, override in recipe.strategy_overrides.items():
        path = ("strategy_overrides", strategy, "hardware_overrides")
        names.check("hardware", override.hardware_overrides, names.layers, path)


def _check_variants(recipe: Recipe, names: _Names) -> None:
    for variant in recipe.variants.values():
        path = ("variants", variant.id)
        names.check(
            "hardware",
            variant.supported_hardware or (),
            names.layers,
            (*path, "supported_hardware"),
        )
        names.check(
            "hardware", variant.hardware_overrides, names.layers, (*path, "hardware_overrides")
        )
        if variant.tp is not None:
            names.check("hardware", variant.tp.by_key, names.layers, (*path, "tp"))
        names.check("feature", variant.default_modes, recipe.features, (*path, "default_modes"))
        for feature, mode in variant.default_modes.items():
            if feature in recipe.features:
                modes = recipe.features[feature].modes
                names.check("mode", [mode], modes, (*path, "default_modes", feature))


def _check_feature(feature: Feature, names: _Names) -> None:
    path = ("features", feature.id)
    names.check("feature", feature.excludes, names.features, (*path, "excludes"))
    names.check("strategy", feature.strategies or (), names.strategies, (*path, "strategies"))
    names.check("hardware", feature.hardware, names.layers, (*path, "hardware"))
    names.check("hardware", feature.hardware_overrides, names.layers, (*path, "hardware_overrides"))
    if feature.default_mode:
        names.check("mode", [feature.default_mode], feature.modes, (*path, "default_mode"))
    for mode in feature.modes.values():
        below = (*path, "modes", mode.id)
        names.check("variant", mode.variants or (), names.variants, (*below, "variants"))
        names.check("hardware", mode.hardware, names.layers, (*below, "hardware"))
        names.check(
            "hardware", mode.hardware_overrides, names.layers, (*below, "hardware_overrides")
        )


def _check_preset(preset: Preset, names: _Names) -> None:
    path = ("presets", preset.id)
    names.check("hardware", [preset.hardware], names.hardware, (*path, "hardware"))
    names.check("strategy", [preset.strategy], names.strategies, (*path, "strategy"))
    names.check("variant", preset.variants, names.variants, (*path, "variants"))
    _check_selection(preset.select.features, preset.select.kv_offload, (*path, "select"), names)
    for point in preset.points.values():
        below = (*path, "points", point.id, "select")
        _check_selection(point.select.features, point.select.kv_offload, below, names)


def _check_selection(
    features: Mapping[str, bool | str], kv_offload: str | None, path: tuple[str, ...], names: _Names
) -> None:
    names.check("feature", features, names.features, (*path, "features"))
    for feature, mode in features.items():
        if isinstance(mode, str) and feature in names.features:
            modes = names.features[feature].modes
            names.check("mode", [mode], modes, (*path, "features", feature))
    if kv_offload:
        names.check("KV offload option", [kv_offload], names.offload, (*path, "kv_offload"))


def _locate(root: Node, path: tuple[str, ...], name: str) -> tuple[Node, str]:
    """The node at a key path, or the key or list item in it that is ``name``."""
    node = root
    for part in path:
        node = next((child for key, _, _, child in node[3] if key == part), node)
    shown = ".".join(path)
    if node[0] == "map":
        for key, line, column, _ in node[3]:
            if key == name:
                return ("text", line, column, key, ""), f"{shown}.{name}"
    if node[0] == "list":
        for i, child in enumerate(node[3]):
            if child[3] == name:
                return child, f"{shown}[{i}]"
    return node, shown
