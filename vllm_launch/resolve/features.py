"""Which features are on, in which mode, and what they add."""

from __future__ import annotations

from ..errors import NothingFits, UsageError, instead
from .hardware import for_generation, is_unsupported, most_specific
from .presets import find, tunings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeAlias

    from ..model.choice import Request
    from ..model.recipe import Feature, Mode, Recipe, Variant
    from ..model.source import Arguments, Variables
    from ..model.taxonomy import HardwareProfile

    Features: TypeAlias = tuple[tuple[str, str | None], ...]  # names with modes


def modes_for(feature: Feature, variant: Variant, hardware: HardwareProfile) -> dict[str, Mode]:
    """The modes that may be used with this variant on this hardware, in the recipe's order."""
    return {
        name: mode
        for name, mode in feature.modes.items()
        if (not mode.variants or variant.id in mode.variants)
        and not is_unsupported(mode.hardware, hardware)
    }


def pick_mode(
    feature: Feature, asked: str | None, variant: Variant, hardware: HardwareProfile
) -> str | None:
    """The mode that a feature works in: the one asked for, else the first default that may be.

    None where no mode may be used here. Raises UsageError for a mode that does not exist.
    """
    if asked is not None and asked not in feature.modes:
        raise _no_such_mode(feature, asked)
    allowed = modes_for(feature, variant, hardware)
    for name in (asked, variant.default_modes.get(feature.id), feature.default_mode):
        if name in allowed:
            return name
    return next(iter(allowed), None)


def _no_such_mode(feature: Feature, asked: str) -> UsageError:
    if not feature.modes:
        return UsageError(
            f"the feature {feature.id} has no modes", hint=f"leave {f'={asked}'!r} out"
        )
    return UsageError(
        f"the feature {feature.id} has no mode {asked!r}",
        hint=instead(asked, "modes", feature.modes),
    )


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


def flags_of(feature: Feature) -> set[str]:
    """Every flag that a feature sets, in whatever mode and on whatever hardware."""
    blocks: list[Feature | Mode] = [feature, *feature.modes.values()]
    lists = [block.args for block in blocks]
    lists += [each.args or () for block in blocks for each in block.hardware_overrides.values()]
    return {flag for args in lists for flag, _, _ in args}


def _require(recipe: Recipe, name: str) -> Feature:
    """A feature by name. Raises UsageError where the recipe has none such."""
    feature = recipe.features.get(name)
    if feature is None:
        raise UsageError(
            f"{recipe.id} has no feature {name!r}",
            hint=instead(name, "features", recipe.features),
        )
    return feature


def check_features(recipe: Recipe, names: list[str], hardware: HardwareProfile) -> None:
    """Raise UsageError or NothingFits for features that do not exist, clash, or cannot run."""
    for name in names:
        feature = _require(recipe, name)
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


def settle_features(
    recipe: Recipe, request: Request, variant: Variant, hardware: HardwareProfile, strategy: str
) -> tuple[Features, tuple[str, ...]]:
    """The features that are on, in the order of being put together, and notes on the others.

    Raises UsageError or NothingFits for what an operator named and cannot have.
    """
    notes: list[str] = []
    picked = _picked(recipe, request, variant, hardware, notes)
    check_features(recipe, [name for name, _ in picked], hardware)
    for name in request.drop_features:
        _require(recipe, name)
    named = {name for name, _ in request.add_features}
    settled: list[tuple[str, str | None]] = []
    for name, asked in picked:
        feature = recipe.features[name]
        if feature.strategies and strategy not in feature.strategies:
            strategies = ", ".join(feature.strategies)
            notes.append(
                f"the feature {name} adds nothing under {strategy}; it is for {strategies}"
            )
        elif not feature.modes and asked is None:
            settled.append((name, None))
        elif name in named:
            settled.append((name, require_mode(feature, asked, variant, hardware)))
        else:
            settled += _with_mode(feature, asked, variant, hardware, notes)
    return tuple(settled), tuple(notes)


def _picked(
    recipe: Recipe,
    request: Request,
    variant: Variant,
    hardware: HardwareProfile,
    notes: list[str],
) -> Features:
    """The features asked for: exactly those given, or a preset's and the default ones."""
    if request.features is not None:
        return request.features
    selected: dict[str, bool | str] = {}
    if request.preset is not None:
        for block in tunings(*find(recipe, request.preset, request.point)):
            selected.update(block.select.features)
    defaults = _defaults(recipe, variant, hardware, notes)
    added = dict(request.add_features)
    on: dict[str, str | None] = {}
    for name in recipe.features:
        pick = selected.get(name, name in defaults)
        if name in added:
            pick = added[name] or True
        elif name in request.drop_features:
            pick = False
        if pick:
            on[name] = pick if isinstance(pick, str) else None
    on.update((name, mode) for name, mode in added.items() if name not in on)
    return tuple(on.items())


def _defaults(
    recipe: Recipe, variant: Variant, hardware: HardwareProfile, notes: list[str]
) -> Collection[str]:
    """All but the opt-in ones and those that cannot run here; the variant's own modes are on."""
    opt_in = {*recipe.opt_in_features, *recipe.hardware_opt_in_features.get(hardware.id, ())}
    names = []
    for name, feature in recipe.features.items():
        if name in opt_in and name not in variant.default_modes:
            continue
        if is_unsupported(feature.hardware, hardware):
            notes.append(f"the feature {name} is off: it does not run on {hardware.id}")
            continue
        names.append(name)
    return names


def _with_mode(
    feature: Feature,
    asked: str | None,
    variant: Variant,
    hardware: HardwareProfile,
    notes: list[str],
) -> Features:
    """A feature with the mode that it works in; off, and said so, where it has none here."""
    mode = pick_mode(feature, asked, variant, hardware)
    on = f"variant {variant.id} on {hardware.id}"
    if mode is None:
        notes.append(f"the feature {feature.id} is off: no mode of it runs with {on}")
        return ()
    if asked not in (None, mode):
        notes.append(
            f"the feature {feature.id} works in mode {mode}: {asked} does not run with {on}"
        )
    return ((feature.id, mode),)
