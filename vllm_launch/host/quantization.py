"""What a config says of its quantisation: the precision, and the bits of a weight."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

# By what a quantisation calls itself: the precision, the bits of a value, and what a weight has
# beside them: its share of scales and, of four bits, of layers that are left as they were.
_NAMED = {
    "nvfp4": ("nvfp4", 4, 0.5),
    "mxfp4": ("mxfp4", 4, 0.25),
    "mxfp8": ("mxfp8", 8, 0.25),
    "fp8": ("fp8", 8, 0.0),
    "float8": ("fp8", 8, 0.0),
    "awq": ("awq", 4, 0.5),
    "gptq": ("gptq", 4, 0.5),
    "int8": ("int8", 8, 0.0),
    "int4": ("int4", 4, 0.5),
}
# Schemes without such a name: type, bits, values that share a scale where that tells.
_SCHEMES = (
    ("float", 8, None, "fp8"),
    ("float", 4, 16, "nvfp4"),
    ("float", 4, 32, "mxfp4"),
    ("int", 8, None, "int8"),
    ("int", 4, None, "int4"),
)
# vLLM computes a float32 checkpoint in 16 bits.
_PLAIN = {"bfloat16": ("bf16", 16.0), "float16": ("fp16", 16.0), "float32": ("fp32", 16.0)}


def precision(shape: Mapping[str, Any]) -> tuple[str, float | None]:
    """What the weights are in, and the bits of one; a quantisation that is not known has none."""
    said = shape.get("quantization_config")
    if not isinstance(said, dict):
        return _PLAIN.get(str(shape.get("torch_dtype") or shape.get("dtype")), ("", None))
    words = [str(said.get(key, "")).lower() for key in ("quant_algo", "format", "quant_method")]
    for name, (called, bits, beside) in _NAMED.items():
        if any(name in word for word in words):
            return called, (_bits(said.get("bits")) or bits) + beside
    return max(_of_weights(said), key=lambda found: found[1] or 0, default=("", None))


def block_size(shape: Mapping[str, Any]) -> int | None:
    """The larger side of block-quantised weights' blocks."""
    said = shape.get("quantization_config")
    block = said.get("weight_block_size") if isinstance(said, dict) else None
    if not isinstance(block, list) or not all(type(side) is int and side > 0 for side in block):
        return None
    return max(block, default=None)


def _of_weights(said: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    """The precisions that a quantisation without a known name gives its weights, by group."""
    groups = said.get("config_groups")
    groups = list(groups.values()) if isinstance(groups, dict) else []
    schemes: list[Any] = [group.get("weights") for group in groups if isinstance(group, dict)]
    schemes.append({"num_bits": said.get("bits"), "type": "int"})
    for scheme in schemes:
        bits = _bits(scheme.get("num_bits")) if isinstance(scheme, dict) else None
        if bits is not None:
            called = _called(scheme, bits)
            yield called, bits + (_NAMED[called][2] if called else 0.5)


def _called(scheme: Mapping[str, Any], bits: int) -> str:
    for kind, width, group, name in _SCHEMES:
        if (kind, width) == (scheme.get("type"), bits) and group in (
            None,
            scheme.get("group_size"),
        ):
            return name
    return ""


def _bits(value: object) -> int | None:
    return value if type(value) is int and 1 <= value <= 16 else None
