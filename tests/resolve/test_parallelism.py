"""Parallelism flags: the table of the format's documentation, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import arguments, deploy, flags, recipe, server
from vllm_launch.errors import UsageError

HEAD = "--master-addr $HEAD_IP"
EP = "--enable-expert-parallel"
DP = "--data-parallel-size"
DP_HEAD = "--data-parallel-address $HEAD_IP"


@pytest.mark.parametrize(
    ("strategy", "hardware", "common", "by_rank"),
    [
        ("single_node_tp", "h200", "--tensor-parallel-size 8", [""]),
        ("single_node_tep", "gb200", "--enable-expert-parallel --tensor-parallel-size 4", [""]),
        ("single_node_dep", "h200", "--enable-expert-parallel --data-parallel-size 8", [""]),
        (
            "multi_node_tp",
            "h200",
            "--tensor-parallel-size 24 --nnodes 3",
            [
                f"--node-rank 0 {HEAD}",
                f"--node-rank 1 {HEAD} --headless",
                f"--node-rank 2 {HEAD} --headless",
            ],
        ),
        (
            "multi_node_tep",
            "gb200",
            "--enable-expert-parallel --tensor-parallel-size 8 --nnodes 2",
            [f"--node-rank 0 {HEAD}", f"--node-rank 1 {HEAD} --headless"],
        ),
        (
            "multi_node_tp_pp",
            "h200",
            "--tensor-parallel-size 8 --pipeline-parallel-size 2 --nnodes 2",
            [f"--node-rank 0 {HEAD}", f"--node-rank 1 {HEAD} --headless"],
        ),
        (
            "multi_node_tp_dp",
            "h200",
            f"--tensor-parallel-size 8 {DP} 3 --data-parallel-size-local 1 {DP_HEAD}",
            ["", "--data-parallel-start-rank 1", "--data-parallel-start-rank 2"],
        ),
        (
            "multi_node_dep",
            "gb200",
            f"{EP} --data-parallel-hybrid-lb {DP} 12 --data-parallel-size-local 4 {DP_HEAD}",
            ["", "--data-parallel-start-rank 4", "--data-parallel-start-rank 8"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and "_node_" in value else "",
)
def test_each_strategys_flags_rank_by_rank(
    strategy: str, hardware: str, common: str, by_rank: list[str]
) -> None:
    several = strategy.startswith("multi_node")
    nodes = len(by_rank) if several else None
    deployment = deploy(recipe(), hardware=hardware, strategy=strategy, nodes=nodes)
    assert [flags(plan) for plan in deployment.processes] == [
        f"{common} {own}".split() for own in by_rank
    ]
    roles = ["head", *["worker"] * (len(by_rank) - 1)] if several else ["server"]
    assert [plan.role for plan in deployment.processes] == roles
    assert [plan.rank for plan in deployment.processes] == list(range(len(by_rank)))
    assert deployment.deploy_type == ("multi_node" if several else "single_node")
    assert deployment.router is None


LOCAL = "--data-parallel-size-local"


@pytest.mark.parametrize("written", [f"{LOCAL} 2", f"{LOCAL}=2"], ids=["two words", "one word"])
@pytest.mark.parametrize("strategy", ["multi_node_dep", "multi_node_tp_dp"])
@pytest.mark.parametrize(
    "place", ["strategy_overrides", "features", "preset", "operator", "nobody behind them"]
)
def test_a_followers_first_rank_is_counted_by_the_ranks_that_nodes_really_have(
    place: str, strategy: str, written: str
) -> None:
    words = written.split()
    preset = {"hardware": "h200", "strategy": strategy, "args": words}
    keys: dict[str, Any] = {
        "strategy_overrides": {"strategy_overrides": {strategy: {"extra_args": words}}},
        "features": {"features": {"hybrid": {"args": words}}},
        "preset": {"presets": {"tuned": preset}},
        "nobody behind them": {"model": {"model_id": "org/model", "base_args": words}},
    }
    request: dict[str, Any] = {"strategy": strategy, "nodes": 3}
    if place == "preset":
        request["preset"] = "tuned"
    if place == "operator":
        request["args"] = arguments(*words)
    each = deploy(recipe(keys.get(place, {})), **request).processes
    behind = 2 if place != "nobody behind them" else 8 if strategy == "multi_node_dep" else 1
    assert [plan.number(LOCAL) for plan in each] == [behind] * 3
    starts = [plan.number("--data-parallel-start-rank") for plan in each]
    assert starts == [None, behind, 2 * behind]


def test_the_operators_own_first_rank_wins() -> None:
    own = arguments(LOCAL, "2", "--data-parallel-start-rank", "5")
    _, follower = deploy(recipe(), strategy="multi_node_dep", nodes=2, args=own).processes
    assert follower.number("--data-parallel-start-rank") == 5


@pytest.mark.parametrize("strategy", ["multi_node_tp", "multi_node_tp_dp", "multi_node_dep"])
def test_nodes_are_told_the_interface_between_them(strategy: str) -> None:
    for plan in deploy(recipe(), strategy=strategy, nodes=2).processes:
        assert plan.env == {
            "GLOO_SOCKET_IFNAME": "$IFACE_NAME",
            "NCCL_SOCKET_IFNAME": "$IFACE_NAME",
        }


@pytest.mark.parametrize(
    ("keys", "hardware", "size"),
    [
        pytest.param({"tp": 2}, "h200", "2", id="the variant's"),
        pytest.param({"tp": 16}, "h200", "8", id="the variant's, up to the node's GPUs"),
        pytest.param({"tp": {"b200": 1, "blackwell": 2}}, "b200", "1", id="for the exact GPU"),
        pytest.param({"tp": {"nvidia": 1, "blackwell": 2}}, "b200", "2", id="for the generation"),
        pytest.param({"tp": {"nvidia": 1, "default": 2}}, "h200", "1", id="for the brand"),
        pytest.param({"tp": {"nvidia": 1, "default": 2}}, "mi355x", "2", id="the default"),
        pytest.param({"tp": {"b200": 2}}, "h200", "8", id="none for this: all GPUs"),
        pytest.param({"vram_minimum_gb": 141}, "h200", "1", id="one GPU that holds the weights"),
        pytest.param({"vram_minimum_gb": 142}, "h200", "8", id="all, where one does not"),
        pytest.param({"vram_minimum_gb": None}, "h200", "8", id="all, where nothing is said"),
        pytest.param({"vram_minimum_gb": 10, "tp": 4}, "h200", "4", id="said before computed"),
    ],
)
def test_the_size_of_single_node_tp(keys: dict[str, Any], hardware: str, size: str) -> None:
    variant = {key: value for key, value in keys.items() if value is not None}
    resolver = recipe({"variants": {"v": {"precision": "bf16", **variant}}})
    assert flags(server(resolver, hardware=hardware)) == ["--tensor-parallel-size", size]


class TestSingleNodeTp:
    RECIPE = """
        variants:
          plain: {precision: bf16, vram_minimum_gb: 10}
          sized: {precision: bf16, vram_minimum_gb: 10, tp: {h200: 2}}
        strategy_overrides:
          single_node_tp: {tp: {nvidia: 16, default: 4}}
    """

    @pytest.mark.parametrize(
        ("variant", "hardware", "size"),
        [
            pytest.param("sized", "h200", "2", id="the variant's first"),
            pytest.param("plain", "mi355x", "4", id="then the strategy override's"),
            pytest.param("sized", "mi355x", "4", id="where the variant's says nothing here"),
            pytest.param("plain", "h200", "8", id="up to the node's GPUs"),
        ],
    )
    def test_the_strategy_overrides_size_comes_second(
        self, variant: str, hardware: str, size: str
    ) -> None:
        plan = server(recipe(self.RECIPE), variant=variant, hardware=hardware)
        assert flags(plan) == ["--tensor-parallel-size", size]

    @pytest.mark.parametrize(
        ("strategy", "expected"),
        [
            ("single_node_tep", ["--enable-expert-parallel", "--tensor-parallel-size", "8"]),
            ("single_node_dep", ["--enable-expert-parallel", "--data-parallel-size", "8"]),
        ],
    )
    def test_other_layouts_take_all_gpus(self, strategy: str, expected: list[str]) -> None:
        plan = server(recipe(self.RECIPE), variant="sized", strategy=strategy)
        assert flags(plan) == expected

    @pytest.mark.parametrize(
        ("strategy", "nodes", "expected"),
        [
            ("single_node_tp", None, ["--tensor-parallel-size", "3"]),
            ("single_node_tep", None, ["--tensor-parallel-size", "3"]),
            ("multi_node_tp", 2, ["--tensor-parallel-size", "6", "--nnodes", "2"]),
            ("multi_node_tp_pp", 2, ["--tensor-parallel-size", "3", "--pipeline-parallel-size"]),
        ],
    )
    def test_the_operators_size_is_a_nodes(
        self, strategy: str, nodes: int | None, expected: list[str]
    ) -> None:
        plan = server(recipe(self.RECIPE), variant="sized", strategy=strategy, nodes=nodes, tp=3)
        at = plan.argv.index("--tensor-parallel-size")
        assert plan.argv[at : at + len(expected)] == expected


@pytest.mark.parametrize(
    ("variant", "hardware", "layer", "detail"),
    [
        pytest.param("tp: 2", "h200", "variants.v.tp", "TP 2", id="said"),
        pytest.param("tp: 16", "h200", "variants.v.tp", "TP 16, but h200 has 8", id="capped"),
        pytest.param(
            "vram_minimum_gb: 100",
            "h200",
            "variants.v.vram_minimum_gb",
            "100 GB fit one GPU",
            id="one GPU holds it",
        ),
        pytest.param(
            "label: x", "h200", "strategies.single_node_tp", "all 8 GPUs of a h200 node", id="all"
        ),
        pytest.param(
            "label: x",
            "rtx_5090",
            "strategies.single_node_tp",
            "the GPU of a rtx_5090 node",
            id="one",
        ),
    ],
)
def test_where_a_size_comes_from_is_told(
    variant: str, hardware: str, layer: str, detail: str
) -> None:
    resolver = recipe(
        f"{{meta: {{hardware: {{rtx_5090: verified}}}}, "
        f"variants: {{v: {{precision: bf16, {variant}}}}}}}"
    )
    ((_, _, source),) = server(resolver, hardware=hardware).arguments
    assert (source.layer, source.detail) == (layer, detail)
    file = "models/org/model" if layer.startswith("variants") else layer.replace(".", "/")
    assert source.file == f"recipes/{file}.yaml"
    assert source.line >= 1


def test_the_operators_size_is_the_operators() -> None:
    ((_, _, source),) = server(recipe(), tp=4).arguments
    assert (source.layer, source.detail) == ("operator", "--tp TP 4")


def test_a_strategy_without_known_flags_is_refused() -> None:
    # The name is one that the taxonomy allows; the layout is not one that is known here.
    resolver = recipe(
        "compatible_strategies: [multi_node_tp]",
        strategies={"multi_node_tp": "deploy_type: multi_node"},
    )
    strategy = resolver.strategy("multi_node_tp").replace(name="multi_node_ring")
    resolver.strategy = lambda _: strategy
    with pytest.raises(UsageError) as caught:
        deploy(resolver, nodes=2)
    assert caught.value.message == "the strategy 'multi_node_ring' has no known parallelism flags"
    assert caught.value.hint == (
        "known: single_node_tp, single_node_tep, single_node_dep, multi_node_tp, "
        "multi_node_tep, multi_node_tp_pp, multi_node_tp_dp, multi_node_dep, pd_cluster"
    )
