"""Whether the GPUs of a plan hold one copy of the weights."""

from __future__ import annotations

import pytest

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
