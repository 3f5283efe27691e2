"""Legal tensor parallel sizes and the KV cache's size, out of a checkpoint's shape."""

from __future__ import annotations

import pytest

from vllm_launch.model.checkpoint import Checkpoint
from vllm_launch.resolve.shapes import kv_bytes_per_token, legal_tp_sizes, why_not_tp

LLAMA = Checkpoint(
    path="llama",
    layers=32,
    attention_heads=32,
    kv_heads=8,
    head_dim=128,
    split_dims=(4096, 14336),
    value_bytes=2.0,
)
# 2048 split over 32 ranks leaves 64, half a block.
BLOCK_FP8 = LLAMA.replace(split_dims=(4096,), expert_dims=(2048,), block_size=128)
LATENT = Checkpoint(path="mla", layers=61, attention_heads=128, kv_lora_rank=512, rope_head_dim=64)


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        pytest.param(1, None, id="one-rank"),
        pytest.param(8, None, id="as-many-as-kv-heads"),
        pytest.param(16, None, id="kv-heads-repeated"),
        pytest.param(3, "32 attention heads are not divisible by 3", id="heads"),
        pytest.param(12, "32 attention heads are not divisible by 12", id="heads-beyond-kv"),
    ],
)
def test_a_size_must_divide_the_heads(size: int, reason: str | None) -> None:
    assert why_not_tp(LLAMA, size, expert_parallel=False) == reason


def test_kv_heads_and_ranks_must_divide_each_other() -> None:
    uneven = LLAMA.replace(attention_heads=24, kv_heads=8, split_dims=(6144,))
    assert why_not_tp(uneven, 6, expert_parallel=False) == (
        "8 KV heads and 6 ranks do not divide each other"
    )


def test_a_rank_must_hold_whole_quantisation_blocks() -> None:
    assert why_not_tp(BLOCK_FP8, 16, expert_parallel=False) is None
    assert why_not_tp(BLOCK_FP8, 32, expert_parallel=False) == (
        "2048 / 32 = 64 is not made of whole quantisation blocks of 128"
    )


def test_experts_stay_whole_under_expert_parallelism() -> None:
    assert why_not_tp(BLOCK_FP8, 32, expert_parallel=True) is None


def test_legal_sizes_are_listed_up_to_the_gpus_there_are() -> None:
    assert legal_tp_sizes(LLAMA, 8, expert_parallel=False) == (1, 2, 4, 8)
    assert legal_tp_sizes(LLAMA.replace(attention_heads=28, kv_heads=4, split_dims=(3584,)), 8,
                          expert_parallel=False) == (1, 2, 4)  # fmt: skip


@pytest.mark.parametrize(
    ("checkpoint", "dtype", "tp", "expected"),
    [
        pytest.param(LLAMA, None, 1, 2 * 32 * 8 * 128 * 2.0, id="16-bit"),
        pytest.param(LLAMA, "fp8", 1, 2 * 32 * 8 * 128 * 1.0, id="fp8"),
        pytest.param(LLAMA, None, 4, 2 * 32 * 2 * 128 * 2.0, id="heads-shared-out"),
        pytest.param(LLAMA, None, 16, 2 * 32 * 1 * 128 * 2.0, id="heads-repeated"),
        pytest.param(LATENT, None, 8, 61 * (512 + 64) * 2.0, id="latent-on-every-rank"),
        pytest.param(LLAMA.replace(layers=None), None, 1, None, id="unknown-layers"),
        pytest.param(LLAMA.replace(kv_heads=None), None, 1, None, id="unknown-heads"),
    ],
)
def test_kv_cache_of_one_token_on_one_rank(
    checkpoint: Checkpoint, dtype: str | None, tp: int, expected: float | None
) -> None:
    assert kv_bytes_per_token(checkpoint, dtype, tp) == expected
