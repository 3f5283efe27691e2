"""Whether the GPUs of a plan hold one copy of the weights."""

from __future__ import annotations

import pytest

from tests.resolve.build import arguments, deploy, profile, recipe
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.model.choice import Pool, Pools, Request
from vllm_launch.resolve.footprint import shortfall
from vllm_launch.resolve.resolver import Resolver

NEEDED = "variant default needs 960 GB, and 4 GPUs of gb200 have 768 GB"


@pytest.mark.parametrize(("nodes", "told"), [(1, NEEDED), (2, None)], ids=["one tray", "two trays"])
def test_a_pool_on_several_nodes_has_the_memory_of_them_all(nodes: int, told: str | None) -> None:
    found = Shelf().find("deepseek-ai/DeepSeek-V4-Pro")
    resolver = Resolver(found.recipe, found.library)
    pool = Pool(nodes=nodes)
    pools = Pools(prefill=pool, decode=pool)
    request = Request(hardware="gb200", strategy="pd_cluster", pools=pools)
    assert shortfall(resolver.resolve(resolver.choose(request))) == told


@pytest.mark.parametrize(
    ("pools", "told"),
    [
        (None, "variant v needs 100 GB, and half a GPU of h200 has 70.5 GB"),
        (Pools(prefill=Pool(nodes=1), decode=Pool(nodes=1)), None),
    ],
    ids=["both on it", "one each"],
)
def test_two_pools_halve_the_only_gpu(pools: Pools | None, told: str | None) -> None:
    resolver = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 100}}")
    one = profile("h200").replace(gpu_count=1, vram_gb=141)
    choice = resolver.choose(Request(profile=one, variant="v", strategy="pd_cluster", pools=pools))
    assert shortfall(resolver.resolve(choice)) == told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param("--tensor-parallel-size 4 --pipeline-parallel-size 2", None, id="in stages"),
        pytest.param(
            "--tensor-parallel-size 1 --data-parallel-size 8 --enable-expert-parallel",
            None,
            id="experts among data-parallel ranks",
        ),
        pytest.param(
            "--tensor-parallel-size 4 --data-parallel-size 2 --enable-expert-parallel "
            "--no-enable-expert-parallel",
            "variant v needs 900 GB, and 4 GPUs of h200 have 564 GB",
            id="data-parallel ranks that hold all of the weights",
        ),
        pytest.param(
            "--tensor-parallel-size 4",
            "variant v needs 900 GB, and 4 GPUs of h200 have 564 GB",
            id="half of the node",
        ),
    ],
)
def test_flags_of_the_operators_own_count_as_they_share_the_weights(
    options: str, told: str | None
) -> None:
    resolver = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 900}}")
    given = arguments(*options.split())
    assert shortfall(deploy(resolver, args=given)) == told
