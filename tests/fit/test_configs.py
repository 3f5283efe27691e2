"""Configs as published models have them: what is read, and which layouts can be."""

from __future__ import annotations

import pytest

from vllm_launch.host.config import checkpoint_of
from vllm_launch.model.checkpoint import Checkpoint
from vllm_launch.resolve.shapes import legal_tp_sizes, why_not_tp

FP8 = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


def shape(heads: int, kv_heads: int, hidden: int, **more: object) -> dict[str, object]:
    return {
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "hidden_size": hidden,
        "num_hidden_layers": 48, **more,
    }  # fmt: skip


DEEPSEEK = shape(
    128, 128, 7168, vocab_size=129280, intermediate_size=18432, moe_intermediate_size=2048,
    n_routed_experts=256, n_shared_experts=1, first_k_dense_replace=3, kv_lora_rank=512,
    qk_rope_head_dim=64, **FP8,
)  # fmt: skip
KIMI = {
    **DEEPSEEK, "num_attention_heads": 64, "num_key_value_heads": 64, "n_routed_experts": 384,
    "vocab_size": 163840, "first_k_dense_replace": 1,
}  # fmt: skip
QWEN_235B = shape(
    64, 4, 4096, head_dim=128, vocab_size=151936, intermediate_size=12288, num_experts=128,
    moe_intermediate_size=1536, decoder_sparse_step=1, mlp_only_layers=[], **FP8,
)  # fmt: skip
QWEN_NEXT = shape(
    16, 2, 2048, head_dim=256, vocab_size=151936, intermediate_size=5120, num_experts=512,
    moe_intermediate_size=512, shared_expert_intermediate_size=512, full_attention_interval=4,
    decoder_sparse_step=1, mlp_only_layers=[], **FP8,
)  # fmt: skip
GLM = shape(
    96, 8, 5120, head_dim=128, vocab_size=151552, intermediate_size=12288,
    moe_intermediate_size=1536, n_routed_experts=160, first_k_dense_replace=3,
)  # fmt: skip
MINIMAX = shape(
    48, 8, 3072, head_dim=128, vocab_size=200064, intermediate_size=1536, num_local_experts=256,
    **FP8,
)  # fmt: skip
LLAMA_4 = {
    "text_config": shape(
        40, 8, 5120, head_dim=128, vocab_size=202048, intermediate_size=8192,
        intermediate_size_mlp=16384, num_local_experts=128,
    ),
    "vision_config": {"num_attention_heads": 16, "hidden_size": 1408},
}  # fmt: skip
GPT_OSS = shape(
    64, 8, 2880, head_dim=64, vocab_size=201088, intermediate_size=2880, num_local_experts=128,
    num_hidden_layers=36, sliding_window=128,
    layer_types=["sliding_attention", "full_attention"] * 18,
    quantization_config={"quant_method": "mxfp4"},
)  # fmt: skip
MIXTRAL = shape(32, 8, 4096, vocab_size=32000, intermediate_size=14336, num_local_experts=8)
GEMMA_3 = {
    "text_config": shape(
        32, 16, 5376, head_dim=128, vocab_size=262208, intermediate_size=21504,
        num_hidden_layers=62, sliding_window=1024, model_type="gemma3_text",
    ),
    "model_type": "gemma3",
}  # fmt: skip
QWEN_OMNI = {"thinker_config": {"text_config": shape(32, 4, 2048, vocab_size=152064)}}
WHISPER = {
    "encoder_attention_heads": 20, "decoder_attention_heads": 20, "d_model": 1280,
    "encoder_layers": 32, "decoder_layers": 32, "num_hidden_layers": 32, "vocab_size": 51866,
    "decoder_ffn_dim": 5120, "encoder_ffn_dim": 5120, "max_target_positions": 448,
}  # fmt: skip
FALCON_7B = {
    "num_attention_heads": 71, "hidden_size": 4544, "num_hidden_layers": 32, "multi_query": True,
    "new_decoder_architecture": False, "vocab_size": 65024,
}  # fmt: skip


def read(config: dict[str, object]) -> Checkpoint:
    return checkpoint_of("/x", config, None)


@pytest.mark.parametrize(
    ("config", "size", "experts_whole"),
    [
        pytest.param(DEEPSEEK, 8, False, id="DeepSeek-R1 on 8"),
        pytest.param(DEEPSEEK, 16, False, id="DeepSeek-R1 on 16: 7168 is not split"),
        pytest.param(DEEPSEEK, 16, True, id="DeepSeek-R1 on 16, experts whole"),
        pytest.param(KIMI, 8, False, id="Kimi-K2 on 8"),
        pytest.param(KIMI, 16, False, id="Kimi-K2 on 16"),
        pytest.param(KIMI, 16, True, id="Kimi-K2 on 16, experts whole"),
        pytest.param(QWEN_235B, 4, False, id="Qwen3-235B FP8 on 4"),
        pytest.param(QWEN_235B, 8, True, id="Qwen3-235B FP8 on 8, experts whole"),
        pytest.param(QWEN_235B, 16, True, id="Qwen3-235B FP8 on 16, experts whole"),
        pytest.param({**QWEN_235B, "quantization_config": None}, 8, False, id="Qwen3-235B on 8"),
        pytest.param(QWEN_NEXT, 4, False, id="Qwen3-Next FP8 on 4"),
        pytest.param(QWEN_NEXT, 16, True, id="Qwen3-Next: no layer is 5120 wide"),
        pytest.param(GLM, 8, False, id="GLM-4.6 on 8"),
        pytest.param({**GLM, **FP8}, 4, False, id="GLM-4.6 FP8 on 4"),
        pytest.param({**GLM, **FP8}, 8, True, id="GLM-4.6 FP8 on 8, experts whole"),
        pytest.param(MINIMAX, 4, False, id="MiniMax-M2 on 4"),
        pytest.param(MINIMAX, 8, True, id="MiniMax-M2 on 8, experts whole"),
        pytest.param(LLAMA_4, 8, False, id="Llama-4 on 8"),
        pytest.param(LLAMA_4, 8, True, id="Llama-4 on 8, experts whole"),
        pytest.param(GPT_OSS, 8, False, id="gpt-oss on 8"),
        pytest.param(GPT_OSS, 8, True, id="gpt-oss on 8, experts whole"),
        pytest.param(MIXTRAL, 8, False, id="Mixtral on 8"),
        pytest.param(GEMMA_3, 8, False, id="Gemma-3 on 8"),
        pytest.param(QWEN_OMNI, 8, False, id="Qwen-Omni on 8"),
        pytest.param(WHISPER, 4, False, id="Whisper on 4"),
        pytest.param(FALCON_7B, 1, False, id="Falcon on 1"),
    ],
)
def test_a_layout_that_runs_is_not_refused(
    config: dict[str, object], size: int, experts_whole: bool
) -> None:
    assert why_not_tp(read(config), size, expert_parallel=experts_whole) is None


@pytest.mark.parametrize(
    ("config", "size", "why"),
    [
        pytest.param(
            MINIMAX, 8, "1536 / 8 = 192 is not made of whole quantisation blocks of 128",
            id="MiniMax-M2",
        ),
        pytest.param(
            QWEN_235B, 8, "1536 / 8 = 192 is not made of whole quantisation blocks of 128",
            id="Qwen3-235B FP8",
        ),
        pytest.param(
            DEEPSEEK, 32, "18432 / 32 = 576 is not made of whole quantisation blocks of 128",
            id="DeepSeek-R1: its dense layers",
        ),
        pytest.param(LLAMA_4, 16, "40 attention heads are not divisible by 16", id="Llama-4"),
        pytest.param(WHISPER, 8, "20 attention heads are not divisible by 8", id="Whisper"),
        pytest.param(FALCON_7B, 2, "71 attention heads are not divisible by 2", id="Falcon"),
    ],
)  # fmt: skip
def test_a_layout_that_does_not_run_is_refused(
    config: dict[str, object], size: int, why: str
) -> None:
    assert why_not_tp(read(config), size, expert_parallel=False) == why


@pytest.mark.parametrize(
    ("config", "sizes"),
    [
        pytest.param(MINIMAX, (1, 2, 4), id="MiniMax-M2"),
        pytest.param(WHISPER, (1, 2, 4), id="Whisper"),
        pytest.param(FALCON_7B, (1,), id="Falcon"),
        pytest.param(QWEN_OMNI, (1, 2, 4, 8), id="Qwen-Omni"),
    ],
)
def test_sizes_that_can_be(config: dict[str, object], sizes: tuple[int, ...]) -> None:
    assert legal_tp_sizes(read(config), 8, expert_parallel=False) == sizes


@pytest.mark.parametrize(
    ("config", "split", "of_experts"),
    [
        pytest.param(MIXTRAL, (), (14336,), id="the experts have no size of their own"),
        pytest.param(DEEPSEEK, (18432,), (2048,), id="some layers are dense"),
        pytest.param(QWEN_235B, (), (1536,), id="no layer is dense"),
        pytest.param({**QWEN_235B, "mlp_only_layers": [0]}, (12288,), (1536,), id="one is"),
        pytest.param({**QWEN_235B, "decoder_sparse_step": 2}, (12288,), (1536,), id="half are"),
        pytest.param(LLAMA_4, (16384,), (8192,), id="dense layers have a key of their own"),
        pytest.param(GEMMA_3, (21504,), (), id="no experts"),
        pytest.param({**MIXTRAL, "num_local_experts": 1}, (14336,), (), id="one expert is none"),
    ],
)
def test_what_is_split_and_what_stays_whole_with_the_experts(
    config: dict[str, object], split: tuple[int, ...], of_experts: tuple[int, ...]
) -> None:
    found = read(config)
    assert (found.split_dims, found.expert_dims) == (split, of_experts)


@pytest.mark.parametrize(
    ("config", "full", "windowed", "window"),
    [
        pytest.param(MIXTRAL, 48, 0, None, id="all of them"),
        pytest.param(GPT_OSS, 18, 18, 128, id="by kind of layer"),
        pytest.param(GEMMA_3, 10, 52, 1024, id="Gemma-3, which leaves the pattern out"),
        pytest.param(
            {**MIXTRAL, "sliding_window": 4096, "sliding_window_pattern": 4}, 12, 36, 4096,
            id="by a pattern",
        ),
        pytest.param({**MIXTRAL, "sliding_window_pattern": 4}, 48, 0, None, id="without a window"),
        pytest.param({**MIXTRAL, "sliding_window": 4096}, 48, 0, None, id="without a pattern"),
        pytest.param(QWEN_NEXT, 12, 0, None, id="linear attention by interval"),
        pytest.param(
            {**MIXTRAL, "layer_types": ["linear_attention", "full_attention"] * 24}, 24, 0, None,
            id="linear attention by kind",
        ),
        pytest.param({**MIXTRAL, "layer_types": ["mamba", {}, 3]}, 48, 0, None, id="too few kinds"),
        pytest.param(
            {"layer_types": ["full_attention"]}, 0, 0, None, id="nobody knows how many layers"
        ),
    ],
)  # fmt: skip
def test_layers_that_keep_every_token(
    config: dict[str, object], full: int, windowed: int, window: int | None
) -> None:
    found = read(config)
    assert (found.full_layers, found.windowed_layers, found.window) == (full, windowed, window)


@pytest.mark.parametrize(
    "inner", ["text_config", "thinker_config", "llm_config", "language_config"]
)
def test_the_language_model_speaks_for_a_model_of_several_parts(inner: str) -> None:
    found = read({inner: MIXTRAL, "hidden_size": 1, "vision_config": {}})
    assert (found.attention_heads, found.hidden_size, found.sees) == (32, 4096, True)


@pytest.mark.parametrize(
    ("config", "heads", "kv_heads"),
    [
        pytest.param(WHISPER, 20, 20, id="Whisper"),
        pytest.param(QWEN_OMNI, 32, 4, id="Qwen-Omni"),
        pytest.param(FALCON_7B, 71, 1, id="one KV head for all"),
        pytest.param(
            {**FALCON_7B, "new_decoder_architecture": True, "num_kv_heads": 8}, 71, 8,
            id="Falcon-40B",
        ),
        pytest.param({"n_head": 12, "n_embd": 768}, 12, 12, id="GPT-2"),
        pytest.param({"hidden_size": 4096}, None, None, id="nobody knows"),
        pytest.param({"num_attention_heads": 10**400}, None, None, id="no count"),
    ],
)  # fmt: skip
def test_heads_by_any_name(
    config: dict[str, object], heads: int | None, kv_heads: int | None
) -> None:
    found = read(config)
    assert (found.attention_heads, found.kv_heads) == (heads, kv_heads)


def test_an_encoder_and_its_decoder() -> None:
    found = read(WHISPER)
    assert (found.layers, found.hidden_size, found.head_dim) == (64, 1280, 64)
    assert (found.intermediate_size, found.context_length) == (5120, 448)
