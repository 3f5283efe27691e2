"""Prefill and decode pools: modes, sizes, ranks, placement and the router before them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import M31, deploy, flags, own, recipe, told, variables
from vllm_launch.errors import NothingFits, UsageError
from vllm_launch.model.choice import Pool, Pools
from vllm_launch.model.deployment import Deployment
from vllm_launch.resolve.parts import parts
from vllm_launch.resolve.pools import NVLINK_DOMAIN_VARIABLES
from vllm_launch.resolve.proxy import proxy
from vllm_launch.resolve.resolver import Resolver

# A strategy that says nothing, so that the commands hold what the pools themselves add.
BARE: dict[str, Any] = {"pd_cluster": {"deploy_type": "pd_cluster", "prefill": {}, "decode": {}}}
SHARED = Pools(shared=True)


def bare(text: str = "") -> Resolver:
    return recipe(text, strategies=BARE)


def pd(resolver: Resolver, hardware: str = "h200", **request: Any) -> Deployment:
    return deploy(resolver, hardware=hardware, strategy="pd_cluster", **request)


def role(deployment: Deployment, name: str) -> list[list[str]]:
    """The arguments of each process of one role."""
    return [flags(plan) for plan in deployment.processes if plan.role == name]


def prefill(nodes: int | None = None, mode: str | None = None, *, rank: int | None = None) -> Pools:
    return Pools(prefill=Pool(nodes=nodes, rank=rank, parallelism=mode))


def dep(size: int, local: int, start: int, *, several: bool = False) -> list[str]:
    """A data-parallel rank's flags in the prefill pool."""
    return [
        "--data-parallel-size", str(size),
        "--data-parallel-size-local", str(local),
        "--data-parallel-start-rank", str(start),
        "--data-parallel-address", "$PREFILL_NODE_1",
        "--data-parallel-rpc-port", "$PREFILL_DP_RPC_PORT",
        *(["--data-parallel-hybrid-lb"] if several else []),
        "--enable-expert-parallel",
    ]  # fmt: skip


def joined(nodes: int, rank: int) -> list[str]:
    """How the nodes of a tensor-parallel prefill pool find each other."""
    follower = ["--headless"] if rank else []
    return [
        "--nnodes", str(nodes), "--node-rank", str(rank), "--master-addr", "$PREFILL_NODE_1",
        *follower,
    ]  # fmt: skip


TP, EP = "--tensor-parallel-size", "--enable-expert-parallel"


@pytest.mark.parametrize(
    ("pools", "expected"),
    [
        pytest.param(SHARED, [[TP, "4"]], id="tp, half of a shared node"),
        pytest.param(prefill(1, "tp"), [[TP, "8"]], id="tp, a node of its own"),
        pytest.param(
            prefill(2, "tp"),
            [[TP, "16", *joined(2, 0)], [TP, "16", *joined(2, 1)]],
            id="tp, two nodes",
        ),
        pytest.param(prefill(1, "tep"), [[TP, "8", EP]], id="tep, one node"),
        pytest.param(
            prefill(2, "tep"),
            [[TP, "16", EP, *joined(2, 0)], [TP, "16", EP, *joined(2, 1)]],
            id="tep, two nodes",
        ),
        pytest.param(prefill(1, "dep"), [dep(8, 8, 0)], id="dep, one node"),
        pytest.param(
            prefill(3, "dep"),
            [dep(24, 8, start, several=True) for start in (0, 8, 16)],
            id="dep, three nodes",
        ),
        pytest.param(
            prefill(3, "dep", rank=2), [dep(24, 8, 16, several=True)], id="dep, one rank of three"
        ),
        pytest.param(prefill(2, "tp", rank=1), [[TP, "16", *joined(2, 1)]], id="tp, one of two"),
        pytest.param(
            Pools(prefill=Pool(parallelism="dep"), shared=True), [dep(4, 4, 0)], id="dep, half"
        ),
    ],
)
def test_a_pools_parallelism_flags_rank_by_rank(pools: Pools, expected: list[list[str]]) -> None:
    assert role(pd(bare(), pools=pools), "prefill") == expected


def test_a_decode_pool_has_addresses_of_its_own() -> None:
    pools = Pools(decode=Pool(nodes=2, parallelism="dep"))
    (head, follower) = role(pd(bare(), pools=pools), "decode")
    text = " ".join(["--data-parallel-address $DECODE_NODE_1",
                     "--data-parallel-rpc-port $DECODE_DP_RPC_PORT"])  # fmt: skip
    assert text in " ".join(head)
    assert text in " ".join(follower)
    pools = Pools(decode=Pool(nodes=2, parallelism="tp"))
    assert "--master-addr $DECODE_NODE_1" in " ".join(role(pd(bare(), pools=pools), "decode")[1])


class TestMode:
    """The input's, else the recipe's, else the strategy's, else tp, as far as allowed."""

    @staticmethod
    def modes(deployment: Deployment) -> dict[str, str]:
        kinds = {
            (True, True): "dep",
            (False, True): "tep",
            (False, False): "tp",
        }
        return {
            plan.role: kinds["--data-parallel-size" in plan.argv, EP in plan.argv]
            for plan in deployment.processes
        }

    def test_tp_where_nothing_is_said(self) -> None:
        assert self.modes(pd(bare())) == {"prefill": "tp", "decode": "tp"}

    def test_the_strategys(self) -> None:
        strategy: dict[str, Any] = {
            "pd_cluster": {"deploy_type": "pd_cluster", "prefill": {"parallelism": "tep"},
                           "decode": {"parallelism": "dep"}}
        }  # fmt: skip
        assert self.modes(pd(recipe(strategies=strategy))) == {"prefill": "tep", "decode": "dep"}

    BY_HARDWARE = """
        strategy_overrides:
          pd_cluster:
            prefill: {parallelism: {h200: dep, hopper: tep, nvidia: tp}}
            decode: {parallelism: tep}
    """

    @pytest.mark.parametrize(
        ("hardware", "mode"), [("h200", "dep"), ("h100", "tep"), ("b200", "tp"), ("mi355x", "tp")]
    )
    def test_the_recipes_by_hardware(self, hardware: str, mode: str) -> None:
        deployment = pd(bare(self.BY_HARDWARE), hardware)
        assert self.modes(deployment) == {"prefill": mode, "decode": "tep"}

    def test_the_inputs_before_the_recipes(self) -> None:
        deployment = pd(bare(self.BY_HARDWARE), pools=prefill(None, "tp"))
        assert self.modes(deployment) == {"prefill": "tp", "decode": "tep"}

    @pytest.mark.parametrize(
        ("compatible", "pool_modes", "asked", "mode"),
        [
            pytest.param("single_node_tp, pd_cluster", None, "dep", "tp", id="only tp is offered"),
            pytest.param(
                "multi_node_tep, single_node_dep, pd_cluster", None, "tp", "tep", id="the first"
            ),
            pytest.param(
                "single_node_tp, single_node_dep, pd_cluster", ["dep"], "tp", "dep", id="pool_modes"
            ),
            pytest.param("multi_node_tp_pp, pd_cluster", None, "dep", "tp", id="tp_pp is tp"),
            pytest.param("multi_node_tp_dp, pd_cluster", None, "dep", "tp", id="tp_dp is tp"),
            pytest.param(
                "single_node_tp, pd_cluster", ["dep"], "dep", "tp", id="pool_modes that leave none"
            ),
            pytest.param("pd_cluster", None, "dep", "dep", id="no strategy says which"),
            pytest.param("pd_cluster", None, None, "tp", id="nobody says anything"),
        ],
    )
    def test_it_is_narrowed_to_what_the_recipe_allows(
        self, compatible: str, pool_modes: list[str] | None, asked: str | None, mode: str
    ) -> None:
        keys: dict[str, Any] = {"compatible_strategies": compatible.split(", ")}
        if pool_modes:
            keys["strategy_overrides"] = {"pd_cluster": {"pool_modes": pool_modes}}
        resolver = recipe(keys, strategies=BARE)
        assert self.modes(pd(resolver, pools=prefill(1, asked)))["prefill"] == mode


class TestSize:
    """How many nodes and GPUs a pool has."""

    RECIPE = """
        strategy_overrides:
          pd_cluster:
            prefill: {nodes: {h200: 2}, gpus: {h200: 4, default: 2}, parallelism: dep}
            decode: {gpus: 6, tp: {h200: 2, default: 3}, parallelism: dep}
    """

    def test_the_recipes_nodes_and_gpus(self) -> None:
        deployment = pd(bare(self.RECIPE))
        assert [plan.role for plan in deployment.processes] == ["prefill", "prefill", "decode"]
        assert role(deployment, "prefill")[1] == dep(8, 4, 4, several=True)

    def test_the_inputs_nodes_before_the_recipes(self) -> None:
        deployment = pd(bare(self.RECIPE), pools=prefill(1))
        assert role(deployment, "prefill") == [dep(4, 4, 0)]

    def test_a_data_parallel_ranks_tensor_parallelism(self) -> None:
        (decode,) = role(pd(bare(self.RECIPE)), "decode")
        assert decode[:6] == [
            TP, "2", "--data-parallel-size", "3", "--data-parallel-size-local", "3",
        ]  # fmt: skip

    def test_it_counts_for_data_parallelism_only(self) -> None:
        pools = Pools(decode=Pool(nodes=1, parallelism="tp"))
        assert role(pd(bare(self.RECIPE), pools=pools), "decode") == [[TP, "6"]]

    def test_pools_that_nobody_sized_share_a_node(self) -> None:
        assert [flags(plan) for plan in pd(bare()).processes] == [[TP, "4"], [TP, "4"]]
        assert pd(bare()) == pd(bare(), pools=None)

    def test_pools_that_the_recipe_sizes_have_nodes_of_their_own(self) -> None:
        resolver = bare("strategy_overrides: {pd_cluster: {decode: {nodes: {hopper: 1}}}}")
        assert [flags(plan) for plan in pd(resolver).processes] == [[TP, "8"], [TP, "8"]]
        assert [flags(plan) for plan in pd(resolver, "b200").processes] == [[TP, "4"], [TP, "4"]]

    def test_both_on_one_node_though_the_recipe_sizes_them(self) -> None:
        processes = pd(own(M31), "mi355x", pools=SHARED).processes
        assert [plan.env["CUDA_VISIBLE_DEVICES"] for plan in processes] == ["0,1,2,3", "4,5,6,7"]

    @pytest.mark.parametrize("mode", ["tp", "dep"])
    def test_a_share_narrowed_by_the_recipe_never_overlaps_the_other(self, mode: str) -> None:
        resolver = bare("strategy_overrides: {pd_cluster: {decode: {gpus: 2}}}")
        pools = Pools(decode=Pool(parallelism=mode), shared=True)
        first, second = pd(resolver, pools=pools).processes
        assert first.env["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
        assert second.env["CUDA_VISIBLE_DEVICES"] == "4,5"

    @pytest.mark.parametrize(
        ("pools", "message"),
        [
            pytest.param(
                Pools(),
                "the decode pool has 6 GPUs a node (gb300), which TP 4 does not divide",
                id="own nodes",
            ),
            pytest.param(
                SHARED,
                "the decode pool has 3 GPUs a node (half of gb300), which TP 4 does not divide",
                id="a shared one",
            ),
        ],
    )
    def test_gpus_that_tensor_parallelism_does_not_divide(self, pools: Pools, message: str) -> None:
        resolver = bare(
            "strategy_overrides: {pd_cluster: {decode: {tp: 4, gpus: 6, parallelism: dep}}}"
        )
        hardware = resolver.taxonomy.hardware_profiles["gb300"].replace(gpu_count=6, vram_gb=1728)
        with pytest.raises(NothingFits) as caught:
            deploy(resolver, profile=hardware, strategy="pd_cluster", pools=pools)
        assert told(caught.value) == (
            "nothing_fits",
            message,
            "give each pool a node of its own, or plan for hardware with more GPUs",
        )


def test_where_a_pools_flags_come_from_is_told() -> None:
    plan = pd(recipe(), pools=prefill(2, "dep")).processes[1]
    source = next(source for flag, _, source in plan.arguments if flag.startswith("--data-par"))
    assert source.layer == "strategies.pd_cluster.prefill"
    assert source.file == "recipes/strategies/pd_cluster.yaml"
    assert source.line > 1
    assert source.detail == "dep pool, 2 × 8 GPUs"


class TestPlacement:
    """Which GPUs a pool sees, and what its nodes are told of each other."""

    @pytest.mark.parametrize(
        ("hardware", "pools", "first", "second"),
        [
            pytest.param("h200", SHARED, "0,1,2,3", "4,5,6,7", id="a half each"),
            pytest.param("gb200", SHARED, "0,1", "2,3", id="a half each of four"),
            pytest.param("h200", Pools(), "0,1,2,3,4,5,6,7", "0,1,2,3,4,5,6,7", id="all of each"),
            pytest.param("dgx_spark_gb10", SHARED, None, None, id="the only GPU for both"),
            pytest.param("dgx_spark_gb10", Pools(), "0", "0", id="the only GPU of each"),
        ],
    )
    def test_visible_devices(
        self, hardware: str, pools: Pools, first: str | None, second: str | None
    ) -> None:
        resolver = bare("meta: {hardware: {dgx_spark_gb10: verified}}")
        plans = pd(resolver, hardware, pools=pools).processes
        assert [plan.env.get("CUDA_VISIBLE_DEVICES") for plan in plans] == [first, second]

    @pytest.mark.parametrize("mode", ["tp", "tep", "dep"])
    def test_several_nodes_are_told_the_interface(self, mode: str) -> None:
        deployment = pd(bare(), pools=prefill(2, mode))
        interfaces = {"GLOO_SOCKET_IFNAME": "$IFACE_NAME", "NCCL_SOCKET_IFNAME": "$IFACE_NAME"}
        for plan in deployment.processes:
            devices = {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}
            assert plan.env == (devices | interfaces if plan.role == "prefill" else devices)

    NAMED: dict[str, Any] = {  # noqa: RUF012 - read, never changed
        "pd_cluster": {
            "deploy_type": "pd_cluster",
            "prefill": {"env": {"HOST": "$PREFILL_NODE_1", "URL": "http://$PREFILL_NODE_1:1"}},
            "decode": {"env": {"HOST": "$DECODE_NODE_1", "PEER": "$PREFILL_NODE_1"}},
        }
    }

    @pytest.mark.parametrize(
        ("mode", "hosts"),
        [
            ("dep", ["$PREFILL_NODE_1", "$PREFILL_NODE_2", "$PREFILL_NODE_3"]),
            ("tp", ["$PREFILL_NODE_1"] * 3),
            ("tep", ["$PREFILL_NODE_1"] * 3),
        ],
    )
    def test_a_data_parallel_follower_names_itself(self, mode: str, hosts: list[str]) -> None:
        deployment = pd(recipe(strategies=self.NAMED), pools=prefill(3, mode))
        plans = [plan for plan in deployment.processes if plan.role == "prefill"]
        assert [plan.env["HOST"] for plan in plans] == hosts
        assert {plan.env["URL"] for plan in plans} == {"http://$PREFILL_NODE_1:1"}

    def test_but_the_other_pool_as_it_is(self) -> None:
        pools = Pools(decode=Pool(nodes=2, parallelism="dep"))
        *_, follower = pd(recipe(strategies=self.NAMED), pools=pools).processes
        assert follower.env["HOST"] == "$DECODE_NODE_2"
        assert follower.env["PEER"] == "$PREFILL_NODE_1"


class TestNvlinkDomainVariables:
    """Five variables that only mean something inside an NVLink domain of several trays."""

    ALL = dict.fromkeys(NVLINK_DOMAIN_VARIABLES, "1")

    def setters(self) -> Resolver:
        names = list(self.ALL)
        return recipe(
            {
                "model": {"model_id": "org/model", "base_env": {names[0]: "1", "KEPT": "1"}},
                "hardware_overrides": {
                    "nvidia": {"extra_env": {names[1]: "1"}},
                    "amd": {"extra_env": {names[1]: "1"}},
                },
                "strategy_overrides": {"pd_cluster": {"prefill": {"env": {names[2]: "1"}}}},
                "features": {"f": {"env": {names[3]: "1"}}},
            },
            strategies=BARE,
        )

    @pytest.mark.parametrize("hardware", ["h200", "b200", "b300", "mi355x"])
    def test_they_are_dropped_whoever_set_them(self, hardware: str) -> None:
        own_ones = variables(**{NVLINK_DOMAIN_VARIABLES[4]: "1", "MINE": "1"})
        for plan in pd(self.setters(), hardware, env=own_ones).processes:
            assert not plan.env.keys() & self.ALL.keys()
            assert plan.env.keys() >= {"KEPT", "MINE"}

    @pytest.mark.parametrize("hardware", ["gb200", "gb300"])
    def test_they_stay_where_there_is_such_a_domain(self, hardware: str) -> None:
        own_ones = variables(**{NVLINK_DOMAIN_VARIABLES[4]: "1"})
        prefill_plan = pd(self.setters(), hardware, env=own_ones).processes[0]
        assert prefill_plan.env.keys() >= self.ALL.keys()

    def test_they_stay_under_other_strategies(self) -> None:
        (server,) = deploy(self.setters(), env=variables(**self.ALL)).processes
        assert server.env.keys() >= self.ALL.keys()

    def test_they_are_these_five(self) -> None:
        assert NVLINK_DOMAIN_VARIABLES == (
            "VLLM_USE_NCCL_SYMM_MEM",
            "NCCL_CUMEM_ENABLE",
            "NCCL_MNNVL_ENABLE",
            "NCCL_NVLS_ENABLE",
            "UCX_NET_DEVICES",
        )


class TestRouter:
    @staticmethod
    def lines(deployment: Deployment) -> list[str]:
        assert deployment.router is not None
        return deployment.router.split(" \\\n    ")

    def test_the_whole_command(self) -> None:
        assert pd(recipe(), pools=SHARED).router == (
            "vllm-router --policy round_robin \\\n"
            "    --vllm-pd-disaggregation \\\n"
            "    --prefill http://$PREFILL_NODE_1:8001 \\\n"
            "    --decode http://$DECODE_NODE_1:8002 \\\n"
            "    --host $ROUTER_HOST \\\n"
            "    --port $ROUTER_PORT \\\n"
            "    --intra-node-data-parallel-size 1"
        )

    @pytest.mark.parametrize(
        ("pools", "backends", "size"),
        [
            pytest.param(
                Pools(
                    prefill=Pool(nodes=2, parallelism="dep"), decode=Pool(nodes=2, parallelism="tp")
                ),
                ["--prefill http://$PREFILL_NODE_1:8001", "--prefill http://$PREFILL_NODE_2:8001",
                 "--decode http://$DECODE_NODE_1:8002"],
                "8",
                id="each node of a dep pool, the first of another",
            ),
            pytest.param(
                Pools(
                    prefill=Pool(nodes=2, rank=1, parallelism="dep"),
                    decode=Pool(nodes=1, parallelism="dep"),
                ),
                ["--prefill http://$PREFILL_NODE_1:8001", "--prefill http://$PREFILL_NODE_2:8001",
                 "--decode http://$DECODE_NODE_1:8002"],
                "8",
                id="every node though one is planned",
            ),
            pytest.param(
                Pools(prefill=Pool(nodes=3, parallelism="tep"), decode=Pool(nodes=1)),
                ["--prefill http://$PREFILL_NODE_1:8001", "--decode http://$DECODE_NODE_1:8002"],
                "1",
                id="no dep pool",
            ),
        ],
    )  # fmt: skip
    def test_backends_and_ranks(self, pools: Pools, backends: list[str], size: str) -> None:
        lines = self.lines(pd(recipe(), pools=pools))
        assert [line for line in lines if "http://" in line] == backends
        assert lines[-1] == f"--intra-node-data-parallel-size {size}"

    def test_the_larger_number_of_local_ranks(self) -> None:
        resolver = bare(
            """
            strategy_overrides:
              pd_cluster:
                prefill: {parallelism: dep, tp: 4}
                decode: {parallelism: dep, gpus: 6, tp: 1}
            """
        )
        lines = self.lines(pd(resolver, pools=Pools()))
        assert lines[-1] == "--intra-node-data-parallel-size 6"

    def test_a_recipes_own_ports_policy_and_size(self) -> None:
        resolver = recipe(
            """
            strategy_overrides:
              pd_cluster:
                prefill: {vllm_args: [--port, "9100"]}
                router: {policy: power_of_two, intra_node_data_parallel_size: 3}
            """
        )
        lines = self.lines(pd(resolver))
        assert lines[0] == "vllm-router --policy power_of_two"
        assert lines[2:4] == [
            "--prefill http://$PREFILL_NODE_1:9100",
            "--decode http://$DECODE_NODE_1:8002",
        ]
        assert lines[-1] == "--intra-node-data-parallel-size 3"

    def test_the_pools_own_scheme(self) -> None:
        resolver = recipe(
            """
            strategy_overrides:
              pd_cluster:
                decode: {vllm_args: [--ssl-certfile, /c.pem]}
            """
        )
        deployment = pd(resolver)
        assert self.lines(deployment)[2:4] == [
            "--prefill http://$PREFILL_NODE_1:8001",
            "--decode https://$DECODE_NODE_1:8002",
        ]
        with pytest.raises(UsageError) as caught:
            proxy(deployment, parts(deployment), 8000)
        assert told(caught.value)[1:] == (
            "the toy proxy asks over http:// alone, and the servers answer over TLS",
            "leave --ssl-certfile and --ssl-keyfile out, or use the router",
        )

    def test_ports_where_no_layer_names_any(self) -> None:
        lines = self.lines(pd(bare()))
        assert lines[2:4] == [
            "--prefill http://$PREFILL_NODE_1:8001",
            "--decode http://$DECODE_NODE_1:8002",
        ]
