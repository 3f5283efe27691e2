"""What of a recipe can run on some hardware: variants by precision and memory, strategies."""

from __future__ import annotations

from .hardware import most_specific

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.recipe import Recipe, Variant
    from ..model.taxonomy import HardwareProfile

_TENSOR_SPANS_NODES = ("multi_node_tp", "multi_node_tep")
_EACH_NODE_HOLDS_ALL = ("multi_node_tp_dp",)
# Formats that only Blackwell's tensor cores compute in.
BLACKWELL_ONLY = ("nvfp4", "fp4")


def strategies_anywhere(recipe: Recipe) -> tuple[str, ...]:
    """The strategies that the recipe offers on some hardware: the compatible, then the others."""
    granted = (name for name, on in recipe.strategy_hardware.items() if "supported" in on.values())
    return tuple(dict.fromkeys((*recipe.compatible_strategies, *granted)))


def offered(recipe: Recipe, hardware: HardwareProfile) -> tuple[str, ...]:
    """Compatible strategies, minus the unsupported, plus those that are supported here."""
    return tuple(
        name for name in strategies_anywhere(recipe) if _is_offered(recipe, name, hardware)
    )


def _is_offered(recipe: Recipe, strategy: str, hardware: HardwareProfile) -> bool:
    said = most_specific(recipe.strategy_hardware.get(strategy, {}), hardware)
    return (
        said != "unsupported" if strategy in recipe.compatible_strategies else said == "supported"
    )


def least_gpus(recipe: Recipe, strategy: str, hardware: HardwareProfile) -> int:
    """The GPUs that a strategy needs at least, all nodes together; 0 where the recipe is silent."""
    floors = recipe.strategy_min_gpus.by_key if recipe.strategy_min_gpus is not None else {}
    found = (floors[key] for key in ("default", strategy, hardware.id) if key in floors)
    return max(
        (size.by_key.get(strategy, size.by_key.get("default", 0)) for size in found), default=0
    )


def is_blackwell_only(variant: Variant) -> bool:
    """Whether the precision runs on Blackwell and nowhere else."""
    own = variant.precision_hardware
    if own is not None:
        return own.generation == "blackwell"
    return variant.precision in BLACKWELL_ONLY


def why_not(recipe: Recipe, variant: Variant, hardware: HardwareProfile) -> str | None:
    """Why a variant cannot run on the hardware, or None where it can."""
    listed = recipe.meta.hardware
    if listed.get(hardware.id) == "unsupported":
        return f"{recipe.id} does not run on {hardware.id}"
    if hardware.restricted and hardware.id not in listed:
        return f"{hardware.id} is for recipes that list it, and {recipe.id} does not"
    if variant.supported_hardware:
        keys = {hardware.id, hardware.generation, hardware.brand.lower()}
        if keys.isdisjoint(variant.supported_hardware):
            return f"variant {variant.id} runs on {', '.join(variant.supported_hardware)} only"
        return None
    if not _precision_runs_on(variant, hardware):
        return f"variant {variant.id} is {variant.precision.upper()}, {_needs(variant)}"
    return None


def _precision_runs_on(variant: Variant, hardware: HardwareProfile) -> bool:
    own = variant.precision_hardware
    if own is not None:
        return own.brand in (None, hardware.brand) and own.generation in (None, hardware.generation)
    if variant.precision in BLACKWELL_ONLY:
        return hardware.generation == "blackwell"
    return True


def _needs(variant: Variant) -> str:
    own = variant.precision_hardware
    if own is None:
        return "which needs Blackwell"
    return f"which needs {own.generation or own.brand}"


def too_old(recipe: Recipe, hardware: HardwareProfile) -> str | None:
    """The compute capability that the recipe's kernels need, where the GPUs are known to lack it.

    It rules nothing out: a check refuses, which may be skipped.
    """
    needs = recipe.model.prerequisites
    needed = needs.get("min_compute_capability") if isinstance(needs, dict) else None
    digits = hardware.compute_arch.removeprefix("sm")
    if needed is None or hardware.brand != "NVIDIA" or not digits.isdecimal():
        return None
    try:
        return str(needed) if int(digits) / 10 < float(needed) else None
    except ValueError:
        return None


def enough_nodes(
    recipe: Recipe, strategy: str, needed: float, hardware: HardwareProfile
) -> int | None:
    """The nodes that have room for so many GB under a strategy for several; None: none have.

    Where tensor parallelism spans them their number is a power of two: heads divide by no other.
    """
    if strategy in _EACH_NODE_HOLDS_ALL and needed > hardware.vram_gb:
        return None
    floor = least_gpus(recipe, strategy, hardware)
    nodes = max(2, ceil(floor / hardware.gpu_count), ceil(needed / hardware.vram_gb))
    return power_of_two(nodes) if strategy in _TENSOR_SPANS_NODES else nodes


def nodes_of_weights(strategy: str | None, nodes: int) -> int:
    """Of so many nodes, those that hold one copy of the weights together."""
    return 1 if strategy in _EACH_NODE_HOLDS_ALL else nodes


def power_of_two(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << (count - 1).bit_length()


def ceil(value: float) -> int:
    """The least whole number that is not less."""
    return -int(-value // 1)


def footprint(variant: Variant) -> float:
    """GB of the weights with headroom; 0 where the recipe does not say."""
    return variant.vram_minimum_gb or 0
