"""One process of a deployment: which one, and what its placeholders stand for."""

from __future__ import annotations

import itertools
import json
import socket
import stat
from pathlib import Path

import pytest

from tests.cli.launcher import FLASH, M3, Operator

TWO_NODES = ("serve", M3, "--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2")
POOLS = ("serve", FLASH, "--hardware", "gb300", "--strategy", "pd_cluster")
SHARED = ("serve", FLASH, "--hardware", "h200", "--strategy", "pd_cluster")
STORE = ("serve", M3, "--hardware", "h200", "--kv-offload", "kv_store_centralized_mooncake")
MASTER = ("--endpoint", "MOONCAKE_MASTER_IP=10.0.0.9")


def slurm(node: int, nodes: str, size: int, *, local: int = 0) -> dict[str, str]:
    """What a step of Slurm's sets."""
    return {
        "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NODEID": str(node),
        "SLURM_STEP_NODELIST": nodes, "SLURM_STEP_NUM_NODES": str(size),
        "SLURM_LOCALID": str(local),
    }  # fmt: skip


def titles(out: str) -> list[str]:
    """The names that stand over the blocks of a dry run."""
    blocks = out.split("\n\n")
    return [block.splitlines()[0].removeprefix("# ") for block in blocks]


def said(err: str) -> list[str]:
    """The remarks, without what was chosen and what the recipe has to say."""
    lines = [line.removeprefix("# ") for line in err.splitlines()]
    return [
        line for line in lines[1:]
        if not line.startswith(("note: needs vLLM", "see 'vllm-launch", "variant ", "note: the f"))
    ]  # fmt: skip


# The whole, in start order.


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(TWO_NODES, ["head 0", "worker 1"], id="two nodes"),
        pytest.param(POOLS, ["prefill 0", "decode 0", "router"], id="one role a tray"),
        pytest.param(SHARED, ["prefill 0", "decode 0", "router"], id="half a node each"),
        pytest.param(
            (*POOLS, "--prefill", "2:dep", "--decode", "1"),
            ["prefill 0", "prefill 1", "decode 0", "router"],
            id="two trays and one",
        ),
        pytest.param(
            STORE, ["master", "store", "instance 1", "instance 2", "router"], id="a store"
        ),
        pytest.param(
            (*TWO_NODES[:4], "--kv-offload", "lmcache"),
            ["companion LMCache Server", "server 0"],
            id="a companion",
        ),
    ],
)
def test_the_whole_deployment_is_printed_in_start_order(
    operator: Operator, line: tuple[str, ...], expected: list[str]
) -> None:
    ran = operator.run(*line, "--dry-run")
    assert ran.status == 0, ran.err
    assert titles(ran.out) == expected


def test_two_pools_on_one_host_need_nothing_said(operator: Operator) -> None:
    operator.install("vllm-router")
    ran = operator.run(*SHARED, "--dry-run")
    assert "$" not in ran.out
    assert said(ran.err) == [
        "$PREFILL_NODE_1 = 127.0.0.1: all of it is on this machine",
        "$DECODE_NODE_1 = 127.0.0.1: all of it is on this machine",
        "$ROUTER_HOST = 0.0.0.0: every address of this machine",
        "$ROUTER_PORT = 30000: the usual one",
    ]
    masks = [line for line in ran.out.splitlines() if "CUDA_VISIBLE" in line]
    assert masks == [
        "export CUDA_VISIBLE_DEVICES=0,1,2,3", "export CUDA_VISIBLE_DEVICES=4,5,6,7",
    ]  # fmt: skip
    assert operator.run(*SHARED, "--role", "router").argv == [
        "--policy", "round_robin", "--vllm-pd-disaggregation",
        "--prefill", "http://127.0.0.1:8100", "--decode", "http://127.0.0.1:8200",
        "--host", "0.0.0.0", "--port", "30000", "--intra-node-data-parallel-size", "1",
    ]  # fmt: skip


def test_what_remains_is_listed_last(operator: Operator) -> None:
    ran = operator.run(*POOLS, "--dry-run")
    assert said(ran.err)[-1] == (
        "not filled in: $PREFILL_NODE_1 (the address of prefill 0), $DECODE_NODE_1 (the address "
        "of decode 0): give --endpoint PREFILL_NODE_1=… --endpoint DECODE_NODE_1=…"
    )


def test_the_json_form_has_every_part(operator: Operator) -> None:
    parts = operator.run(*POOLS, "--output", "json").json["deployment"]["parts"]
    prefill, decode, router = parts
    assert (prefill["node"], decode["node"], router["node"]) == (0, 1, 0)
    assert router["after"] == ["prefill-0", "decode-0"]
    assert router["argv"][:3] == ["vllm-router", "--policy", "round_robin"]
    assert router["source"]["file"] == "recipes/strategies/pd_cluster.yaml"
    assert router["placeholders"] == ["PREFILL_NODE_1", "DECODE_NODE_1"]
    assert prefill["placeholders"] == ["PREFILL_NODE_1"]
    assert prefill["env"]["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "$PREFILL_NODE_1"
    assert (prefill["port"], decode["port"], router["port"]) == (8100, 8200, 30000)


@pytest.mark.parametrize(
    ("host", "address", "url"),
    [
        ("192.0.2.2", "192.0.2.2", "http://192.0.2.2:"),
        ("fd00::2", "fd00::2", "http://[fd00::2]:"),
        ("0.0.0.0", "127.0.0.1", "http://127.0.0.1:"),
        ("::", "127.0.0.1", "http://127.0.0.1:"),
    ],
)
def test_two_pools_on_one_host_reach_each_other_where_they_listen(
    operator: Operator, host: str, address: str, url: str
) -> None:
    ran = operator.run(*SHARED, "--host", host, "--dry-run", "--output", "json")
    prefill, decode, router = ran.json["deployment"]["parts"]
    asked = [word for word in router["argv"] if word.startswith("http")]
    assert asked == [f"{url}8100", f"{url}8200"]
    assert router["argv"][router["argv"].index("--host") + 1] == "0.0.0.0"
    for each in (prefill, decode):
        assert each["env"]["VLLM_NIXL_SIDE_CHANNEL_HOST"] == address
    composed = operator.run("export", *SHARED[1:], "--to", "compose", "--", "--host", host)
    assert composed.out.count(url) == 4, "two probes and two of the router's"


def test_a_router_asks_servers_over_tls_where_they_have_it(operator: Operator) -> None:
    tls = ("--", "--ssl-certfile", "/c.pem", "--ssl-keyfile=/k.pem")
    ran = operator.run(*SHARED, "--dry-run", "--output", "json", *tls)
    router = ran.json["deployment"]["parts"][-1]["argv"]
    asked = [word for word in router if word.startswith("http")]
    assert asked == ["https://127.0.0.1:8100", "https://127.0.0.1:8200"]
    ran = operator.run(*STORE, "--instances", "2", "--dry-run", "--output", "json", *tls)
    router = ran.json["deployment"]["parts"][-1]["argv"]
    asked = [after for word, after in itertools.pairwise(router) if "backend" in word]
    assert asked == ["https://$VLLM_INSTANCE_1:8000", "https://$VLLM_INSTANCE_2:8000"]


# One process.


def test_what_is_printed_is_what_runs(operator: Operator) -> None:
    operator.install("vllm-router")
    line = (*POOLS, "--role", "router", "--endpoint", "PREFILL_NODE_1=fd00::1", "--endpoint",
            "DECODE_NODE_1=10.0.0.2", "--port", "9000", "--", "--log-level", "debug")  # fmt: skip
    own = line.index("--")
    printed = operator.run(*line[:own], "--dry-run", "--output", "argv", *line[own:])
    ran = operator.run(*line)
    assert json.loads(printed.out)[1:] == ran.argv
    assert ran.argv == [
        "--policy", "round_robin", "--vllm-pd-disaggregation",
        "--prefill", "http://[fd00::1]:8100", "--decode", "http://10.0.0.2:8200",
        "--host", "0.0.0.0", "--port", "9000", "--intra-node-data-parallel-size", "4",
        "--log-level", "debug",
    ]  # fmt: skip


def test_words_for_vllm_go_to_no_other_program(operator: Operator) -> None:
    line = (*STORE, "--instances", "2", "--dry-run", "--output", "json", "--", "--seed", "1")
    parts = operator.run(*line).json["deployment"]["parts"]
    own = {part["name"]: part["argv"][-2:] == ["--seed", "1"] for part in parts}
    assert own == {
        "master": False, "store": False, "instance-1": True, "instance-2": True, "router": False,
    }  # fmt: skip


def test_words_for_the_program_that_is_named_are_in_its_export(operator: Operator) -> None:
    ends = ("--endpoint", "PREFILL_NODE_1=10.0.0.1", "--endpoint", "DECODE_NODE_1=10.0.0.2")
    ran = operator.run(
        "export",
        *POOLS[1:],
        *ends,
        "--role",
        "router",
        "--to",
        "compose",
        "--",
        "--log-level=debug",
    )
    assert "\n    - --log-level=debug\n" in ran.out


@pytest.mark.parametrize("port", [("--port", "9000"), ("--", "--port=9000")])
def test_a_router_asks_instances_where_they_listen(
    operator: Operator, port: tuple[str, ...]
) -> None:
    ran = operator.run(*STORE, "--instances", "2", "--dry-run", "--output", "json", *port)
    router = ran.json["deployment"]["parts"][-1]["argv"]
    asked = [after for word, after in itertools.pairwise(router) if "backend" in word]
    assert asked == ["http://$VLLM_INSTANCE_1:9000", "http://$VLLM_INSTANCE_2:9000"]
    assert router[router.index("--port") + 1] == "30080"


def test_pools_of_one_machine_cannot_be_given_one_port(operator: Operator) -> None:
    line = ("serve", M3, "--hardware", "h200", "--strategy", "pd_cluster", "--dry-run")
    assert operator.run(*line, "--", "--port", "9000").error == (
        "error: -- --port: prefill and decode cannot listen on one port\n"
        "  give --prefill-port and --decode-port, or say whose it is with --role\n"
    )


PORTS = ("--prefill-port", "9001", "--decode-port", "9002")


def test_each_pools_port_is_known_to_its_servers_and_to_the_router(operator: Operator) -> None:
    line = ("serve", M3, "--hardware", "h200", "--strategy", "pd_cluster", "--dry-run", *PORTS)
    prefill, decode, router = map(
        json.loads, operator.run(*line, "--output", "argv").out.splitlines()
    )
    assert prefill[-2:] == ["--port", "9001"]
    assert decode[-2:] == ["--port", "9002"]
    assert router[router.index("--prefill") + 1] == "http://127.0.0.1:9001"
    assert router[router.index("--decode") + 1] == "http://127.0.0.1:9002"
    why = operator.run("explain", *line[1:-5], *PORTS).out
    assert "    --port 9001\n        from operator  --prefill-port\n" in why


def test_the_pool_that_is_started_here_may_be_told_its_port_alone(operator: Operator) -> None:
    ran = operator.run(*POOLS, "--role", "prefill", *PORTS, "--port", "9003", "--dry-run",
                       "--output", "argv")  # fmt: skip
    assert json.loads(ran.out)[-2:] == ["--port", "9003"]


def test_dynamos_workers_have_no_ports_and_its_frontend_has(operator: Operator) -> None:
    line = ("serve", M3, "--hardware", "h200", "--strategy", "pd_cluster", "--dry-run")
    ran = operator.run(*line, "--frontend", "dynamo", "--port", "9000", *PORTS, "--output", "argv")
    words = [json.loads(each) for each in ran.out.splitlines()]
    assert words[-1][-2:] == ["--http-port", "9000"]
    assert not any("900" in word for each in words[:-1] for word in each)
    assert "# note: --prefill-port: Dynamo's workers have no HTTP port\n" in ran.err


def test_ports_of_pools_that_are_not_there_are_told(operator: Operator) -> None:
    ran = operator.run(*TWO_NODES, "--dry-run", "--decode-port", "9002")
    assert "--decode-port is for pd_cluster, and there is no such pool here" in ran.err
    assert "9002" not in ran.out


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("PREFILL_NODE_1=10.0.0.1:9001", "--prefill-port 9001"),
        ("DECODE_NODE_1=[fd00::1]:9002", "--decode-port 9002"),
        ("DECODE_NODE_1=node-7:9002", "--decode-port 9002"),
    ],
)
def test_an_address_has_no_port(operator: Operator, value: str, hint: str) -> None:
    ran = operator.run(*POOLS, "--role", "router", "--endpoint", value, "--dry-run")
    assert ran.error == (
        f"error: --endpoint: found {value}; expected an address alone, without a port\n"
        f"  give the port with {hint}\n"
    )


def test_an_ipv6_address_is_taken_with_its_brackets(operator: Operator) -> None:
    ends = ("--endpoint", "PREFILL_NODE_1=[fd00::1]", "--endpoint", "DECODE_NODE_1=fd00::2")
    for role, words in (
        ("router", ["--prefill", "http://[fd00::1]:8100", "--decode", "http://[fd00::2]:8200"]),
        ("prefill", ["--data-parallel-address", "fd00::1"]),
    ):
        ran = operator.run(*POOLS, "--role", role, *ends, "--dry-run", "--output", "argv")
        argv = json.loads(ran.out)
        at = argv.index(words[0])
        assert argv[at : at + len(words)] == words


def test_the_master_and_the_companion_run_as_the_recipe_says(operator: Operator) -> None:
    operator.install("mooncake_master")
    operator.install("lmcache")
    assert operator.run(*STORE, "--role", "master").argv[:2] == [
        "-rpc_port=50051", "-rpc_thread_num=4",
    ]  # fmt: skip
    ran = operator.run(*TWO_NODES[:4], "--kv-offload", "lmcache", "--role", "companion")
    assert ran.argv[:3] == ["server", "--port", "5555"]


def test_an_instance_is_one_of_several_by_its_node(operator: Operator) -> None:
    operator.install("vllm")
    line = (*STORE, *MASTER, "--role", "instance")
    assert "has 2 processes (instance 1, instance 2)" in operator.run(*line).error
    for rank in ("0", "1"):
        assert operator.run(*line, "--node-rank", rank).argv[:2] == ["serve", M3]
    ran = operator.run(*line, "--node-rank", "2")
    assert "the deployment has no process instance 2\n" in ran.error


def test_the_only_server_runs_where_nothing_says_which(operator: Operator) -> None:
    operator.install("vllm")
    ran = operator.run(*TWO_NODES[:4], "--kv-offload", "lmcache")
    assert ran.argv[:2] == ["serve", M3]
    assert "# this is the server 0; start what runs beside it by its --role\n" in ran.err


def test_the_toy_proxy_asks_the_servers_that_the_router_would(operator: Operator) -> None:
    operator.install("python3")
    line = (*POOLS, "--decode", "2:dep", "--role", "proxy")
    addresses = [f"{name}=10.0.0.{i}" for i, name in enumerate(
        ("PREFILL_NODE_1", "DECODE_NODE_1", "DECODE_NODE_2"), 1)]  # fmt: skip
    given = [word for each in addresses for word in ("--endpoint", each)]
    assert "not filled in: $TOY_PROXY (the path of toy_proxy_server.py" in (
        operator.run(*line, *given).error
    )
    ran = operator.run(*line, *given, "--endpoint", "TOY_PROXY=/vllm/toy_proxy_server.py")
    assert ran.argv == [
        "/vllm/toy_proxy_server.py", "--port", "8000",
        "--prefiller-host", "10.0.0.1", "--prefiller-port", "8100",
        "--decoder-host", "10.0.0.2", "10.0.0.3", "--decoder-port", "8200", "8200",
    ]  # fmt: skip


def test_the_toy_proxy_makes_urls_of_addresses(operator: Operator) -> None:
    operator.install("python3")
    line = (*POOLS, "--role", "proxy", "--host", "fd00::9", "--endpoint", "TOY_PROXY=/toy.py")
    given = ("--endpoint", "PREFILL_NODE_1=fd00::1", "--endpoint", "DECODE_NODE_1=10.0.0.2")
    assert operator.run(*line, *given).argv == [
        "/toy.py", "--port", "8000", "--host", "fd00::9",
        "--prefiller-host", "[fd00::1]", "--prefiller-port", "8100",
        "--decoder-host", "10.0.0.2", "--decoder-port", "8200",
    ]  # fmt: skip


def test_the_toy_proxy_needs_pools(operator: Operator) -> None:
    told = operator.run(*TWO_NODES, "--role", "proxy", "--dry-run").error
    assert "stands between prefill and decode, and this deployment has no pools" in told


# Files.


def test_a_stores_file_is_written_before_the_server_starts(
    operator: Operator, tmp_path: Path
) -> None:
    operator.install("vllm")
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    line = (*STORE, *MASTER, "--role", "instance", "--node-rank", "0")
    printed = operator.run(*line, "--dry-run", env=state)
    assert not (tmp_path / "state").exists()
    ran = operator.run(*line, env=state)
    path = Path(ran.record["env"]["MOONCAKE_CONFIG_PATH"])
    assert path.parent == tmp_path / "state" / "vllm-launch"
    assert f"export MOONCAKE_CONFIG_PATH={path}\n" in printed.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert json.loads(path.read_text())["master_server_address"] == "10.0.0.9:50051"
    shown = "".join(f"# {line}\n" for line in path.read_text().splitlines())
    assert f"# written before it starts, with what follows:\n# {path}\n{shown}" in printed.out
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert "# wrote " not in operator.run(*line, env=state).err


def test_a_file_with_something_missing_is_not_written(operator: Operator) -> None:
    operator.install("vllm")
    told = operator.run(*STORE, "--role", "instance", "--node-rank", "0").error
    assert "not filled in: $MOONCAKE_CONFIG_PATH (its file, written before it starts), " in told
    assert "give --endpoint MOONCAKE_MASTER_IP=…\n" in told


def test_an_operators_own_file_is_taken(operator: Operator) -> None:
    operator.install("vllm")
    own = ("--endpoint", "MOONCAKE_CONFIG_PATH=/etc/mooncake.json")
    ran = operator.run(*STORE, *own, "--role", "instance", "--node-rank", "0")
    assert ran.record["env"]["MOONCAKE_CONFIG_PATH"] == "/etc/mooncake.json"


def test_a_state_that_cannot_be_written_is_an_error(operator: Operator, tmp_path: Path) -> None:
    operator.install("vllm")
    tmp_path.joinpath("state").write_text("no directory")
    told = operator.run(
        *STORE, *MASTER, "--role", "instance", "--node-rank", "0",
        env={"XDG_STATE_HOME": str(tmp_path / "state")},
    ).error  # fmt: skip
    assert f"cannot use {tmp_path}/state/vllm-launch: Not a directory" in told


# Endpoints from a file.


def test_endpoints_may_stand_in_a_file(operator: Operator) -> None:
    file = operator.cwd / "nodes.env"
    file.write_text('# the pools\nPREFILL_NODE_1=10.0.0.1\n\nexport DECODE_NODE_1="10.0.0.2"\n')
    ran = operator.run(*POOLS, "--endpoint", "@nodes.env", "--role", "router", "--dry-run")
    assert "--prefill http://10.0.0.1:8100" in ran.out
    assert "--decode http://10.0.0.2:8200" in ran.out


def test_the_last_of_two_endpoints_holds(operator: Operator) -> None:
    (operator.cwd / "nodes.env").write_text("PREFILL_NODE_1=10.0.0.1\nDECODE_NODE_1=10.0.0.2\n")
    line = (*POOLS, "--endpoint", "@nodes.env", "--endpoint", "DECODE_NODE_1=10.0.0.3")
    assert "--decode http://10.0.0.3:8200" in operator.run(*line, "--dry-run").out


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"A=1\nHEAD_IP\n", "nodes.env:2: found 'HEAD_IP'; expected NAME=VALUE"),
        (b"\n# x\nHEAD_IP=\n", "nodes.env:3: found 'HEAD_IP='; expected NAME=VALUE"),
        (b"A=\xff\n", "--endpoint: cannot read nodes.env: it is no text"),
        (None, "--endpoint: cannot read nodes.env: No such file or directory"),
    ],
    ids=["no value", "empty", "bytes", "no file"],
)
def test_a_file_that_says_nothing_of_use_is_an_error(
    operator: Operator, content: bytes | None, told: str
) -> None:
    if content is not None:
        (operator.cwd / "nodes.env").write_bytes(content)
    assert told in operator.run(*TWO_NODES, "--endpoint", "@nodes.env", "--dry-run").error


# What a launcher has set.


def test_a_step_of_slurms_says_which_node_this_is(operator: Operator) -> None:
    ran = operator.run(*TWO_NODES, "--dry-run", env=slurm(1, "n[08-09]", 2))
    assert "  --node-rank 1 \\\n  --master-addr n08 \\\n  --headless" in ran.out
    assert said(ran.err)[:2] == [
        "node rank 1: SLURM_NODEID",
        "$HEAD_IP = n08: first of SLURM_STEP_NODELIST",
    ]


@pytest.mark.parametrize(
    ("node", "role", "host"),
    [(0, "prefill 0", "n1"), (1, "prefill 1", "n2"), (2, "decode 0", "n3")],
)
def test_prefill_nodes_come_first(operator: Operator, node: int, role: str, host: str) -> None:
    line = (*POOLS, "--prefill", "2:dep", "--decode", "1", "--output", "json")
    body = operator.run(*line, env=slurm(node, "n[1-3]", 3)).json["deployment"]
    [part] = body["parts"]
    assert part["name"] == role.replace(" ", "-")
    assert part["env"]["VLLM_NIXL_SIDE_CHANNEL_HOST"] == host


def test_a_pool_may_have_a_step_of_its_own(operator: Operator) -> None:
    line = (*POOLS, "--prefill", "1", "--decode", "2:dep", "--role", "decode", "--output", "json")
    body = operator.run(*line, env=slurm(1, "d[1-2]", 2)).json["deployment"]
    [part] = body["parts"]
    assert part["name"] == "decode-1"
    assert part["env"]["VLLM_NIXL_SIDE_CHANNEL_HOST"] == "d2"


def test_the_router_gets_the_addresses_and_no_rank(operator: Operator) -> None:
    line = (*POOLS, "--role", "router", "--dry-run")
    ran = operator.run(*line, env=slurm(1, "n[1-2]", 2))
    assert "  --prefill http://n1:8100 \\\n  --decode http://n2:8200 \\\n" in ran.out


def test_a_batch_script_gets_addresses_and_no_rank(operator: Operator) -> None:
    env = {
        "SLURM_JOB_ID": "7", "SLURM_NODEID": "0", "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_JOB_NUM_NODES": "2", "ENVIRONMENT": "BATCH",
    }  # fmt: skip
    ran = operator.run(*TWO_NODES, "--dry-run", env=env)
    assert titles(ran.out) == ["head 0", "worker 1"]
    assert ran.out.count("--master-addr n1 ") == 2
    assert "say which with --role and --node-rank" in operator.run(*TWO_NODES, env=env).error


LAUNCHERS = {
    "LeaderWorkerSet": (
        {"LWS_LEADER_ADDRESS": "m3-0.m3.ns", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "1"},
        ["node rank 1: LWS_WORKER_INDEX", "$HEAD_IP = m3-0.m3.ns: LWS_LEADER_ADDRESS"],
    ),
    "Slurm, by what it needs": (
        {"SLURM_NODEID": "1", "SLURM_JOB_NODELIST": "gpu-[07-08]"},
        ["node rank 1: SLURM_NODEID", "$HEAD_IP = gpu-07: first of SLURM_JOB_NODELIST"],
    ),
    "torchrun": (
        {"GROUP_RANK": "1", "GROUP_WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "10.0.0.1",
         "TORCHELASTIC_RUN_ID": "x"},
        ["node rank 1: GROUP_RANK", "$HEAD_IP = 10.0.0.1: MASTER_ADDR"],
    ),
    "Open MPI": (
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
         "OMPI_COMM_WORLD_LOCAL_RANK": "0", "MASTER_ADDR": "10.0.0.1"},
        ["node rank 1: OMPI_COMM_WORLD_RANK", "$HEAD_IP = 10.0.0.1: MASTER_ADDR"],
    ),
    "MPICH": (
        {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MASTER_ADDR": "10.0.0.1"},
        ["node rank 1: PMI_RANK", "$HEAD_IP = 10.0.0.1: MASTER_ADDR"],
    ),
    "PMIx": (
        {"PMIX_RANK": "1", "MASTER_ADDR": "10.0.0.1"},
        ["node rank 1: PMIX_RANK", "$HEAD_IP = 10.0.0.1: MASTER_ADDR"],
    ),
    "MPI within a job of Slurm's": (
        {**slurm(0, "n[1-9]", 9), "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
         "OMPI_COMM_WORLD_LOCAL_RANK": "0", "MASTER_ADDR": "10.0.0.1"},
        ["node rank 1: OMPI_COMM_WORLD_RANK", "$HEAD_IP = 10.0.0.1: MASTER_ADDR"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("env", "lines"), LAUNCHERS.values(), ids=LAUNCHERS)
def test_each_launchers_variables_are_understood(
    operator: Operator, env: dict[str, str], lines: list[str]
) -> None:
    ran = operator.run(*TWO_NODES, "--dry-run", env=env)
    assert "  --node-rank 1 \\\n" in ran.out
    assert said(ran.err)[:2] == lines


def test_what_the_operator_says_wins(operator: Operator) -> None:
    ran = operator.run(
        *TWO_NODES, "--node-rank", "0", "--endpoint", "HEAD_IP=10.9.9.9", "--dry-run",
        env=slurm(1, "n[1-2]", 2),
    )  # fmt: skip
    assert "  --node-rank 0 \\\n  --master-addr 10.9.9.9 \\\n" in ran.out
    assert "# note: --node-rank 0 holds; SLURM_NODEID says otherwise\n" in ran.err


@pytest.mark.parametrize(
    ("role", "rank", "node", "noted"),
    [
        pytest.param("decode", 1, 3, False, id="the second of decode is node 3"),
        pytest.param("decode", 1, 1, True, id="node 1 is of prefill"),
        pytest.param("prefill", 1, 1, False, id="the second of prefill is node 1"),
        pytest.param("prefill", 1, 0, True, id="node 0 is the first"),
    ],
)
def test_a_rank_of_a_pool_is_told_apart_from_a_launchers_node(
    operator: Operator, role: str, rank: int, node: int, noted: bool
) -> None:
    line = (*POOLS, "--prefill", "2:dep", "--decode", "2:dep", "--dry-run", "--role", role)
    ran = operator.run(*line, "--node-rank", str(rank), env=slurm(node, "n[1-4]", 4))
    assert (f"note: --node-rank {rank} holds; SLURM_NODEID says otherwise" in ran.err) is noted


@pytest.mark.parametrize(
    ("line", "env"),
    [
        pytest.param(
            (*TWO_NODES, "--node-rank", "1", "--endpoint", "HEAD_IP=10.9.9.9"),
            {**slurm(1, "n[1-2]", 2), "SLURM_NODEID": "x"},
            id="the node, which --node-rank says",
        ),
        pytest.param(
            (*TWO_NODES, "--endpoint", "HEAD_IP=10.9.9.9"),
            slurm(1, "n[1-", 2),
            id="the list, whose address is given",
        ),
        pytest.param(
            ("serve", FLASH, "--hardware", "b300"),
            {**slurm(0, "n[1-", 1), "SLURM_NODEID": "x"},
            id="all of them, for one node",
        ),
        pytest.param(
            (*SHARED, "--role", "prefill"),
            {**slurm(0, "n[1-", 1), "SLURM_NODEID": "x"},
            id="all of them, for pools on one node",
        ),
    ],
)
def test_a_broken_variable_that_nobody_needs_is_let_be(
    operator: Operator, line: tuple[str, ...], env: dict[str, str]
) -> None:
    operator.install("vllm")
    ran = operator.run(*line, "--dry-run", env=env)
    assert ran.status == 0, ran.err
    assert "expected a whole number" not in ran.err
    assert "a bracket is not closed" not in ran.err


def test_hints_on_broken_variables_help(operator: Operator) -> None:
    ran = operator.run(*TWO_NODES, "--dry-run", env=slurm(1, "n[1-", 2))
    assert ran.error == (
        "error: SLURM_STEP_NODELIST: a bracket is not closed in 'n[1-'\n"
        "  unset SLURM_STEP_NODELIST, or give the nodes' addresses with --endpoint\n"
    )
    ran = operator.run(*TWO_NODES, "--dry-run", env={**slurm(1, "n1", 2), "SLURM_NODEID": "x"})
    assert ran.error == (
        "error: SLURM_NODEID: found 'x'; expected a whole number\n"
        "  unset SLURM_NODEID, or say which node this is with --node-rank\n"
    )


@pytest.mark.parametrize(
    ("env", "told"),
    [
        pytest.param(
            slurm(0, "n1", 1),
            "the plan is for 2 nodes, and Slurm has started 1 (SLURM_STEP_NUM_NODES)",
            id="too few nodes",
        ),
        pytest.param(
            slurm(1, "n[1-2]", 2, local=3),
            "Slurm has started several processes on this node, and this is number 3 "
            "(SLURM_LOCALID)",
            id="several a node",
        ),
        pytest.param(
            slurm(2, "n[1-3]", 3),
            "node 2 (SLURM_NODEID) has no process to run: the plan is for 2 nodes",
            id="too many nodes",
        ),
        pytest.param(
            slurm(1, "n[1-", 2), "SLURM_STEP_NODELIST: a bracket is not closed", id="a broken list"
        ),
        pytest.param(
            {**slurm(1, "n[1-2]", 2), "SLURM_NODEID": "x"},
            "SLURM_NODEID: found 'x'; expected a whole number",
            id="no number",
        ),
    ],
)
def test_contradictions_name_both(operator: Operator, env: dict[str, str], told: str) -> None:
    operator.install("vllm")
    assert told in operator.run(*TWO_NODES, env=env).error


def test_a_dry_run_of_a_larger_plan_takes_nothing_from_a_small_job(operator: Operator) -> None:
    ran = operator.run(*TWO_NODES, "--dry-run", env=slurm(0, "n1", 1))
    assert titles(ran.out) == ["head 0", "worker 1"]
    assert "--master-addr '$HEAD_IP'" in ran.out
    note = "the plan is for 2 nodes, and Slurm has started 1 (SLURM_STEP_NUM_NODES)"
    assert f"# note: {note}: nothing is taken from it\n" in ran.err


def test_one_node_of_many_is_noted(operator: Operator) -> None:
    line = ("serve", FLASH, "--hardware", "b300", "--dry-run")
    ran = operator.run(*line, env=slurm(1, "n[1-2]", 2))
    note = "Slurm has 2 nodes (SLURM_STEP_NUM_NODES), and the plan uses one: see --nodes"
    assert f"# note: {note}\n" in ran.err
    assert ran.out == operator.run(*line).out


def test_an_export_and_a_plan_for_elsewhere_take_nothing(operator: Operator, host: object) -> None:
    facts = operator.home / "facts.json"
    operator.run("detect", "--save", str(facts), env=host("h200_8x"))  # type: ignore[operator]
    line = ("serve", M3, "--nodes", "2", "--host-facts", str(facts), "--dry-run")
    ran = operator.run(*line, env=slurm(1, "n[1-2]", 2))
    assert "--master-addr '$HEAD_IP'" in ran.out
    assert titles(ran.out) == ["head 0", "worker 1"]


# Checks of one part.


def test_a_routers_program_port_and_addresses_are_checked(operator: Operator) -> None:
    same = ("--endpoint", "PREFILL_NODE_1=10.0.0.1", "--endpoint", "DECODE_NODE_1=10.0.0.1")
    ran = operator.run("check", *POOLS[1:], "--role", "router", *same)
    assert ran.status == 4
    assert [line for line in ran.out.splitlines() if not line.startswith(" ")] == [
        "fail ADDRESS: prefill 0 and decode 0 have one address, 10.0.0.1",
        "fail PROGRAM: vllm-router is not on PATH",
        "4 passed, 2 failed",
    ]


def test_what_a_check_finds_stops_a_router_on_the_host_that_is_planned_for(
    operator: Operator, host: object, tmp_path: Path
) -> None:
    operator.install("vllm-router")
    stubbed = host("h200_8x")  # type: ignore[operator]
    with socket.create_server(("", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = ("serve", FLASH, "--strategy", "pd_cluster", "--role", "router", "--port", port)
        ran = operator.run(*line, env=stubbed)
    assert ran.status == 4
    assert f"fail PORT_BUSY: port {port} (router) is taken" in ran.error
    assert operator.run(*line, env=stubbed).argv[-4:-2] == ["--port", port]


def test_a_stores_own_file_has_to_be_there(operator: Operator) -> None:
    own = ("--endpoint", "MOONCAKE_STORE_CONFIG_PATH=/no/such/file.json")
    ran = operator.run("check", *STORE[1:], "--role", "store", *own)
    assert "fail CONFIG_FILE: /no/such/file.json cannot be read: No such file or" in ran.out
    operator.install("python3")
    ran = operator.run("check", *STORE[1:], "--role", "store", *MASTER)
    assert ran.status == 0, ran.out


GIVEN = {
    "HEAD_IP": "10.0.0.1", "IFACE_NAME": "eth7", "PREFILL_NODE_1": "10.0.0.1",
    "PREFILL_NODE_2": "10.0.0.2", "DECODE_NODE_1": "10.0.0.3", "MOONCAKE_MASTER_IP": "10.0.0.9",
    "VLLM_INSTANCE_1": "10.0.0.1", "VLLM_INSTANCE_2": "10.0.0.2",
}  # fmt: skip
WHOLE = {
    "two nodes": TWO_NODES,
    "data parallel over nodes": (*TWO_NODES[:4], "--strategy", "multi_node_dep", "--nodes", "3"),
    "trays": (*POOLS, "--prefill", "2:dep", "--decode", "1:tp"),
    "one host": SHARED,
    "a store": STORE,
    "an embedded store": (*TWO_NODES[:4], "--kv-offload", "kv_store_distributed_mooncake"),
    "a companion": (*TWO_NODES[:4], "--kv-offload", "lmcache"),
}


@pytest.mark.parametrize("line", WHOLE.values(), ids=WHOLE)
def test_each_part_runs_as_the_whole_view_says(operator: Operator, line: tuple[str, ...]) -> None:
    for name in ("vllm", "vllm-router", "mooncake_master", "lmcache", "python3"):
        operator.install(name)
    (operator.cwd / "all.env").write_text("".join(f"{k}={v}\n" for k, v in GIVEN.items()))
    line = (*line, "--endpoint", "@all.env", "--skip", "all")
    parts = operator.run(*line, "--output", "json").json["deployment"]["parts"]
    instances = [part for part in parts if part["role"] == "instance"]
    for part in parts:
        rank = part["node"] if len(instances) > 1 and part in instances else part["rank"]
        ran = operator.run(*line, "--role", part["role"], "--node-rank", str(rank))
        assert ran.argv == part["argv"][1:], part["name"]
        assert ran.record["env"] == operator.env | part["env"], part["name"]
        assert part["placeholders"] == []
