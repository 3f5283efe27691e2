"""Memory figures against what the weights take."""

from __future__ import annotations

from .fault import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.recipe import Recipe, Variant
    from ..model.source import Source
    from .fault import Fault

# Bytes of one parameter; what a format keeps beside the values is left out.
BYTES = {
    "fp32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "mxfp8": 1.0, "int8": 1.0, "w8a8": 1.0,
    "nvfp4": 0.5, "fp4": 0.5, "mxfp4": 0.5, "int4": 0.5, "awq": 0.5, "gptq": 0.5, "w4a16": 0.5,
}  # fmt: skip
_UNITS = {"T": 1000.0, "B": 1.0, "M": 0.001}
_GIB = 1.073741824  # GB; a figure may be meant in GiB
_MOST = 3.0
_SMALL_GB = 24.0  # what a small model needs beside its weights anyway


def figures(recipe: Recipe) -> Iterator[Fault]:
    """vram_minimum_gb of each variant."""
    for variant in recipe.variants.values():
        weights = _weights(recipe, variant)
        needed = variant.vram_minimum_gb
        if weights is None or needed is None:
            continue
        source = variant.where.replace(layer=f"{variant.where.layer}.vram_minimum_gb")
        shown = f"{recipe.model.parameter_count} parameters in {variant.precision} take {weights:g}"
        if needed * _GIB < weights:
            # Under an eight-bit label, a part of the weights is often in four bits.
            partly = _is_eight_bit(variant) and needed * _GIB >= weights / 2
            if not (partly and _speaks_of_four_bits(recipe, variant)):
                severity = "warning" if partly else "error"
                yield _fault(source, "LOW", severity, needed, shown, "the weights do not fit")
        elif needed > _MOST * weights + _SMALL_GB:
            yield _fault(source, "HIGH", "warning", needed, shown, "machines that fit are refused")


def _is_eight_bit(variant: Variant) -> bool:
    return BYTES.get(variant.precision.lower()) == 1.0


def _speaks_of_four_bits(recipe: Recipe, variant: Variant) -> bool:
    """Whether a recipe says that its weights are partly FP4, as a whole or of the variant."""
    import re

    own = f"{variant.label} {variant.description}".lower()
    whole = f"{recipe.meta.description} {recipe.meta.performance_headline}".lower()
    return bool(re.search(r"fp4|int4|4-bit", own) or re.search(r"\bfp4\b", whole))


def _fault(source: Source, end: str, severity: str, needed: float, shown: str, why: str) -> Fault:
    return at(
        source, f"LINT_MEMORY_{end}", severity, f"vram_minimum_gb is {needed:g}, and {shown} GB",
        f"Correct it, or the parameter count, or the precision: {why}.",
    )  # fmt: skip


def _weights(recipe: Recipe, variant: Variant) -> float | None:
    """GB of a variant's weights in its own precision; None where the recipe does not say enough."""
    served = variant.model_id or recipe.model.model_id
    if _size_in_name(served) != _size_in_name(recipe.model.model_id):
        return None
    parameters = _parameters(recipe.model.parameter_count)
    of_one = BYTES.get(variant.precision.lower())
    if parameters is None or of_one is None:
        return None
    return round(parameters * of_one, 3)


def _parameters(text: str) -> float | None:
    """Billions of parameters, of "427B" or "1.04T"."""
    import re

    found = re.fullmatch(r"[~≈]?\s*(\d+(?:\.\d+)?)\s*([TBM])", text.strip())
    return float(found[1]) * _UNITS[found[2]] if found else None


def _size_in_name(name: str) -> str:
    """The size that a checkpoint's name says, "235b"."""
    import re

    found = re.search(r"(?<![a-z0-9.])(\d+(?:\.\d+)?[bm])(?![a-z0-9])", name.lower())
    return found[1] if found else ""
