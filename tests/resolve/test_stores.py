"""Shared KV stores, and KV offload options that run something beside the server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import M3, deploy, flags, library, own, recipe
from vllm_launch.model.deployment import Deployment

CENTRAL, DISTRIBUTED = "kv_store_centralized_mooncake", "kv_store_distributed_mooncake"
STORES = [CENTRAL, DISTRIBUTED]
CONNECTOR = [
    "--kv-transfer-config",
    '{"kv_connector":"MooncakeStoreConnector","kv_role":"kv_both"}',
]


def with_store(store: str, **request: Any) -> Deployment:
    return deploy(recipe(), kv_offload=store, **request)


@pytest.mark.parametrize("store", STORES)
class TestBehindARouter:
    def test_one_instance_needs_none(self, store: str) -> None:
        deployment = with_store(store, instances=1)
        assert deployment.deploy_type == "kv_store_lb"
        assert deployment.router is None
        assert deployment.store is not None
        assert deployment.store.instances == 1
        assert [plan.role for plan in deployment.processes] == ["instance"]

    def test_a_store_says_how_many_share_it_where_nobody_else_does(self, store: str) -> None:
        plan = with_store(store).store
        assert plan is not None
        assert plan.instances == {"kv_store_centralized_mooncake": 2}.get(store, 1)

    def test_several_instances_have_one(self, store: str) -> None:
        deployment = with_store(store, instances=3)
        assert deployment.store is not None
        assert deployment.store.instances == 3
        # One instance's commands are given: they are all alike.
        assert [plan.role for plan in deployment.processes] == ["instance"]
        assert deployment.router == (
            "vllm-router --policy cache_aware \\\n"
            "    --backend-url http://$VLLM_INSTANCE_1:8000 \\\n"
            "    --backend-url http://$VLLM_INSTANCE_2:8000 \\\n"
            "    --backend-url http://$VLLM_INSTANCE_3:8000 \\\n"
            "    --host $ROUTER_HOST \\\n"
            "    --port $ROUTER_PORT \\\n"
            "    --cache-threshold 0.5 \\\n"
            "    --balance-abs-threshold 4 \\\n"
            "    --balance-rel-threshold 1.1"
        )

    @pytest.mark.parametrize(("instances", "head"), [(1, "$HEAD_IP"), (2, "$VLLM_INSTANCE_1")])
    @pytest.mark.parametrize(
        ("strategy", "flag"),
        [("multi_node_tp", "--master-addr"), ("multi_node_dep", "--data-parallel-address")],
    )
    def test_nodes_of_an_instance_find_its_head(
        self, store: str, strategy: str, flag: str, instances: int, head: str
    ) -> None:
        deployment = with_store(store, strategy=strategy, nodes=2, instances=instances)
        assert [plan.role for plan in deployment.processes] == ["instance", "worker"]
        assert [plan.value(flag) for plan in deployment.processes] == [head, head]
        assert deployment.deploy_type == "kv_store_lb"

    @pytest.mark.parametrize("strategy", ["single_node_tp", "multi_node_tp"])
    def test_instances_use_the_store(self, store: str, strategy: str) -> None:
        for plan in with_store(store, strategy=strategy).processes:
            assert flags(plan)[-2:] == CONNECTOR
            assert plan.env["MOONCAKE_CONFIG_PATH"] == "$MOONCAKE_CONFIG_PATH"
            assert plan.env["PYTHONHASHSEED"] == "0"

    def test_under_pd_cluster_the_deployment_stays_its(self, store: str) -> None:
        deployment = with_store(store, strategy="pd_cluster")
        assert deployment.deploy_type == "pd_cluster"
        assert [plan.role for plan in deployment.processes] == ["prefill", "decode"]
        assert deployment.router is not None
        assert "--vllm-pd-disaggregation" in deployment.router
        assert deployment.store is not None
        for plan, role in zip(deployment.processes, ("producer", "consumer"), strict=True):
            config = plan.value("--kv-transfer-config") or ""
            assert config.startswith('{"kv_connector":"MultiConnector"')
            assert f'"NixlConnector","kv_role":"kv_{role}"' in config
            assert "MooncakeStoreConnector" in config
            assert plan.env["MOONCAKE_CONFIG_PATH"] == "$MOONCAKE_CONFIG_PATH"

    def test_its_files_and_processes_are_those_of_its_own_file(self, store: str) -> None:
        plan, file = with_store(store).store, library().kv_store(store)
        assert plan is not None
        assert file.mooncake_vllm_config is not None
        assert file.mooncake_master is not None
        assert plan.mooncake_config == file.mooncake_vllm_config.template
        assert plan.master == file.mooncake_master.command


def test_only_the_centralized_store_has_a_service() -> None:
    central, distributed = (with_store(store).store for store in STORES)
    assert central is not None
    assert distributed is not None
    assert central.store_config["mode"] == "standalone-store"
    assert central.store_command == (
        "python3 -m mooncake.mooncake_store_service --config $MOONCAKE_STORE_CONFIG_PATH"
    )
    assert distributed.store_config is None
    assert distributed.store_command is None


def test_a_stores_own_port_is_the_routers() -> None:
    store = {"vllm": {"port": 9000}, "router": {"policy": "random"}}
    deployment = deploy(recipe(stores={"mine": store}), kv_offload="mine", instances=2)
    assert deployment.router is not None
    assert deployment.router.startswith(
        "vllm-router --policy random \\\n    --backend-url http://$VLLM_INSTANCE_1:9000 \\\n"
    )
    assert deployment.store is not None
    assert deployment.store.master is None
    assert deployment.store.mooncake_config is None


class TestOffload:
    @pytest.mark.parametrize("strategy", ["single_node_tp", "single_node_dep"])
    def test_a_companion_runs_beside_the_server(self, strategy: str) -> None:
        deployment = deploy(own(M3), hardware="h200", strategy=strategy, kv_offload="lmcache")
        (companion,) = deployment.companions
        assert companion.label == "LMCache Server"
        assert "lmcache server \\\n" in companion.command
        assert not companion.command.endswith("\n")
        assert "LMCacheMPConnector" in (deployment.processes[0].value("--kv-transfer-config") or "")

    def test_others_have_none(self) -> None:
        deployment = deploy(own(M3), hardware="h200", kv_offload="simple")
        assert deployment.companions == ()
        assert deployment.store is None
        assert deployment.deploy_type == "single_node"

    def test_off_is_none(self) -> None:
        off = deploy(own(M3), hardware="h200", kv_offload="off")
        assert off.choice.kv_offload is None
        assert off.processes == deploy(own(M3), hardware="h200").processes
