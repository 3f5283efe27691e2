"""What has to be alike on machines that serve together, as it is read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from vllm_launch.host.netlink import holder_of, own_addresses, route_to
from vllm_launch.host.node import interfaces, rdma_devices, with_images, with_node
from vllm_launch.model.host import HostFacts, LocalImage, NetworkInterface, RdmaDevice

IP = shutil.which("ip", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
FILES = {
    "proc/sys/kernel/osrelease": "6.8.0-60-generic\n",
    "sys/class/net/lo/operstate": "unknown\n",
    "sys/class/net/eth0/operstate": "up\n",
    "sys/class/net/eth0/speed": "25000\n",
    "sys/class/net/ib0/operstate": "down\n",
    "sys/class/net/ib0/speed": "-1\n",
    "sys/class/net/docker0/bridge/bridge_id": "8000\n",
    "sys/class/net/veth1/brport/state": "3\n",
    "sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n",
    "sys/class/infiniband/mlx5_0/ports/1/rate": "400 Gb/sec (4X NDR)\n",
    "sys/class/infiniband/mlx5_1/ports/1/state": "1: DOWN\n",
}
ADDRESSES = {
    "lo": ["127.0.0.1/8", "::1/128"],
    "eth0": ["10.0.0.1/24", "fe80::1/64", "169.254.20.10/32"],
    "ib0": ["fd00::1/64"],
    "docker0": ["172.17.0.1/16"],
    "veth1": ["10.244.0.1/24"],
    "kube-ipvs0": ["10.96.0.1/32"],
}


@pytest.fixture
def root(tmp_path: Path) -> str:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "sys/class/net/kube-ipvs0").mkdir()
    return str(tmp_path)


def test_interfaces_that_lead_to_other_machines(root: str) -> None:
    assert interfaces(root, ADDRESSES) == (
        NetworkInterface(name="ib0", up=False, speed_mbps=None, addresses=("fd00::1/64",)),
        NetworkInterface(name="eth0", up=True, speed_mbps=25000, addresses=("10.0.0.1/24",)),
    )


def test_rdma_devices_with_their_ports(root: str) -> None:
    assert rdma_devices(root) == (
        RdmaDevice(name="mlx5_0", state="ACTIVE", rate="400 Gb/sec"),
        RdmaDevice(name="mlx5_1", state="DOWN"),
    )


def test_what_cannot_be_read_stays_unknown(root: str, tmp_path: Path) -> None:
    found = with_node(HostFacts(), root, {})
    assert (found.kernel, found.vllm, found.interfaces) == ("6.8.0-60-generic", "", None)
    (tmp_path / "none").mkdir()
    bare = with_node(HostFacts(), str(tmp_path / "none"), {})
    assert (bare.kernel, bare.rdma_devices) == (None, None)


ID, DIGEST = f"sha256:{'1' * 64}", f"sha256:{'a' * 64}"
LISTED = f"""\
vllm/vllm-openai minimax-m3 {DIGEST} {ID}
vllm/vllm-openai <none> {DIGEST} {ID}
registry:5000/own/vllm built <none> {ID}
<none> <none> <none> sha256:{"2" * 64}
postgres 17 {DIGEST} {ID}
"""


def engine(root: str, name: str, text: str, status: int = 0) -> None:
    """An engine that knows the one question that it may be asked."""
    path = Path(root, "usr/bin", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = "image ls --no-trunc --digests --format {{.Repository}} {{.Tag}} {{.Digest}} {{.ID}}"
    path.write_text(
        f'#!/bin/sh\n[ "$*" = "{asked}" ] || exit 64\ncat <<E\n{text}E\nexit {status}\n'
    )
    path.chmod(0o755)


def test_images_of_vllm_by_each_engine(root: str) -> None:
    engine(root, "docker", LISTED)
    engine(root, "podman", f"docker.io/vllm/vllm-openai latest {DIGEST} {ID}\n")
    assert with_images(HostFacts(), root, {"PATH": "/usr/bin"}).images == (
        LocalImage(
            engine="docker", reference="vllm/vllm-openai:minimax-m3", id=ID, digest=DIGEST
        ),
        LocalImage(
            engine="docker", reference=f"vllm/vllm-openai@{DIGEST}", id=ID, digest=DIGEST
        ),
        LocalImage(engine="docker", reference="registry:5000/own/vllm:built", id=ID),
        LocalImage(
            engine="podman", reference="docker.io/vllm/vllm-openai:latest", id=ID, digest=DIGEST
        ),
    )  # fmt: skip


def test_images_are_unknown_where_an_engine_does_not_answer(root: str) -> None:
    assert with_images(HostFacts(), root, {"PATH": "/usr/bin"}).images == ()
    engine(root, "docker", LISTED)
    engine(root, "podman", "", status=1)
    assert with_images(HostFacts(), root, {"PATH": "/usr/bin"}).images is None


def test_the_kernel_answers_as_ip_does() -> None:
    if IP is None and os.environ.get("CI"):
        pytest.fail("ip is not installed (Debian: iproute2)")
    if IP is None:
        pytest.skip("ip is not installed (Debian: iproute2)")

    def ask(*words: str) -> list[dict[str, object]]:
        done = subprocess.run([IP, "-j", *words], capture_output=True, check=True)
        answer: list[dict[str, object]] = json.loads(done.stdout)
        return answer

    theirs = {
        link["ifname"]: sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])
        for link in ask("address")
        if link["addr_info"]
    }
    assert {name: sorted(found) for name, found in own_addresses().items()} == theirs
    for address in ("127.0.0.1", "::1"):
        assert route_to(address) == ask("route", "get", address)[0]["dev"]
        assert holder_of(address) in ("lo", "")
    for name, found in own_addresses().items():
        for address in found:
            assert holder_of(address.partition("/")[0]) == name
