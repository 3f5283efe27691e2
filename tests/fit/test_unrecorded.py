"""A plan from a config.json alone: sizes, context, weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolve import build
from vllm_launch.host.checkpoint import read
from vllm_launch.model.checkpoint import Checkpoint
from vllm_launch.resolve.hardware import memory_per_gpu
from vllm_launch.resolve.shapes import why_not_tp
from vllm_launch.resolve.unrecorded import fitting_context, tp_size
from vllm_launch.resolve.weights import parameters, weight_bytes

# Llama 3.1: figures of the published configs.
LLAMA_8B = Checkpoint(
    path="/x", layers=32, attention_heads=32, kv_heads=8, head_dim=128, hidden_size=4096,
    intermediate_size=14336, vocab_size=128256, context_length=131072, bits=16.0,
    split_dims=(14336,),
)  # fmt: skip
LLAMA_70B = LLAMA_8B.replace(
    layers=80, attention_heads=64, hidden_size=8192, intermediate_size=28672,
    split_dims=(28672,),
)  # fmt: skip
NO_HEADS = LLAMA_70B.replace(attention_heads=None, kv_heads=None)
QWEN3_30B_A3B = Checkpoint(
    path="/x", layers=48, attention_heads=32, kv_heads=4, head_dim=128, hidden_size=2048,
    intermediate_size=6144, experts=128, expert_size=768, vocab_size=151936,
)  # fmt: skip


@pytest.mark.parametrize(
    ("checkpoint", "billions"), [(LLAMA_8B, 8.03), (LLAMA_70B, 70.6), (QWEN3_30B_A3B, 30.5)]
)
def test_parameters_are_near_the_published_counts(checkpoint: Checkpoint, billions: float) -> None:
    assert parameters(checkpoint) == pytest.approx(billions * 1e9, rel=0.01)


def test_what_is_counted_is_not_estimated() -> None:
    assert weight_bytes(LLAMA_8B.replace(weight_bytes=16_060_000_000)) == (
        16_060_000_000,
        "16 GB of weights, as counted",
    )
    known = weight_bytes(LLAMA_8B)
    assert known is not None
    assert known[1] == "about 16 GB of weights, estimated from 8.03B parameters at 16 bits"


@pytest.mark.parametrize("field", ["layers", "hidden_size", "vocab_size", "bits", "head_dim"])
def test_nothing_is_estimated_from_half_a_shape(field: str) -> None:
    assert weight_bytes(LLAMA_8B.replace(**{field: None})) is None


@pytest.mark.parametrize(
    ("checkpoint", "hardware", "size"),
    [
        (LLAMA_8B, "h200", 1),
        (LLAMA_8B, "rtx_4090_2x", 1),
        # The weights fit one, 32768 tokens of twice the size beside them do not.
        (LLAMA_8B.replace(kv_heads=16), "rtx_4090_2x", 2),
        (LLAMA_70B, "h200", 2),
        (LLAMA_70B, "h100", 4),
        (LLAMA_70B, "rtx_4090_2x", 2),  # fits nowhere: the most there is
        (LLAMA_70B.replace(attention_heads=12, kv_heads=12, split_dims=(6144,)), "h100", 3),
        (LLAMA_70B.replace(bits=None), "h200", 8),
        (LLAMA_70B.replace(attention_heads=None), "h200", 1),  # nothing known of the weights
        (NO_HEADS.replace(weight_bytes=26_700_000_000), "rtx_4090_2x", 2),
        (NO_HEADS.replace(weight_bytes=26_700_000_000), "h100", 1),
        (NO_HEADS.replace(weight_bytes=146_000_000_000), "h100", 4),
        (NO_HEADS.replace(weight_bytes=999_000_000_000), "h100", 8),  # fits nowhere
    ],
)
def test_the_smallest_size_with_room(checkpoint: Checkpoint, hardware: str, size: int) -> None:
    assert tp_size(checkpoint, build.profile(hardware)) == size


def test_a_context_that_does_not_fit_is_cut() -> None:
    h200, ada = build.profile("h200"), build.profile("rtx_4090_2x")
    assert fitting_context(LLAMA_8B, h200, 1) is None
    cut = fitting_context(LLAMA_8B, ada, 1)
    assert cut is not None
    assert cut % 1024 == 0
    # 24 GB times 0.85 are for weights and KV cache, of 128 KiB a token.
    assert cut == int((24e9 * 0.85 - 16.06e9) / (128 * 1024)) // 1024 * 1024
    assert fitting_context(LLAMA_8B.replace(context_length=None), ada, 1) is None


SHAPES = st.builds(
    lambda layers, heads, groups, inner, vocabulary: LLAMA_8B.replace(
        layers=layers, attention_heads=heads, kv_heads=max(1, heads // groups),
        hidden_size=heads * 128, intermediate_size=inner * 256, vocab_size=vocabulary,
        split_dims=(inner * 256,),
    ),
    st.integers(1, 120), st.integers(1, 128), st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 200), st.integers(1000, 300_000),
)  # fmt: skip


@given(checkpoint=SHAPES, hardware=st.sampled_from(["h100", "h200", "gb200", "rtx_4090_2x"]))
def test_a_size_is_always_one_that_the_shape_allows(checkpoint: Checkpoint, hardware: str) -> None:
    profile = build.profile(hardware)
    size = tp_size(checkpoint, profile)
    assert 1 <= size <= profile.gpu_count
    assert why_not_tp(checkpoint, size, expert_parallel=False) is None or size == 1
    known = weight_bytes(checkpoint)
    assert known is not None
    share = memory_per_gpu(profile) * 1e9
    smaller = [
        n for n in range(1, size) if why_not_tp(checkpoint, n, expert_parallel=False) is None
    ]
    for one in smaller:  # each was refused for want of memory
        room = (share * 0.85 - known[0] / one) / (2 * checkpoint.layers * max(
            1, checkpoint.kv_heads // one) * 128 * 2)  # fmt: skip
        assert known[0] * 1.2 > share * one or room < 32768


def compressed(form: str, **weights: object) -> dict[str, object]:
    """The config of a checkpoint in the form of compressed-tensors."""
    group = {"weights": weights, "targets": ["Linear"]}
    said = {"quant_method": "compressed-tensors", "format": form, "config_groups": {"g": group}}
    return {"quantization_config": said, "torch_dtype": "bfloat16"}


@pytest.mark.parametrize(
    ("config", "precision", "bits"),
    [
        ({"torch_dtype": "bfloat16"}, "bf16", 16),
        ({"dtype": "float16"}, "fp16", 16),
        ({"torch_dtype": "float32"}, "fp32", 16),
        ({}, "", None),
        ({"torch_dtype": ["x"]}, "", None),
        ({"quantization_config": {"quant_method": "fp8"}}, "fp8", 8),
        ({"quantization_config": {"quant_algo": "NVFP4"}}, "nvfp4", 4.5),
        (
            {"quantization_config": {"quant_method": "compressed-tensors",
                                     "format": "nvfp4-pack-quantized"}},
            "nvfp4", 4.5,
        ),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "mxfp4", 4.25),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "awq", 4.5),
        # As many bits as it says: an eight-bit GPTQ is no four-bit one.
        ({"quantization_config": {"quant_method": "gptq", "bits": 8}}, "gptq", 8.5),
        ({"quantization_config": {"quant_method": "auto-round", "bits": 4}}, "int4", 4.5),
        ({"quantization_config": {"quant_method": "gptq", "bits": "8"}}, "gptq", 4.5),
        (compressed("float-quantized", num_bits=8, type="float"), "fp8", 8),
        (compressed("pack-quantized", num_bits=4, type="int"), "int4", 4.5),
        (compressed("pack-quantized", num_bits=8, type="int"), "int8", 8),
        (compressed("int-quantized", num_bits=8, type="int"), "int8", 8),
        (compressed("pack-quantized", num_bits=3, type="int"), "", 3.5),
        (compressed("x", num_bits=4, type="float", group_size=16), "nvfp4", 4.5),
        (compressed("x", num_bits=4, type="float", group_size=32), "mxfp4", 4.25),
        (compressed("x", num_bits=4, type="float"), "", 4.5),
        (compressed("x", num_bits=None, type=[]), "", None),
        # Of several groups, the one with the most bits: rather too much than too little.
        (
            {"quantization_config": {"config_groups": {
                "a": {"weights": {"num_bits": 4, "type": "int"}},
                "b": {"weights": {"num_bits": 8, "type": "float"}},
                "c": {"weights": None},
                "d": 3,
            }}},
            "fp8", 8,
        ),
        # A model of several parts may have it beside its language model or inside.
        (
            {"text_config": {"quantization_config": {"quant_method": "fp8"}}, "dtype": "bfloat16"},
            "fp8", 8,
        ),
        (
            {
                "text_config": {"quantization_config": None, "torch_dtype": None},
                "quantization_config": {"quant_method": "fp8"}, "torch_dtype": "bfloat16",
            },
            "fp8", 8,
        ),
        ({"text_config": {"torch_dtype": None}, "torch_dtype": "bfloat16"}, "bf16", 16),
        ({"quantization_config": {"quant_method": "\033[31mevil"}}, "", None),
        ({"quantization_config": "fp8", "torch_dtype": "bfloat16"}, "bf16", 16),
    ],
)  # fmt: skip
def test_precisions(tmp_path: Path, config: object, precision: str, bits: float | None) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    checkpoint = read(str(tmp_path))
    assert checkpoint is not None
    assert (checkpoint.precision, checkpoint.bits) == (precision, bits)


def test_the_shape_that_sizes_are_estimated_from(tmp_path: Path) -> None:
    config = {
        "hidden_size": 2048, "num_experts": 128, "moe_intermediate_size": 768, "vocab_size": 1000,
        "tie_word_embeddings": True, "auto_map": {"AutoModel": "x.y"}, "intermediate_size": 6144,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps({"text_config": config, **config}))
    found = read(str(tmp_path))
    assert found is not None
    assert (found.hidden_size, found.experts, found.expert_size) == (2048, 128, 768)
    assert (found.vocab_size, found.intermediate_size) == (1000, 6144)
    assert (found.tied, found.own_code) == (True, True)
