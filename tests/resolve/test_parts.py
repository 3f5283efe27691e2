"""The whole of a deployment, in the order in which it is started."""

from __future__ import annotations

import pytest

from vllm_launch.catalog.library import bundled
from vllm_launch.model.choice import Request
from vllm_launch.resolve.parts import meaning, parts
from vllm_launch.resolve.resolver import Resolver

CASES = {
    "two nodes": (
        {"hardware": "h200", "nodes": 2},
        [("head-0", 0, ()), ("worker-1", 1, ("head-0",))],
    ),
    "pools on one node": (
        {"hardware": "h200", "strategy": "pd_cluster"},
        [("prefill-0", 0, ()), ("decode-0", 0, ()), ("router", 0, ("prefill-0", "decode-0"))],
    ),
    "two instances and their store": (
        {"hardware": "h200", "kv_offload": "kv_store_centralized_mooncake"},
        [
            ("master", 0, ()),
            ("store", 2, ("master",)),
            ("instance-1", 0, ("master", "store")),
            ("instance-2", 1, ("master", "store")),
            ("router", 0, ("instance-1", "instance-2")),
        ],
    ),
}


def deployment(**asked):
    library = bundled()
    recipe = library.recipe("MiniMaxAI/MiniMax-M3")
    resolver = Resolver(recipe, library.taxonomy, library.strategy, library.kv_store)
    return resolver.resolve(resolver.choose(Request(**asked)))


@pytest.mark.parametrize(("asked", "expected"), CASES.values(), ids=CASES)
def test_parts_have_a_machine_and_what_runs_before_them(asked, expected):
    found = parts(deployment(**asked))
    assert [(part.name, part.node, part.after) for part in found] == expected


def test_a_placeholder_is_the_address_of_the_part_that_it_names():
    whole = deployment(hardware="h200", kv_offload="kv_store_centralized_mooncake")
    found = parts(whole)
    assert meaning("VLLM_INSTANCE_2", whole, found).part == "instance-2"
    assert meaning("MOONCAKE_MASTER_IP", whole, found).part == "master"
    assert meaning("ROUTER_PORT", whole, found).default == "30080"
    assert meaning("MOONCAKE_CONFIG_PATH", whole, found).kind == "file"
