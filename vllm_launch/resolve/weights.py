"""How many bytes a checkpoint's weights take: as counted, or as its shape lets estimate."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.checkpoint import Checkpoint

_GB = 1e9


def weight_bytes(checkpoint: Checkpoint) -> tuple[float, str] | None:
    """The bytes and how they are known; None where the config does not say enough."""
    if checkpoint.weight_bytes:
        return checkpoint.weight_bytes, f"{_gb(checkpoint.weight_bytes)} of weights, as counted"
    count = parameters(checkpoint)
    if count is None or checkpoint.bits is None:
        return None
    size = count * checkpoint.bits / 8
    about = f"{count / _GB:.3g}B parameters at {checkpoint.bits:g} bits"
    return size, f"about {_gb(size)} of weights, estimated from {about}"


def _gb(size: float) -> str:
    return f"{size / _GB:.{0 if size >= 10 * _GB else 1}f} GB"


def parameters(checkpoint: Checkpoint) -> float | None:
    """The parameters of a transformer of this shape, roughly; None where figures are missing."""
    layers, hidden, heads = checkpoint.layers, checkpoint.hidden_size, checkpoint.attention_heads
    width, vocabulary = checkpoint.head_dim, checkpoint.vocab_size
    inner = checkpoint.intermediate_size
    if checkpoint.experts:
        inner = (checkpoint.expert_size or inner or 0) * checkpoint.experts
    if not (layers and hidden and heads and width and vocabulary and inner):
        return None
    attention = 2 * hidden * width * (heads + (checkpoint.kv_heads or heads))
    embeddings = vocabulary * hidden * (1 if checkpoint.tied else 2)
    return float(layers * (attention + 3 * hidden * inner) + embeddings)
