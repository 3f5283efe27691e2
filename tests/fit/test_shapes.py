"""Legal tensor parallel sizes and the KV cache's size, out of a checkpoint's shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.model.checkpoint import Checkpoint
from vllm_launch.model.kv_cache import KvCache
from vllm_launch.resolve.shapes import kv_cache, legal_tp_sizes, why_not_tp

LLAMA = Checkpoint(
    path="llama",
    layers=32,
    attention_heads=32,
    kv_heads=8,
    head_dim=128,
    split_dims=(14336,),
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


def test_a_vocabulary_is_split_after_it_is_filled_up() -> None:
    small = LLAMA.replace(attention_heads=60, kv_heads=60, split_dims=(3840,))
    assert legal_tp_sizes(small, 6, expert_parallel=False) == (1, 2, 3, 4, 5, 6)
    whisper = small.replace(vocab_size=51866)
    assert legal_tp_sizes(whisper, 6, expert_parallel=False) == (1, 2, 4)
    assert why_not_tp(whisper, 5, expert_parallel=False) == (
        "a vocabulary of 51904 is not divisible by 5"
    )


LAYER = 8 * 128 * 2 * 2.0  # keys and values of one token, in 16 bits


@pytest.mark.parametrize(
    ("checkpoint", "dtype", "tp", "expected"),
    [
        pytest.param(LLAMA, None, 1, 32 * LAYER, id="16-bit"),
        pytest.param(LLAMA, "fp8", 1, 32 * LAYER / 2, id="fp8"),
        pytest.param(LLAMA, None, 4, 32 * LAYER / 4, id="heads-shared-out"),
        pytest.param(LLAMA, None, 16, 32 * LAYER / 8, id="heads-repeated"),
        pytest.param(LATENT, None, 8, 61 * (512 + 64) * 2.0, id="latent-on-every-rank"),
        pytest.param(LLAMA.replace(full_layers=8), None, 1, 8 * LAYER, id="linear-attention"),
    ],
)
def test_kv_cache_of_one_token_on_one_rank(
    checkpoint: Checkpoint, dtype: str | None, tp: int, expected: float
) -> None:
    assert kv_cache(checkpoint, dtype, tp) == KvCache(per_token=expected)


@pytest.mark.parametrize("change", [{"layers": None}, {"kv_heads": None}, {"full_layers": 0}])
def test_a_kv_cache_of_which_nothing_is_known(change: dict[str, int | None]) -> None:
    assert kv_cache(LLAMA.replace(**change), None, 1) is None


def test_a_window_holds_its_tokens_and_those_of_one_batch() -> None:
    gemma = LLAMA.replace(full_layers=6, windowed_layers=26, window=1024)
    cache = kv_cache(gemma, None, 1)
    assert cache == KvCache(per_token=6 * LAYER, windowed=26 * LAYER, window=1024 + 8192)
    assert cache.taken(1000) == 32 * LAYER * 1000
    assert cache.taken(100_000) == LAYER * (6 * 100_000 + 26 * 9216)


@given(
    per_token=st.floats(1, 1e6), windowed=st.floats(0, 1e7), window=st.integers(0, 1 << 20),
    room=st.floats(-1e12, 1e12),
)  # fmt: skip
def test_the_longest_request_fits_and_none_that_is_longer(
    per_token: float, windowed: float, window: int, room: float
) -> None:
    cache = KvCache(per_token=per_token, windowed=windowed, window=window)
    tokens = cache.tokens(room)
    assert tokens == 0 or cache.taken(tokens) <= room * (1 + 1e-9)
    assert cache.taken(tokens + 2) > room
