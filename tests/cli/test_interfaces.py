"""The interface towards the head, in real network namespaces with two networks between them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.cli.launcher import COMMAND, M3, Operator, Ran

IP = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or ""
HEAD, WORKER = (f"vllm-launch-{os.getpid()}-{name}" for name in ("head", "worker"))
TWO_NODES = ("serve", M3, "--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2")
SET_UP = f"""
netns add {HEAD}
netns add {WORKER}
link add h1 netns {HEAD} type veth peer name w1 netns {WORKER}
link add h2 netns {HEAD} type veth peer name w2 netns {WORKER}
-n {HEAD} addr add 10.77.1.1/24 dev h1
-n {HEAD} addr add 10.77.2.1/24 dev h2
-n {HEAD} addr add fd77::1/64 dev h2 nodad
-n {WORKER} addr add 10.77.1.2/24 dev w1
-n {WORKER} addr add 10.77.2.2/24 dev w2
-n {WORKER} addr add fd77::2/64 dev w2 nodad
-n {HEAD} link set lo up
-n {HEAD} link set h1 up
-n {HEAD} link set h2 up
-n {WORKER} link set lo up
-n {WORKER} link set w1 up
-n {WORKER} link set w2 up
-n {WORKER} rule add to 10.77.2.9 lookup 77
-n {WORKER} route add 10.77.2.9 via 10.77.1.1 table 77
"""


@pytest.fixture(scope="module")
def networks() -> Iterator[None]:
    """Two machines, "h1" to "w1" and "h2" to "w2", and a rule beside the main table."""
    if not IP and os.environ.get("CI"):
        pytest.fail("ip is not installed (Debian: iproute2)")
    if not IP or os.geteuid() != 0:
        pytest.skip("network namespaces need root and ip (Debian: iproute2)")
    try:
        for line in SET_UP.strip().splitlines():
            subprocess.run([IP, *line.split()], check=True, capture_output=True, timeout=20)
        yield
    finally:
        for name in (HEAD, WORKER):
            subprocess.run([IP, "netns", "del", name], check=False, capture_output=True)


def inside(
    operator: Operator, namespace: str, *words: str, env: dict[str, str] | None = None
) -> Ran:
    return operator.execute([IP, "netns", "exec", namespace, *COMMAND, *TWO_NODES, *words], env=env)


@pytest.mark.parametrize(
    ("namespace", "rank", "head", "interface", "said"),
    [
        pytest.param(WORKER, "1", "10.77.1.1", "w1", "the route to 10.77.1.1", id="one network"),
        pytest.param(WORKER, "1", "10.77.2.1", "w2", "the route to 10.77.2.1", id="the other"),
        pytest.param(WORKER, "1", "fd77::1", "w2", "the route to fd77::1", id="IPv6"),
        pytest.param(WORKER, "1", "10.77.2.9", "w1", "the route to 10.77.2.9", id="by a rule"),
        pytest.param(HEAD, "0", "10.77.1.1", "h1", "it has the head's address", id="on the head"),
        pytest.param(HEAD, "0", "fd77::1", "h2", "it has the head's address", id="its IPv6"),
        pytest.param(HEAD, "0", "127.0.0.1", "lo", "it has the head's address", id="loopback"),
    ],
)
@pytest.mark.usefixtures("networks")
def test_the_interface_is_the_one_towards_the_head(
    operator: Operator, namespace: str, rank: str, head: str, interface: str, said: str
) -> None:
    operator.install("vllm")
    words = ("--node-rank", rank, "--endpoint", f"HEAD_IP={head}", "--skip", "all")
    ran = inside(operator, namespace, *words)
    env = ran.record["env"]
    assert (env["GLOO_SOCKET_IFNAME"], env["NCCL_SOCKET_IFNAME"]) == (interface, interface)
    assert f"# $IFACE_NAME = {interface}: {said}\n" in ran.err


@pytest.mark.usefixtures("networks")
def test_no_way_to_the_head_is_an_error(operator: Operator) -> None:
    operator.install("vllm")
    ran = inside(operator, WORKER, "--node-rank", "1", "--endpoint", "HEAD_IP=192.0.2.1")
    assert ran.error == (
        "error: not filled in: $IFACE_NAME (no route leads to 192.0.2.1)\n"
        "  give --endpoint IFACE_NAME=…\n"
    )


@pytest.mark.usefixtures("networks")
def test_a_head_without_an_address_is_an_error(operator: Operator) -> None:
    operator.install("vllm")
    ran = inside(operator, WORKER, "--node-rank", "1", "--endpoint", "HEAD_IP=no-such-host.invalid")
    assert "not filled in: $IFACE_NAME (no-such-host.invalid has no address: " in ran.error


@pytest.mark.usefixtures("networks")
def test_the_loopback_head_of_two_nodes_stops_a_launch(operator: Operator) -> None:
    operator.install("vllm")
    ran = inside(operator, HEAD, "--node-rank", "0", "--endpoint", "HEAD_IP=127.0.0.1", "--dry-run")
    assert "export GLOO_SOCKET_IFNAME='$IFACE_NAME'" in ran.out
    checked = operator.execute(
        [IP, "netns", "exec", HEAD, *COMMAND, "check", *TWO_NODES[1:], "--node-rank", "0",
         "--endpoint", "HEAD_IP=127.0.0.1", "--endpoint", "IFACE_NAME=lo"],
    )  # fmt: skip
    assert "fail HEAD: the head 127.0.0.1 resolves to 127.0.0.1, an address of" in checked.out
    assert "fail IFACE: GLOO_SOCKET_IFNAME names the loopback interface" in checked.out


@pytest.mark.usefixtures("networks")
def test_a_launcher_says_that_this_is_the_machine(operator: Operator) -> None:
    """A dry run then fills in what the launch will."""
    operator.install("vllm")
    env = {
        "PMIX_RANK": "1", "MASTER_ADDR": "10.77.2.1",
    }  # fmt: skip
    printed = inside(operator, WORKER, "--dry-run", env=env)
    assert "export GLOO_SOCKET_IFNAME=w2\n" in printed.out
    ran = inside(operator, WORKER, "--skip", "all", env=env)
    assert ran.record["env"]["GLOO_SOCKET_IFNAME"] == "w2"
