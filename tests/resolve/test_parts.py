"""The whole of a deployment, in the order in which it is started."""

from __future__ import annotations

import sys

import pytest

from vllm_launch.catalog.library import bundled
from vllm_launch.model.choice import Pool, Pools, Request
from vllm_launch.model.source import Source, paired
from vllm_launch.resolve.parts import parts
from vllm_launch.resolve.placeholders import fill_part, meaning, meanings, unfilled
from vllm_launch.resolve.resolver import Resolver

OPERATOR = Source(layer="operator", detail="behind --")
CASES = {
    "two nodes": (
        {"hardware": "h200", "nodes": 2},
        [("head-0", 0, ()), ("worker-1", 1, ("head-0",))],
    ),
    "pools on one node": (
        {"hardware": "h200", "strategy": "pd_cluster"},
        [("prefill-0", 0, ()), ("decode-0", 0, ()), ("router", 0, ("prefill-0", "decode-0"))],
    ),
    "a pool of two nodes and one": (
        {
            "hardware": "h200",
            "strategy": "pd_cluster",
            "pools": Pools(
                prefill=Pool(nodes=2, parallelism="tp"), decode=Pool(nodes=1, parallelism="tp")
            ),
        },
        [
            ("prefill-0", 0, ()),
            ("prefill-1", 1, ("prefill-0",)),
            ("decode-0", 2, ()),
            ("router", 0, ("prefill-0", "decode-0")),
        ],
    ),
    "two instances of two nodes and their store": (
        {
            "hardware": "h200",
            "strategy": "multi_node_tp",
            "nodes": 2,
            "kv_offload": "kv_store_centralized_mooncake",
        },
        [
            ("master", 0, ()),
            ("store", 4, ("master",)),
            ("instance-1", 0, ("master", "store")),
            ("worker-1-1", 1, ("master", "store", "instance-1")),
            ("instance-2", 2, ("master", "store")),
            ("worker-2-1", 3, ("master", "store", "instance-2")),
            ("router", 0, ("instance-1", "instance-2")),
        ],
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
    resolver = Resolver(recipe, library)
    return resolver.resolve(resolver.choose(Request(**asked)))


@pytest.mark.parametrize(("asked", "expected"), CASES.values(), ids=CASES)
def test_parts_have_a_machine_and_what_runs_before_them(asked, expected):
    found = parts(deployment(**asked))
    assert [(part.name, part.node, part.after) for part in found] == expected


def test_a_placeholder_is_the_address_of_the_part_that_it_names():
    whole = deployment(hardware="h200", kv_offload="kv_store_centralized_mooncake")
    found = parts(whole)
    assert meaning("HEAD_IP", whole, found).part == "instance-1"
    assert meaning("VLLM_INSTANCE_2", whole, found).part == "instance-2"
    assert meaning("MOONCAKE_MASTER_IP", whole, found).part == "master"
    assert meaning("ROUTER_PORT", whole, found).default == "30080"
    assert meaning("MOONCAKE_CONFIG_PATH", whole, found).kind == "file"


def calls(do):
    """How many functions a call calls, however fast this machine is."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        do()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("strategy", ["multi_node_dep", "pd_cluster"])
def test_many_nodes_cost_no_more_each_than_few(strategy):
    def whole(nodes):
        pool = Pool(nodes=nodes // 2, parallelism="dep")
        if strategy == "pd_cluster":
            asked = {"pools": Pools(prefill=pool, decode=pool)}
        else:
            asked = {"nodes": nodes}
        made = deployment(hardware="h200", strategy=strategy, **asked)
        found = parts(made)
        names = {name for part in found for name in unfilled(part)}
        means = meanings(names, made, found)
        values = {name: "10.0.0.1" for name, each in means.items() if each.kind == "node"}
        assert len([fill_part(part, values) for part in found]) >= nodes

    whole(16)
    few, many = (calls(lambda n=n: whole(n)) / n for n in (16, 128))
    assert many < 1.5 * few


def test_an_address_of_ipv6_has_brackets_before_a_port():
    whole = deployment(hardware="h200", strategy="pd_cluster")
    router = fill_part(parts(whole)[-1], {"PREFILL_NODE_1": "fd00::1", "DECODE_NODE_1": "n2"})
    assert "http://[fd00::1]:8001" in router.argv
    assert "http://n2:8002" in router.argv


def test_what_the_operator_wrote_is_not_filled():
    arguments = paired((word, OPERATOR) for word in ("--x", "$HEAD_IP"))
    head = parts(deployment(hardware="h200", nodes=2, args=arguments))[0]
    assert "$HEAD_IP" in fill_part(head, {"HEAD_IP": "10.0.0.1"}).argv
    assert "IFACE_NAME" in unfilled(head)
