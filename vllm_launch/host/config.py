"""A checkpoint's shape out of its config.json, which calls its figures by many names. Pure."""

from __future__ import annotations

from ..model.checkpoint import Checkpoint
from .quantization import block_size, precision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Where a model of several parts keeps the configuration of its language model.
_LANGUAGE = ("text_config", "thinker_config", "llm_config", "language_config")
# The keys that have a figure: the first one counts.
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_HEADS = (
    "num_attention_heads", "n_head", "n_heads", "decoder_attention_heads",
    "encoder_attention_heads",
)  # fmt: skip
_KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
_HEAD_DIM = ("head_dim", "kv_channels")
_HIDDEN = ("hidden_size", "d_model", "n_embd")
_INNER = ("intermediate_size", "ffn_hidden_size", "n_inner", "decoder_ffn_dim", "ffn_dim")
_CONTEXT = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length",
    "max_target_positions",
)  # fmt: skip
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
_EXPERT_INNER = ("moe_intermediate_size", "expert_ffn_hidden_size")
# Layers that have no KV cache, or none that grows with the context.
_NOT_GROWING = ("linear_attention", "mamba", "conv", "mlp", "moe")
# Models whose config does not say that only every so-manieth layer keeps more than a window.
_FULL_EVERY = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4}
_VALUE_BYTES = {"float32": 4.0}
_MOST = 1 << 60  # of anything that is counted


def count(shape: Mapping[str, Any], *keys: str) -> int | None:
    """The first of some figures that there is; None where none is a count."""
    values = (shape.get(key) for key in keys)
    return next((value for value in values if type(value) is int and 0 < value < _MOST), None)


def checkpoint_of(path: str, config: Mapping[str, Any], weight_bytes: int | None) -> Checkpoint:
    """The shape of the model, or of its language model where it has several parts."""
    shape = _language_model(config)
    heads, hidden, layers = count(shape, *_HEADS), count(shape, *_HIDDEN), _layers(shape)
    dense, of_expert = _dense_size(shape), _expert_size(shape)
    full, windowed = _cached_layers(shape, layers or 0)
    called, bits = precision(shape)
    return Checkpoint(
        path=path,
        layers=layers,
        attention_heads=heads,
        kv_heads=_kv_heads(shape),
        head_dim=count(shape, *_HEAD_DIM) or (hidden // heads if heads and hidden else None),
        kv_lora_rank=count(shape, "kv_lora_rank"),
        rope_head_dim=count(shape, "qk_rope_head_dim"),
        full_layers=full,
        windowed_layers=windowed,
        window=count(shape, "sliding_window") if windowed else None,
        split_dims=(dense,) if dense else (),
        expert_dims=(of_expert,) if of_expert else (),
        block_size=block_size(shape),
        context_length=count(shape, *_CONTEXT),
        weight_bytes=weight_bytes,
        value_bytes=_VALUE_BYTES.get(str(shape.get("torch_dtype") or shape.get("dtype")), 2.0),
        hidden_size=hidden,
        intermediate_size=count(shape, *_INNER),
        experts=_experts(shape),
        expert_size=of_expert,
        vocab_size=count(shape, "vocab_size"),
        tied=shape.get("tie_word_embeddings") is True,
        precision=called,
        bits=bits,
        own_code=isinstance(config.get("auto_map"), dict),
        sees=isinstance(shape.get("vision_config"), dict),
    )


def _language_model(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config with the language model's own part on top, as far as that says something."""
    shape: dict[str, Any] = {}
    inner: Any = config
    while isinstance(inner, dict):
        shape.update((key, value) for key, value in inner.items() if value is not None)
        parts = [inner.get(key) for key in _LANGUAGE]
        inner = next((part for part in parts if isinstance(part, dict)), None)
    return shape


def _layers(shape: Mapping[str, Any]) -> int | None:
    """The layers; of an encoder and its decoder, both together."""
    encoder, decoder = count(shape, "encoder_layers"), count(shape, "decoder_layers")
    return encoder + decoder if encoder and decoder else count(shape, *_LAYERS)


def _kv_heads(shape: Mapping[str, Any]) -> int | None:
    """One, fewer than the attention heads, or as many."""
    if shape.get("multi_query") is True and shape.get("new_decoder_architecture") is not True:
        return 1
    return count(shape, *_KV_HEADS, *_HEADS)


def _experts(shape: Mapping[str, Any]) -> int | None:
    """The routed experts of a layer; None for a dense model, which may say one."""
    found = count(shape, *_EXPERTS)
    return found if found != 1 else None


def _expert_size(shape: Mapping[str, Any]) -> int | None:
    """The experts' intermediate size: where they have no key of their own, the one there is."""
    own = count(shape, *_EXPERT_INNER)
    return own or (count(shape, *_INNER) if _experts(shape) else None)


def _dense_size(shape: Mapping[str, Any]) -> int | None:
    """The intermediate size of layers without experts, where the config says that there are any."""
    if _expert_size(shape) is None:
        return count(shape, *_INNER)
    if count(shape, *_EXPERT_INNER) is None:
        return count(shape, "intermediate_size_mlp")
    said = count(shape, "first_k_dense_replace") or shape.get("mlp_only_layers")
    some = said or (count(shape, "decoder_sparse_step") or 1) > 1
    return count(shape, *_INNER) if some else None


def _cached_layers(shape: Mapping[str, Any], layers: int) -> tuple[int, int]:
    """The layers that keep every token in the KV cache, and those that keep a window of them."""
    kinds = shape.get("layer_types") or shape.get("layers_block_type")
    window = count(shape, "sliding_window")
    if isinstance(kinds, list) and len(kinds) >= layers:
        windowed = kinds[:layers].count("sliding_attention") if window else 0
        return layers - windowed - sum(map(kinds[:layers].count, _NOT_GROWING)), windowed
    every = count(shape, "full_attention_interval")
    if every is not None:
        return layers // every, 0
    every = count(shape, "sliding_window_pattern") or _FULL_EVERY.get(str(shape.get("model_type")))
    if every is None or window is None:
        return layers, 0
    return layers // every, layers - layers // every
