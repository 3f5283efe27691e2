"""Ports, names, interfaces, RDMA: what nodes need to find each other."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.preflight.build import (
    NIXL,
    Case,
    connector,
    only,
    process,
    situation,
    told,
    transfer,
    unread,
)
from vllm_launch.model.deployment import KvStorePlan
from vllm_launch.model.system import Interface, Name, Port
from vllm_launch.preflight import wanted
from vllm_launch.preflight.ports import planned

HEAD = "-tp 16 --nnodes 2 --node-rank 0 --master-addr head"
FOLLOWER = "-tp 16 --nnodes 2 --node-rank 1 --master-addr head --headless"
LMCACHE = transfer(**connector("LMCacheMPConnector", **{"lmcache.mp.port": 5555}))
EVENTS = ["--kv-events-config", '{"enable_kv_cache_events":true,"endpoint":"tcp://*:5557"}']
HALVES = ("0,1,2,3", "4,5,6,7")
SIDE = {"VLLM_NIXL_SIDE_CHANNEL_PORT": "5557", "VLLM_NIXL_SIDE_CHANNEL_HOST": "10.0.0.1"}
MNNVL = {"NCCL_MNNVL_ENABLE": "1"}


def prefill(
    command: str = f"--port 8001 {NIXL}", *, shared: bool = False, **env: str
) -> dict[str, Any]:
    """A prefill process; beside its decode pool on one node, where it is shared."""
    mask = {"CUDA_VISIBLE_DEVICES": HALVES[0]} if shared else {}
    their_mask = {"CUDA_VISIBLE_DEVICES": HALVES[1]} if shared else {}
    decode = process(
        "--port 8002 -tp 4 " + transfer(**connector("NixlConnector", "kv_consumer")),
        {**SIDE, "VLLM_NIXL_SIDE_CHANNEL_PORT": "5558", **their_mask},
        role="decode",
    )
    return {
        "command": f"-tp 4 {command}",
        "env": {**SIDE, **mask, **env},
        "role": "prefill",
        "deploy_type": "pd_cluster",
        "others": [decode],
    }


def taken(port: int, **fields: str) -> tuple[Port, ...]:
    return (Port(port=port, taken=True, **fields),)


def head(**fields: object) -> tuple[Name, ...]:
    return (Name(name="head", **fields),)  # type: ignore[arg-type]


LOOPBACK = Name(name="node", addresses=("127.0.1.1",), loopback=True, here=True)
DOWN = (Interface(name="lo", up=True), Interface(name="eth0", up=False))

APART = (("head 0", 0, "10.0.0.1"), ("worker 1", 1, "10.0.0.2"))
SAME = (("prefill 0", 0, "10.0.0.1"), ("decode 0", 1, "10.0.0.1"))
CASES = [
    Case("PORT_BUSY", "pass", "free", situation("--port 8100"), []),
    Case("PORT_BUSY", "pass", "no port at all", situation("--uds /run/vllm.sock"), None),
    Case(
        "PORT_BUSY",
        "found",
        "taken",
        situation("--port 8100", ports=taken(8100, holder="nginx (17)")),
        ["fail: port 8100 (HTTP) is taken by nginx (17)"],
    ),
    Case(
        "PORT_BUSY",
        "found",
        "the default",
        situation("", ports=taken(8000)),
        ["fail: port 8000 (HTTP) is taken"],
    ),
    Case(
        "PORT_BUSY",
        "found",
        "not to be bound",
        situation(
            "--host 10.9.9.9",
            ports=(
                Port(
                    port=8000,
                    address="10.9.9.9",
                    taken=True,
                    reason="Cannot assign requested address",
                ),
            ),
        ),
        ["fail: port 8000 (HTTP) cannot be bound: Cannot assign requested address"],
    ),
    Case(
        "PORT_BUSY",
        "found",
        "the side channel",
        situation(**prefill(), ports=taken(5557)),
        ["fail: port 5557 (NIXL side channel) is taken"],
    ),
    Case(
        "PORT_BUSY",
        "found",
        "the side channel of a container in the machine's network",
        situation(**prefill(), ports=taken(5557), runtime="docker"),
        ["fail: port 5557 (NIXL side channel) is taken"],
    ),
    Case(
        "PORT_BUSY",
        "unknown",
        "not tried",
        situation("", **unread("ports", reason="Operation not permitted")),
        ["note: ports were not tried: Operation not permitted"],
    ),
    Case("PORT_CLASH", "pass", "all different", situation(**prefill(shared=True)), []),
    Case(
        "PORT_CLASH", "pass", "on different nodes", situation(**prefill(f"--port 8002 {NIXL}")), []
    ),
    Case(
        "PORT_CLASH",
        "found",
        "two pools on one node",
        situation(**prefill(f"--port 8002 {NIXL}", shared=True)),
        ["fail: port 8002 is planned twice: HTTP of prefill, HTTP of decode"],
    ),
    Case(
        "PORT_CLASH",
        "found",
        "side channel and HTTP",
        situation(**prefill(f"--port 5557 {NIXL}")),
        ["fail: port 5557 is planned twice: HTTP of prefill, NIXL side channel of prefill"],
    ),
    Case(
        "PORT_CLASH",
        "found",
        "side channel and KV events",
        situation(["--kv-transfer-config", json.dumps(connector("NixlConnector")), *EVENTS], SIDE),
        ["fail: port 5557 is planned twice: NIXL side channel of server, KV events of server"],
    ),
    Case(
        "PORT_CLASH",
        "found",
        "the router",
        situation(**prefill(shared=True), router="vllm-router --policy x \\\n    --port 8001"),
        ["fail: port 8001 is planned twice: HTTP of prefill, port of the router"],
    ),
    Case("PORT_CLASH", "unknown", "an unfilled port", situation("--port $PORT"), []),
    Case(
        "PORT_CLASH",
        "found",
        "pools with machines of their own, and one address",
        situation(**prefill(f"--port 8002 {NIXL}")).replace(addresses=SAME),
        ["fail: port 8002 is planned twice: HTTP of prefill, HTTP of decode"],
    ),
    Case("ADDRESS", "pass", "apart", situation(HEAD).replace(addresses=APART), []),
    Case("ADDRESS", "pass", "one address", situation(HEAD).replace(addresses=APART[:1]), None),
    Case(
        "ADDRESS",
        "pass",
        "two pools on one machine",
        situation(**prefill(shared=True)).replace(
            addresses=(("prefill 0", 0, "10.0.0.1"), ("decode 0", 0, "10.0.0.1"))
        ),
        [],
    ),
    Case(
        "ADDRESS",
        "found",
        "one for two",
        situation(HEAD).replace(addresses=SAME),
        ["fail: prefill 0 and decode 0 have one address, 10.0.0.1"],
    ),
    Case("ADDRESS", "unknown", "nobody said any", situation(HEAD), None),
    Case("COMPANION_DOWN", "pass", "up", situation(LMCACHE), []),
    Case("COMPANION_DOWN", "pass", "none needed", situation(""), None),
    Case(
        "COMPANION_DOWN",
        "found",
        "down",
        situation(LMCACHE, listeners=(Port(port=5555, taken=False),)),
        ["warn: nothing listens on port 5555, where the LMCache server should"],
    ),
    Case(
        "COMPANION_DOWN",
        "unknown",
        "not tried",
        situation(LMCACHE, **unread("listeners")),
        ["note: whether the LMCache server is up was not tried: permission denied"],
    ),
    Case("HEAD", "pass", "on the head", situation(HEAD), []),
    Case(
        "HEAD",
        "pass",
        "on a follower",
        situation(FOLLOWER, names=head(addresses=("10.0.0.1",), here=False)),
        [],
    ),
    Case("HEAD", "pass", "one node", situation("-tp 8"), None),
    Case("HEAD", "pass", "not filled in", situation(HEAD.replace("head", "$HEAD_IP")), None),
    Case(
        "HEAD",
        "found",
        "no address",
        situation(FOLLOWER, names=head(error="Name or service not known")),
        ["fail: the head head has no address: Name or service not known"],
    ),
    Case(
        "HEAD",
        "found",
        "loopback",
        situation(HEAD, names=head(addresses=("127.0.1.1",), loopback=True, here=True)),
        ["fail: the head head resolves to 127.0.1.1, an address of loopback"],
    ),
    Case(
        "HEAD",
        "found",
        "another machine's",
        situation(HEAD, names=head(addresses=("10.0.0.2",), here=False)),
        ["warn: the head is head (10.0.0.2), which is no address of this machine"],
    ),
    Case(
        "HEAD",
        "found",
        "a follower's own",
        situation(FOLLOWER, names=head(addresses=("10.0.0.1",), here=True)),
        ["warn: the head head is this machine, and this is node 1"],
    ),
    Case(
        "HEAD",
        "unknown",
        "no answer",
        situation(FOLLOWER, **unread("names", reason="no answer in 4.2 s")),
        ["note: head was not resolved: no answer in 4.2 s"],
    ),
    Case(
        "HEAD",
        "unknown",
        "own addresses not known",
        situation(HEAD, names=head(addresses=("10.0.0.2",), here=None)),
        [],
    ),
    Case(
        "IFACE",
        "pass",
        "named",
        situation(HEAD, {"GLOO_SOCKET_IFNAME": "eth0", "NCCL_SOCKET_IFNAME": "eth"}),
        [],
    ),
    Case("IFACE", "pass", "not named", situation(HEAD), []),
    Case("IFACE", "pass", "one node", situation("-tp 8", own_name=LOOPBACK), None),
    Case("IFACE", "pass", "excluded", situation(HEAD, {"NCCL_SOCKET_IFNAME": "^docker,lo"}), []),
    Case(
        "IFACE",
        "found",
        "not the one that has the head's address",
        situation(
            HEAD,
            {"GLOO_SOCKET_IFNAME": "eth1"},
            interfaces=(Interface(name="eth0", up=True), Interface(name="eth1", up=True)),
        ),
        ["warn: GLOO_SOCKET_IFNAME names eth1, and the head's address is on eth0"],
    ),
    Case(
        "IFACE",
        "found",
        "not there",
        situation(HEAD, {"GLOO_SOCKET_IFNAME": "ib0"}),
        ["fail: GLOO_SOCKET_IFNAME names ib0, this machine has eth0"],
    ),
    Case(
        "IFACE",
        "found",
        "around it",
        situation(HEAD, variables=(("NCCL_SOCKET_IFNAME", "=eth"),)),
        ["fail: NCCL_SOCKET_IFNAME names =eth, this machine has eth0"],
    ),
    Case(
        "IFACE",
        "found",
        "loopback",
        situation(HEAD, {"GLOO_SOCKET_IFNAME": "lo"}),
        ["fail: GLOO_SOCKET_IFNAME names the loopback interface, and the plan spans nodes"],
    ),
    Case(
        "IFACE",
        "found",
        "down",
        situation(HEAD, {"GLOO_SOCKET_IFNAME": "eth0"}, interfaces=DOWN),
        ["fail: GLOO_SOCKET_IFNAME names eth0, which is down"],
    ),
    Case(
        "IFACE",
        "found",
        "another way",
        situation(
            FOLLOWER,
            {"GLOO_SOCKET_IFNAME": "eth0"},
            names=head(addresses=("10.0.0.1",), here=False, interface="eth1"),
        ),
        ["warn: GLOO_SOCKET_IFNAME names eth0, and the route to the head leaves by eth1"],
    ),
    Case(
        "IFACE",
        "found",
        "own name",
        situation(
            FOLLOWER,
            own_name=LOOPBACK,
            names=head(addresses=("10.0.0.1",), here=False, interface="eth0"),
        ),
        ["warn: this machine's name node resolves to 127.0.1.1, and GLOO_SOCKET_IFNAME is not set"],
    ),
    Case(
        "IFACE",
        "unknown",
        "not read",
        situation(HEAD, **unread("interfaces")),
        ["note: network interfaces were not read: permission denied"],
    ),
    Case("NIXL_HOST", "pass", "own address", situation(**prefill()), []),
    Case(
        "NIXL_HOST",
        "pass",
        "one node",
        situation(**prefill(shared=True, VLLM_NIXL_SIDE_CHANNEL_HOST="localhost")),
        None,
    ),
    Case(
        "NIXL_HOST",
        "pass",
        "not the first node of its engine",
        situation(
            **prefill(f"-n 2 -r 1 --master-addr 10.0.0.1 --headless {NIXL}"),
            names=(Name(name="10.0.0.1", addresses=("10.0.0.1",), here=False),),
        ),
        None,
    ),
    Case(
        "NIXL_HOST",
        "pass",
        "not filled in",
        situation(**prefill(VLLM_NIXL_SIDE_CHANNEL_HOST="$PREFILL_NODE_1")),
        [],
    ),
    Case(
        "NIXL_HOST",
        "found",
        "localhost",
        situation(**prefill(VLLM_NIXL_SIDE_CHANNEL_HOST="localhost")),
        [
            "warn: VLLM_NIXL_SIDE_CHANNEL_HOST is localhost, and the pools are on different nodes",
        ],
    ),
    Case(
        "NIXL_HOST",
        "found",
        "not this machine's",
        situation(**prefill(), names=(Name(name="10.0.0.1", addresses=("10.0.0.1",), here=False),)),
        [
            "fail: VLLM_NIXL_SIDE_CHANNEL_HOST names 10.0.0.1, which is no address of this machine",
        ],
    ),
    Case(
        "NIXL_HOST",
        "found",
        "no address",
        situation(**prefill(), names=(Name(name="10.0.0.1", error="Name or service not known"),)),
        [
            (
                "fail: VLLM_NIXL_SIDE_CHANNEL_HOST names 10.0.0.1, which has no address: Name or "
                "service not known"
            ),
        ],
    ),
    Case("NIXL_HOST", "unknown", "not resolved", situation(**prefill(), **unread("names")), []),
    Case("NIXL_SIDES", "pass", "alike", situation(**prefill()), []),
    Case("NIXL_SIDES", "pass", "no pools", situation(NIXL), None),
    Case("NIXL_SIDES", "pass", "more ranks decode", situation(**prefill(f"-tp 2 {NIXL}")), []),
    Case(
        "NIXL_SIDES",
        "found",
        "fewer ranks decode",
        situation(**prefill(f"-tp 8 {NIXL}")),
        ["warn: prefill splits tensors over 8 GPUs, decode over 4"],
    ),
    Case(
        "NIXL_SIDES",
        "found",
        "layouts",
        situation(**prefill(VLLM_KV_CACHE_LAYOUT="BLHNC")),
        ["warn: VLLM_KV_CACHE_LAYOUT is BLHNC for prefill and not set for decode"],
    ),
    Case("NIXL_SIDES", "unknown", "an unfilled size", situation(**prefill(f"-tp $N {NIXL}")), []),
    Case("RDMA", "pass", "there", situation(**prefill()), []),
    Case("RDMA", "pass", "one node", situation(**prefill(shared=True), rdma_devices=()), None),
    Case("RDMA", "pass", "all", situation(**prefill(UCX_NET_DEVICES="all")), []),
    Case(
        "RDMA",
        "pass",
        "by name and port",
        situation(**prefill(UCX_NET_DEVICES="mlx5_0:1,eth0", NCCL_IB_HCA="mlx5")),
        [],
    ),
    Case(
        "RDMA",
        "found",
        "none",
        situation(**prefill(), rdma_devices=()),
        ["warn: no RDMA device here, and NixlConnector moves KV cache between nodes"],
    ),
    Case(
        "RDMA",
        "found",
        "none for a hardened container",
        situation(**prefill(), rdma_devices=(), runtime="docker", hardened=True),
        ["fail: the container is given /dev/infiniband, and this host has no RDMA device"],
    ),
    Case(
        "RDMA",
        "found",
        "a name that is not there",
        situation(**prefill(UCX_NET_DEVICES="mlx5_7:1")),
        ["fail: UCX_NET_DEVICES names mlx5_7, this machine has mlx5_0, mlx5_1"],
    ),
    Case(
        "RDMA",
        "unknown",
        "not read",
        situation(**prefill(), **unread("rdma_devices", reason="/sys/class is not there")),
        ["note: RDMA devices were not looked for: /sys/class is not there"],
    ),
    Case("IMEX", "pass", "a channel", situation("", MNNVL, hardware="gb200"), []),
    Case("IMEX", "pass", "not needed", situation("", hardware="gb200", imex_channels=()), None),
    Case(
        "IMEX",
        "found",
        "none",
        situation("", MNNVL, hardware="gb200", imex_channels=()),
        ["fail: no IMEX channel here, and NCCL_MNNVL_ENABLE=1 needs one"],
    ),
    Case(
        "IMEX",
        "unknown",
        "not read",
        situation("", MNNVL, hardware="gb200", **unread("imex_channels")),
        ["note: IMEX channels were not looked for: permission denied"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


@pytest.mark.parametrize(
    ("command", "env", "ports"),
    [
        ("", {}, [8000]),
        ("--port 9000", {}, [9000]),
        ("--port=9000", {}, [9000]),
        ("--port 9000 --headless", {}, []),
        ("--uds /run/x", {}, []),
        ("--grpc-port 9001", {}, [8000, 9001]),
        (HEAD, {}, [8000, 29501]),
        (f"{HEAD} --master-port 30000", {}, [8000, 30000]),
        (FOLLOWER, {}, []),
        ("--data-parallel-size 8", {}, [8000]),
        ("--data-parallel-size 8 --data-parallel-rpc-port 13345", {}, [8000]),
        ("--data-parallel-size 16 --data-parallel-size-local 8", {}, [8000, 29550]),
        (
            "--data-parallel-size 16 --data-parallel-size-local 8 --data-parallel-rpc-port 13345",
            {},
            [8000, 13345],
        ),
        (
            "--data-parallel-size 16 --data-parallel-size-local 8 --data-parallel-start-rank 8",
            {},
            [8000],
        ),
        (NIXL, {}, [8000, 5600]),
        (NIXL, SIDE, [8000, 5557]),
        (f"--data-parallel-size 2 {NIXL}", SIDE, [8000, 5557, 5558]),
        (
            f"-dp 4 --data-parallel-size-local 2 --data-parallel-start-rank 2 {NIXL}",
            SIDE,
            [8000, 5559, 5560],
        ),
        (transfer(**connector("MooncakeConnector")), {}, [8000, 8998]),
        ("--port 0", {}, []),
        ("--port 70000", {}, []),
        ("--port $PORT", {}, []),
    ],
)
def test_ports_that_a_process_listens_on(
    command: str, env: dict[str, str], ports: list[int]
) -> None:
    assert [port.port for port in planned(process(command, env), env)] == ports


def test_a_container_publishes_http_alone() -> None:
    assert wanted(situation("--port 8001", runtime="docker")).ports == (("", 8001),)


def test_containers_that_reach_each_other_have_the_machines_ports() -> None:
    plan = situation(**prefill(), runtime="docker")
    assert wanted(plan).ports == (("", 8001), ("", 5557))
    assert wanted(plan).interfaces


def test_the_store_and_its_server() -> None:
    store = KvStorePlan(
        instances=1, master="mooncake_master -rpc_port=8000", mooncake_config={}, store_config=None
    )
    assert told(situation("", store=store), "PORT_CLASH") == [
        "fail: port 8000 is planned twice: HTTP of server, port of the store's master"
    ]


def test_the_interface_to_take_is_told() -> None:
    names = head(addresses=("10.0.0.1",), here=False, interface="eth0")
    one = only(situation(FOLLOWER, own_name=LOOPBACK, names=names), "IFACE")
    assert one.remedy == "Pass -e GLOO_SOCKET_IFNAME=eth0 -e NCCL_SOCKET_IFNAME=eth0."


def test_what_shows_who_listens() -> None:
    assert only(situation("", ports=taken(8000)), "PORT_BUSY").command == (
        "sudo ss -ltnp 'sport = :8000'"
    )
