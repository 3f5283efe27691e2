"""Which tensor parallel sizes a checkpoint's shape allows, and what its KV cache takes."""

from __future__ import annotations

from ..model.kv_cache import KvCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.checkpoint import Checkpoint

_KV_BYTES = {"fp8": 1.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0, "nvfp4": 0.5625, "int8": 1.0}
_VOCABULARY_STEP = 64  # vLLM fills the vocabulary up to a multiple of it before it splits it
_AHEAD = 8192  # tokens that a layer with a window keeps beside it: those of one batch


def why_not_tp(checkpoint: Checkpoint, size: int, *, expert_parallel: bool) -> str | None:
    """Why a TP size cannot be, or None where nothing speaks against it.

    vLLM splits heads evenly, repeats KV heads where there are fewer than ranks, and needs each
    rank's share of a block-quantised dimension to be whole blocks. The hidden size is not split.
    """
    if size == 1:
        return None
    heads, kv_heads = checkpoint.attention_heads, checkpoint.kv_heads
    if heads and heads % size:
        return f"{heads} attention heads are not divisible by {size}"
    if kv_heads and kv_heads % size and size % kv_heads:
        return f"{kv_heads} KV heads and {size} ranks do not divide each other"
    vocabulary = -(-(checkpoint.vocab_size or 0) // _VOCABULARY_STEP) * _VOCABULARY_STEP
    if vocabulary % size:
        return f"a vocabulary of {vocabulary} is not divisible by {size}"
    dims = checkpoint.split_dims + (() if expert_parallel else checkpoint.expert_dims)
    for dim in dims:
        if dim % size:
            return f"a dimension of {dim} is not divisible by {size}"
        if checkpoint.block_size and (dim // size) % checkpoint.block_size:
            return (
                f"{dim} / {size} = {dim // size} is not made of whole quantisation blocks "
                f"of {checkpoint.block_size}"
            )
    return None


def legal_tp_sizes(checkpoint: Checkpoint, most: int, *, expert_parallel: bool) -> tuple[int, ...]:
    """The TP sizes up to ``most`` that the shape allows."""
    return tuple(
        size
        for size in range(1, most + 1)
        if why_not_tp(checkpoint, size, expert_parallel=expert_parallel) is None
    )


def kv_cache(checkpoint: Checkpoint, dtype: str | None, tp: int) -> KvCache | None:
    """What a request takes of the KV cache on each rank; None where that is unknown.

    Also where no layer keeps every token: then the context is not what takes memory.
    """
    layer = _bytes_of_layer(checkpoint, dtype, tp)
    full = checkpoint.layers if checkpoint.full_layers is None else checkpoint.full_layers
    if not layer or not full:
        return None
    window = checkpoint.window + _AHEAD if checkpoint.window else 0
    return KvCache(
        per_token=full * layer, windowed=checkpoint.windowed_layers * layer, window=window
    )


def _bytes_of_layer(checkpoint: Checkpoint, dtype: str | None, tp: int) -> float | None:
    """Bytes of one token in one layer, on each rank."""
    value = _KV_BYTES.get(dtype or "", checkpoint.value_bytes)
    if checkpoint.kv_lora_rank:
        return (checkpoint.kv_lora_rank + (checkpoint.rope_head_dim or 0)) * value
    if not checkpoint.kv_heads or not checkpoint.head_dim:
        return None
    return 2 * max(1, checkpoint.kv_heads // tp) * checkpoint.head_dim * value
