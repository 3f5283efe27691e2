"""Read a checkpoint's config where it is local or in the hub cache. Never downloads."""

from __future__ import annotations

import os

from ..model.checkpoint import Checkpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_MAX_BYTES = 64 << 20  # an index of a large model lists some hundred thousand tensors
_VALUE_BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0}
_EXPERTS = ("num_experts", "n_routed_experts", "num_local_experts")
# By what a quantisation calls itself: the precision, and the bits of a weight with its scales.
_QUANTISED = {
    "nvfp4": ("nvfp4", 4.5),
    "mxfp4": ("mxfp4", 4.25),
    "mxfp8": ("mxfp8", 8.25),
    "fp8": ("fp8", 8.0),
    "float8": ("fp8", 8.0),
    "awq": ("awq", 4.5),
    "gptq": ("gptq", 4.5),
    "int8": ("int8", 8.0),
    "int4": ("int4", 4.5),
}
# vLLM computes a float32 checkpoint in 16 bits.
_PLAIN = {"bfloat16": ("bf16", 16.0), "float16": ("fp16", 16.0), "float32": ("fp32", 16.0)}


def find(model: str, environ: Mapping[str, str]) -> str | None:
    """The directory of a checkpoint: the path itself, or its newest snapshot in the hub cache."""
    if os.path.isfile(os.path.join(model, "config.json")):
        return model
    if model.count("/") != 1 or ".." in model:
        return None
    root = os.path.join(hub_directory(environ), "models--" + model.replace("/", "--"))
    try:
        with open(os.path.join(root, "refs", "main"), encoding="ascii") as file:
            revisions = [file.read(64).strip()]
    except (OSError, ValueError):
        revisions = []
    revisions += _newest_first(os.path.join(root, "snapshots"))
    for revision in revisions:
        path = os.path.join(root, "snapshots", revision)
        if revision and "/" not in revision and os.path.isfile(os.path.join(path, "config.json")):
            return path
    return None


def revision(path: str) -> str:
    """What a checkpoint's directory holds: the hub's commit, else a hash of its config.json."""
    parts = os.path.normpath(path).split(os.sep)
    if len(parts) > 1 and parts[-2] == "snapshots":
        return parts[-1]
    from hashlib import sha256

    try:
        with open(os.path.join(path, "config.json"), "rb") as file:
            return "config.json sha256:" + sha256(file.read(_MAX_BYTES)).hexdigest()
    except OSError:
        return ""


def hub_directory(environ: Mapping[str, str]) -> str:
    """Where the hub cache keeps models: HF_HUB_CACHE, else under HF_HOME."""
    named = environ.get("HF_HUB_CACHE")
    return os.path.expanduser(named) if named else os.path.join(hub_home(environ), "hub")


def hub_home(environ: Mapping[str, str]) -> str:
    """The directory that holds the hub cache and its token, as HF_HOME names it."""
    home = environ.get("HF_HOME") or os.path.join(
        environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    return os.path.expanduser(home)


def read(path: str) -> Checkpoint | None:
    """The checkpoint's shape, or None where its config cannot be read."""
    config = _json(os.path.join(path, "config.json"))
    if config is None:
        return None
    text = config.get("text_config")
    shape = {**config, **text} if isinstance(text, dict) else config
    heads, hidden = _count(shape, "num_attention_heads"), _count(shape, "hidden_size")
    head_dim = _count(shape, "head_dim")
    if head_dim is None and heads and hidden:
        head_dim = hidden // heads
    dims = (hidden, _count(shape, "intermediate_size"))
    experts = (_count(shape, "moe_intermediate_size"),)
    precision, bits = _precision(config, shape)
    return Checkpoint(
        path=path,
        layers=_count(shape, "num_hidden_layers"),
        attention_heads=heads,
        kv_heads=_count(shape, "num_key_value_heads") or heads,
        head_dim=head_dim,
        kv_lora_rank=_count(shape, "kv_lora_rank"),
        rope_head_dim=_count(shape, "qk_rope_head_dim"),
        split_dims=tuple(dim for dim in dims if dim),
        expert_dims=tuple(dim for dim in experts if dim),
        block_size=_block_size(config),
        context_length=_count(shape, "max_position_embeddings"),
        weight_bytes=_weight_bytes(path),
        value_bytes=_VALUE_BYTES.get(_dtype(shape), 2.0),
        hidden_size=hidden,
        intermediate_size=dims[1],
        experts=next(filter(None, (_count(shape, key) for key in _EXPERTS)), None),
        expert_size=experts[0],
        vocab_size=_count(shape, "vocab_size"),
        tied=shape.get("tie_word_embeddings") is True,
        precision=precision,
        bits=bits,
        own_code=isinstance(config.get("auto_map"), dict),
        sees=isinstance(config.get("vision_config"), dict),
    )


def _dtype(shape: Mapping[str, Any]) -> str:
    return str(shape.get("torch_dtype") or shape.get("dtype"))


def _precision(config: Mapping[str, Any], shape: Mapping[str, Any]) -> tuple[str, float | None]:
    """What the weights are in, and the bits of one; a quantisation that is not known has none."""
    said = config.get("quantization_config") or shape.get("quantization_config")
    if not isinstance(said, dict):
        return _PLAIN.get(_dtype(shape), ("", None))
    words = [str(said.get(key, "")).lower() for key in ("quant_algo", "format", "quant_method")]
    for name, meant in _QUANTISED.items():
        if any(name in word for word in words):
            return meant
    return "", None


def _json(path: str) -> dict[str, Any] | None:
    import json

    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _count(shape: Mapping[str, Any], key: str) -> int | None:
    value = shape.get(key)
    return value if type(value) is int and value > 0 else None


def _block_size(config: Mapping[str, Any]) -> int | None:
    """The larger side of block-quantised weights' blocks."""
    quantization = config.get("quantization_config")
    block = quantization.get("weight_block_size") if isinstance(quantization, dict) else None
    if not isinstance(block, list) or not all(type(side) is int and side > 0 for side in block):
        return None
    return max(block, default=None)


def _weight_bytes(path: str) -> int | None:
    index = _json(os.path.join(path, "model.safetensors.index.json"))
    if index is not None and isinstance(index.get("metadata"), dict):
        return _count(index["metadata"], "total_size")
    try:
        return os.path.getsize(os.path.join(path, "model.safetensors"))
    except OSError:
        return None


def _newest_first(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: entry.stat().st_mtime, reverse=True)
    except OSError:
        return []
    return [entry.name for entry in found]
