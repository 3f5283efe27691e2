"""What enabled features add."""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from .hardware import for_generation, is_unsupported, most_specific

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.recipe import Feature, Mode, Recipe, Variant
    from ..model.source import Arguments, Variables
    from ..model.taxonomy import HardwareProfile


def modes_for(feature: Feature, variant: Variant, hardware: HardwareProfile) -> dict[str, Mode]:
    """The modes that may be used with this variant on this hardware, in the recipe's order."""
    return {
        name: mode
        for name, mode in feature.modes.items()
        if (mode.variants is None or variant.id in mode.variants)
        and not is_unsupported(mode.hardware, hardware)
    }


def pick_mode(
    feature: Feature, asked: str | None, variant: Variant, hardware: HardwareProfile
) -> str | None:
    """The mode that a feature works in: the one asked for, else the first default that may be.

    None where no mode may be used here. Raises UsageError for a mode that does not exist.
    """
    if asked is not None and asked not in feature.modes:
        known = ", ".join(feature.modes) or "it has no modes"
        raise UsageError(f"the feature {feature.id} has no mode {asked!r}", hint=f"modes: {known}")
    allowed = modes_for(feature, variant, hardware)
    for name in (asked, variant.default_modes.get(feature.id), feature.default_mode):
        if name in allowed:
            return name
    return next(iter(allowed), None)


def require_mode(
    feature: Feature, asked: str | None, variant: Variant, hardware: HardwareProfile
) -> str:
    """The mode that an operator named, or the usual one. Raises NothingFits where it cannot be."""
    mode = pick_mode(feature, asked, variant, hardware)
    if mode is None:
        raise NothingFits(
            f"no mode of the feature {feature.id} runs with variant {variant.id} on {hardware.id}",
            hint=f"leave it off: --no-feature {feature.id}",
        )
    if asked not in (None, mode):
        allowed = ", ".join(modes_for(feature, variant, hardware))
        raise NothingFits(
            f"mode {asked} of the feature {feature.id} does not run with variant "
            f"{variant.id} on {hardware.id}",
            hint=f"modes that do: {allowed}",
        )
    return mode


def feature_layer(
    feature: Feature, mode: Mode | None, hardware: HardwareProfile
) -> tuple[Arguments, Variables]:
    """A feature's arguments and variables; the hardware's entry replaces the general ones."""
    if mode is not None:
        override = most_specific(mode.hardware_overrides, hardware)
    else:
        override = for_generation(feature.hardware_overrides, hardware)
    base = mode or feature
    args = override.args if override is not None and override.args is not None else base.args
    env = override.env if override is not None and override.env is not None else base.env
    return args, env


def check_features(
    recipe: Recipe, names: list[str], hardware: HardwareProfile
) -> None:
    """Raise UsageError or NothingFits for features that do not exist, clash, or cannot run."""
    for name in names:
        feature = recipe.features.get(name)
        if feature is None:
            raise UsageError(
                f"{recipe.id} has no feature {name!r}",
                hint=f"features: {', '.join(recipe.features) or 'none'}",
            )
        if is_unsupported(feature.hardware, hardware):
            raise NothingFits(
                f"the feature {name} does not run on {hardware.id}",
                hint=f"leave it off: --no-feature {name}",
            )
        for other in feature.excludes:
            if other in names:
                raise UsageError(
                    f"the features {name} and {other} exclude each other",
                    hint=f"leave one off: --no-feature {name} or --no-feature {other}",
                )
