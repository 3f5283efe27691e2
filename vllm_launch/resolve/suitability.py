"""What of a recipe can run on some hardware: variants by precision and memory, strategies."""

from __future__ import annotations

from .hardware import is_unsupported, most_specific

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.recipe import Recipe, Variant
    from ..model.taxonomy import HardwareProfile

# Formats that only Blackwell's tensor cores compute in.
BLACKWELL_ONLY = ("nvfp4", "fp4")


def offered(recipe: Recipe, hardware: HardwareProfile) -> tuple[str, ...]:
    """Compatible strategies, minus the unsupported, plus those that are supported here."""
    support = recipe.strategy_hardware
    offered = [
        name
        for name in recipe.compatible_strategies
        if not is_unsupported(support.get(name, {}), hardware)
    ]
    added = [
        name
        for name, on in support.items()
        if name not in offered and most_specific(on, hardware) == "supported"
    ]
    return (*offered, *added)


def why_not(recipe: Recipe, variant: Variant, hardware: HardwareProfile) -> str | None:
    """Why a variant cannot run on the hardware, or None where it can."""
    listed = recipe.meta.hardware
    if listed.get(hardware.id) == "unsupported":
        return f"{recipe.id} does not run on {hardware.id}"
    if hardware.restricted and hardware.id not in listed:
        return f"{hardware.id} is for recipes that list it, and {recipe.id} does not"
    if variant.supported_hardware is not None:
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


def fits(variant: Variant, hardware: HardwareProfile) -> bool:
    """Whether the weights with headroom fit one node."""
    return (variant.vram_minimum_gb or 0) <= hardware.vram_gb


def footprint(variant: Variant) -> float:
    """GB of the weights with headroom; 0 where the recipe does not say."""
    return variant.vram_minimum_gb or 0
