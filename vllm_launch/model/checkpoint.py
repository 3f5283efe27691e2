"""What a model's own config.json says, where it is at hand."""

from __future__ import annotations

from .record import Record


class Checkpoint(Record):
    """A checkpoint's shape. A figure that its config does not have is None."""

    path: str
    layers: int | None = None
    attention_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    kv_lora_rank: int | None = None  # multi-head latent attention: one latent for all heads
    rope_head_dim: int | None = None
    full_layers: int | None = None  # that keep every token in the KV cache; None: all
    windowed_layers: int = 0  # that keep a window of them
    window: int | None = None  # tokens
    split_dims: tuple[int, ...] = ()  # dimensions that tensor parallelism splits
    expert_dims: tuple[int, ...] = ()  # those of the experts, whole under expert parallelism
    block_size: int | None = None  # of block-quantised weights
    context_length: int | None = None  # tokens
    weight_bytes: int | None = None  # as the safetensors index counts them
    value_bytes: float = 2.0  # of one KV cache value, as the model computes
    hidden_size: int | None = None
    intermediate_size: int | None = None
    experts: int | None = None  # of each layer; None: a dense model
    expert_size: int | None = None  # their intermediate size
    vocab_size: int | None = None
    tied: bool = False  # one matrix for embeddings in and out
    precision: str = ""  # as recipes call it: "bf16", "fp8", "nvfp4", "awq", …
    bits: float | None = None  # of one weight, with its share of scales
    own_code: bool = False  # it is loaded by code that it brings along
    sees: bool = False  # it has a part for images
