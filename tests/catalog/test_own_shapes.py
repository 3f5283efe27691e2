"""No layout that a recipe offers cuts its model where the model cannot be cut.

The shapes are those of each checkpoint's config.json, written down here: nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.catalog.test_own_recipes import RECIPES, combinations
from vllm_launch.catalog.library import Library, bundled
from vllm_launch.errors import NothingFits
from vllm_launch.model.checkpoint import Checkpoint
from vllm_launch.model.choice import Request
from vllm_launch.model.deployment import Deployment
from vllm_launch.resolve.footprint import shortfall
from vllm_launch.resolve.resolver import Resolver
from vllm_launch.resolve.shapes import why_not_tp

# Attention heads, and KV heads where they are not one latent for all.
HEADS: dict[str, tuple[int, int | None]] = {
    "MiniMaxAI/MiniMax-M2.7": (48, 8),
    "MiniMaxAI/MiniMax-M3": (64, 4),
    "Qwen/Qwen3-8B": (32, 8),
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": (96, 8),
    "Qwen/Qwen3-VL-235B-A22B-Instruct": (64, 4),
    "Qwen/Qwen3.5-397B-A17B": (32, 2),
    "Qwen/Qwen3.6-27B": (24, 4),
    "Qwen/Qwen3.6-35B-A3B": (16, 2),
    "deepseek-ai/DeepSeek-R1": (128, None),
    "deepseek-ai/DeepSeek-V3.2": (128, None),
    "google/gemma-4-31B-it": (32, 16),
    "meta-llama/Llama-3.1-8B-Instruct": (32, 8),
    "meta-llama/Llama-3.3-70B-Instruct": (64, 8),
    "mistralai/Mistral-Large-3-675B-Instruct-2512": (128, None),
    "moonshotai/Kimi-K2.6": (64, None),
    "moonshotai/Kimi-K3": (96, None),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16": (32, 2),
    "openai/gpt-oss-120b": (64, 8),
    "openai/gpt-oss-20b": (64, 8),
    "openai/whisper-large-v3": (20, 20),
    "zai-org/GLM-4.7": (96, 8),
    "zai-org/GLM-5.2": (64, None),
}

# What else is shared out evenly: the heads of linear attention, the groups of Mamba layers.
OTHERS: dict[str, tuple[int, ...]] = {
    "Qwen/Qwen3.5-397B-A17B": (16, 64),
    "Qwen/Qwen3.6-27B": (16, 48),
    "Qwen/Qwen3.6-35B-A3B": (16, 32),
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16": (8, 128),
}

# Widths in checkpoints that are quantised in blocks of 128: of what TP always cuts (a shared
# expert, a dense layer), and of the experts, which expert parallelism leaves whole.
BLOCKS: dict[tuple[str, str], tuple[tuple[int, ...], tuple[int, ...]]] = {
    ("MiniMaxAI/MiniMax-M2.7", "default"): ((), (1536,)),
    ("Qwen/Qwen3-8B", "fp8"): ((12288,), ()),
    ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "fp8"): ((), (2560,)),
    ("Qwen/Qwen3-VL-235B-A22B-Instruct", "fp8"): ((), (1536,)),
    ("Qwen/Qwen3.5-397B-A17B", "fp8"): ((1024,), (1024,)),
    ("Qwen/Qwen3.6-27B", "fp8"): ((17408,), ()),
    ("Qwen/Qwen3.6-35B-A3B", "fp8"): ((512,), (512,)),
    ("deepseek-ai/DeepSeek-R1", "default"): ((18432, 2048), (2048,)),
    ("deepseek-ai/DeepSeek-R1", "r1_0528"): ((18432, 2048), (2048,)),
    ("deepseek-ai/DeepSeek-V3.2", "default"): ((18432, 2048), (2048,)),
    ("moonshotai/Kimi-K2.6", "fp8"): ((18432, 2048), (2048,)),
    ("zai-org/GLM-5.2", "default"): ((12288, 2048), (2048,)),
}


# Its commands are the public ones, word for word; a plan that is too small says so.
AS_PUBLISHED = "MiniMaxAI/MiniMax-M3"


@pytest.fixture(scope="module")
def library() -> Library:
    return bundled()


def shapes(recipe_id: str, variant: str) -> Iterator[Checkpoint]:
    heads, kv_heads = HEADS[recipe_id]
    yield Checkpoint(
        path=recipe_id,
        attention_heads=heads,
        kv_heads=kv_heads,
        split_dims=OTHERS.get(recipe_id, ()),
    )
    always, experts = BLOCKS.get((recipe_id, variant), ((), ()))
    yield Checkpoint(path=recipe_id, split_dims=always, expert_dims=experts, block_size=128)


def layouts(library: Library, recipe_id: str) -> Iterator[tuple[str, Deployment]]:
    """Every variant on its hardware under each strategy that is offered there."""
    resolver = Resolver(library.recipe(recipe_id), library)
    for own, variant, hardware in combinations(library):
        for strategy in resolver.chooser.offered(library.taxonomy.hardware_profiles[hardware]):
            if own != recipe_id:
                continue
            nodes = 2 if strategy.startswith("multi_node") else None
            request = Request(variant=variant, hardware=hardware, strategy=strategy, nodes=nodes)
            try:
                made = resolver.resolve(resolver.choose(request))
            except NothingFits:
                continue
            yield f"{variant}-{hardware}-{strategy}", made


@pytest.mark.parametrize("recipe_id", HEADS)
def test_every_layout_cuts_the_model_evenly(library: Library, recipe_id: str) -> None:
    wrong, sizes = set(), set()
    for name, made in layouts(library, recipe_id):
        for process in made.processes:
            size = process.number("--tensor-parallel-size") or 1
            sizes.add(size)
            whole = "--enable-expert-parallel" in process.argv
            for shape in shapes(recipe_id, made.choice.variant):
                if reason := why_not_tp(shape, size, expert_parallel=whole):
                    wrong.add((name, size, reason))
    assert wrong == set()
    assert sizes


def test_the_shapes_are_of_recipes_and_variants_that_there_are(library: Library) -> None:
    assert {*HEADS, *OTHERS} <= set(RECIPES)
    for recipe_id, variant in BLOCKS:
        assert variant in library.recipe(recipe_id).variants


@pytest.mark.parametrize("recipe_id", [each for each in RECIPES if each != AS_PUBLISHED])
def test_pools_hold_the_weights_where_the_model_was_seen_to_run(
    library: Library, recipe_id: str
) -> None:
    """Nobody says how large the pools shall be: then they are large enough."""
    recipe = library.recipe(recipe_id)
    resolver = Resolver(recipe, library)
    for hardware, support in recipe.meta.hardware.items():
        profile = library.taxonomy.hardware_profiles[hardware]
        if support == "unsupported" or "pd_cluster" not in resolver.chooser.offered(profile):
            continue
        made = resolver.resolve(resolver.choose(Request(hardware=hardware, strategy="pd_cluster")))
        assert shortfall(made) is None, hardware
