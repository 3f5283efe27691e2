"""Interfaces, routes and names; device files."""

from __future__ import annotations

import os
import socket

import pytest

from tests.preflight.build import situation, told
from tests.system.conftest import Tree
from vllm_launch.host.system import read_system
from vllm_launch.host.system.network import addresses, route
from vllm_launch.model.system import Fabric, Interface, Wanted

TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.0.0.0/24 2 0 2
        |-- 10.0.0.0
           /24 link UNICAST
        |-- 10.0.0.5
           /32 host LOCAL
        |-- 10.0.0.255
           /32 link BROADCAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.1
           /32 host LOCAL
"""
ROUTES = (
    "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    "ib0\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
    "eth9\t0001A8C0\t00000000\t0000\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)
V6 = "fe800000000000000000000000000001 02 40 20 80 eth0\n"
FILES = {
    "proc/net/fib_trie": TRIE,
    "proc/net/route": ROUTES,
    "proc/net/if_inet6": V6,
    "sys/class/net/lo/operstate": "unknown\n",
    "sys/class/net/eth0/operstate": "up\n",
    "sys/class/net/ib0/operstate": "down\n",
    "sys/class/net/bonding_masters": "\n",
}
NET = Wanted(interfaces=True, memory=False)


def test_interfaces(tree: Tree) -> None:
    found = read_system(NET, tree(FILES)).interfaces
    assert set(found or ()) == {
        Interface(name="lo", up=True),
        Interface(name="eth0", up=True),
        Interface(name="ib0", up=False),
    }


def test_own_addresses(tree: Tree) -> None:
    assert addresses(tree(FILES)) == {"10.0.0.5", "127.0.0.1", "fe80::1"}


def test_own_addresses_of_a_kernel_without_ipv6(tree: Tree) -> None:
    assert addresses(tree({"proc/net/fib_trie": TRIE})) == {"10.0.0.5", "127.0.0.1"}


def test_own_addresses_that_cannot_be_read(tree: Tree) -> None:
    assert addresses(tree({"proc/net/if_inet6": V6})) is None


@pytest.mark.parametrize(
    ("address", "interface"),
    [
        ("10.0.0.9", "eth0"),
        ("192.168.1.1", "ib0"),
        ("8.8.8.8", "eth0"),
        ("::1", ""),
        ("no address", ""),
    ],
)
def test_the_way_to_an_address(tree: Tree, address: str, interface: str) -> None:
    assert route(address, tree(FILES)) == interface


def test_no_way_at_all(tree: Tree) -> None:
    assert route("10.0.0.9", tree({})) == ""


def test_names_by_address(tree: Tree) -> None:
    wanted = Wanted(names=("10.0.0.5", "192.168.7.7", "127.0.0.1"), memory=False)
    own, other, loopback = read_system(wanted, tree(FILES)).names or ()
    assert (own.here, own.loopback) == (True, False)
    assert (other.here, other.interface) == (False, "ib0")
    assert (loopback.here, loopback.loopback) == (True, True)


def test_names_of_this_machine() -> None:
    facts = read_system(Wanted(names=("localhost", "no-such-host.invalid")))
    loopback, none = facts.names or ()
    assert loopback.loopback
    assert none.error
    assert none.addresses == ()


def test_the_head_that_resolves_to_loopback() -> None:
    facts = read_system(Wanted(names=("localhost",)))
    plan = situation("-tp 16 --nnodes 2 --master-addr localhost", system=facts)
    (line,) = told(plan, "HEAD") or ()
    assert line.startswith("fail: the head localhost resolves to ")
    assert line.endswith(", an address of loopback")


def test_own_name() -> None:
    facts = read_system(NET)
    assert facts.own_name is not None
    assert facts.own_name.name == socket.gethostname()


def test_no_interfaces(tree: Tree) -> None:
    facts = read_system(NET, tree({}))
    assert facts.interfaces is None
    assert facts.why_unknown("interfaces") == "/sys/class/net is not there"


DEVICES = Wanted(rdma=True, imex=True, amd=True, memory=False)


def test_device_files(tree: Tree) -> None:
    root = tree(
        {
            "sys/class/infiniband/mlx5_0/": "",
            "sys/class/infiniband/mlx5_10/": "",
            "sys/class/infiniband/mlx5_2/": "",
            "dev/nvidia-caps-imex-channels/channel0": "",
            "dev/kfd": "",
            "dev/dri/renderD128": "",
            "dev/dri/renderD129/": "",
            "dev/dri/card0": "",
        }
    )
    facts = read_system(DEVICES, root)
    assert facts.rdma_devices == ("mlx5_0", "mlx5_2", "mlx5_10")
    assert facts.imex_channels == ("channel0",)
    assert facts.amd_devices == (
        ("/dev/kfd", ""),
        ("/dev/dri/renderD128", ""),
        ("/dev/dri/renderD129", "is a directory"),
    )


def test_no_device_files(tree: Tree) -> None:
    facts = read_system(DEVICES, tree({"sys/class/": ""}))
    assert (facts.rdma_devices, facts.imex_channels) == ((), ())
    assert facts.amd_devices == (("/dev/kfd", "not there"), ("/dev/dri/renderD128", "not there"))


def test_devices_that_may_not_be_opened(tree: Tree) -> None:
    root = tree({"dev/kfd": "", "dev/dri/renderD128": ""})
    os.chmod(f"{root}/dev/kfd", 0)
    found = dict(read_system(DEVICES, root).amd_devices or ())
    assert found["/dev/kfd"] == ("" if os.geteuid() == 0 else "permission denied")


def test_devices_of_this_machine() -> None:
    facts = read_system(DEVICES)
    assert facts.rdma_devices is not None
    assert facts.imex_channels is not None
    assert facts.amd_devices is not None


FABRIC = Wanted(fabric=True, memory=False)
SWITCH = {"proc/driver/nvidia-nvswitch/devices/0000:05:00.0/information": ""}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, Fabric(switches=0)),
        (SWITCH, Fabric(switches=1, manager=None)),
        ({**SWITCH, "proc/1/comm": "systemd\n"}, Fabric(switches=1, manager=False)),
        (
            {**SWITCH, "proc/1/comm": "systemd\n", "proc/77/comm": "nv-fabricmanage\n"},
            Fabric(switches=1, manager=True),
        ),
        (
            {
                **SWITCH,
                "proc/1/comm": "sleep\n",
                "usr/bin/nv-fabricmanager": (
                    "#!/bin/sh\necho 'Fabric Manager version is : 580.65.06'\n"
                ),
            },
            Fabric(switches=1, manager=None, version="580.65.06"),
        ),
    ],
)
def test_nvswitch(tree: Tree, files: dict[str, str], found: Fabric) -> None:
    assert read_system(FABRIC, tree(files), {"PATH": "/usr/bin"}).fabric == found
