"""The merge order: which layers put arguments and variables forward, later ones winning.

Only layers that hold for every node, feature and preset are here; ``before`` and ``after``
are the two sides of the parallelism flags.
"""

from __future__ import annotations

from ..model.recipe import RoleOverride, StrategyOverride
from ..model.record import Record
from ..model.source import Source
from .hardware import for_generation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model.recipe import HardwareOverride, Recipe, Variant
    from ..model.source import Arguments, Variables
    from ..model.strategy import Strategy, StrategyRole
    from ..model.taxonomy import HardwareProfile

_NOWHERE = Source(layer="")
NO_OVERRIDE = StrategyOverride(where=_NOWHERE)
NO_ROLE_OVERRIDE = RoleOverride(where=_NOWHERE)


class Layers(Record):
    """Arguments and variables on both sides of the parallelism flags."""

    before: Arguments
    after: Arguments
    env_before: Variables
    env_after: Variables


def role_of(strategy: Strategy, role: str | None) -> Strategy | StrategyRole:
    """The strategy's block for a prefill or decode role, or the strategy itself."""
    block = {"prefill": strategy.prefill, "decode": strategy.decode}.get(role or "")
    return block or strategy


def role_override(override: StrategyOverride, role: str | None) -> RoleOverride:
    """The recipe's block for a prefill or decode role."""
    block = {"prefill": override.prefill, "decode": override.decode}.get(role or "")
    return block or NO_ROLE_OVERRIDE


def layers(
    recipe: Recipe,
    variant: Variant,
    strategy: Strategy,
    hardware: HardwareProfile,
    role: str | None,
) -> Layers:
    """All layers of one recipe, variant, strategy, hardware and role ("prefill" or "decode")."""
    override = recipe.strategy_overrides.get(strategy.name, NO_OVERRIDE)
    pool = role_override(override, role)
    base = role_of(strategy, role)
    exact = variant.hardware_overrides.get(hardware.id)
    on_hardware = _hardware_layers(recipe, variant, override, pool.hardware_overrides, hardware)
    return Layers(
        before=(
            *recipe.model.base_args,
            *variant.extra_args,
            *(exact.extra_args if exact else ()),
            *base.vllm_args,
        ),
        after=(
            *(() if role else override.extra_args),
            *(() if role else override.vllm_args),
            *pool.extra_args,
            *pool.vllm_args,
            *(argument for layer in on_hardware for argument in layer.extra_args),
        ),
        env_before=(
            *recipe.model.base_env,
            *variant.extra_env,
            *(exact.extra_env if exact else ()),
            *base.env,
        ),
        env_after=(
            *override.env,
            *pool.env,
            *(() if role else override.extra_env),
            *(variable for layer in on_hardware for variable in layer.extra_env),
        ),
    )


def _hardware_layers(
    recipe: Recipe,
    variant: Variant,
    override: StrategyOverride,
    of_role: Mapping[str, HardwareOverride],
    hardware: HardwareProfile,
) -> tuple[HardwareOverride, ...]:
    """The strategy's entry for the generation replaces the recipe's and the variant's."""
    replacing = for_generation(override.hardware_overrides, hardware)
    of_recipe = for_generation(recipe.hardware_overrides, hardware)
    of_variant = for_generation(variant.hardware_overrides, hardware)
    general = (replacing,) if replacing is not None else (of_recipe, of_variant)
    exact = (override.hardware_overrides.get(hardware.id), of_role.get(hardware.id))
    return tuple(layer for layer in (*general, *exact) if layer is not None)
