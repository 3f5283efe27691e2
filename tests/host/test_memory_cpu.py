"""Host memory and CPUs out of /proc and /sys."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.host import machines
from vllm_launch.host import cpu, facts, memory, nvidia
from vllm_launch.model.host import HostFacts, NumaNode


@pytest.mark.parametrize(
    ("meminfo", "expected"),
    [
        pytest.param(
            "MemTotal: 2 kB\nMemFree: 9 kB\nMemAvailable:  1 kB\n", (2048, 1024), id="both"
        ),
        pytest.param("MemTotal:  2 kB\n", (2048, None), id="kernel without MemAvailable"),
        pytest.param("MemTotal: two kB\nMemAvailable: 1\n", (None, None), id="no numbers"),
        pytest.param("", (None, None), id="empty"),
        pytest.param(None, (None, None), id="no file"),
    ],
)
def test_memory(
    files: Callable[[dict[str, str]], str],
    meminfo: str | None,
    expected: tuple[int | None, int | None],
) -> None:
    assert memory.read(files({} if meminfo is None else {"proc/meminfo": meminfo})) == expected


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        pytest.param(
            "processor\t: 0\nmodel name\t: AMD EPYC 9575F 64-Core  Processor\n"
            "\nprocessor\t: 1\nmodel name\t: other\n",
            "AMD EPYC 9575F 64-Core Processor",
            id="x86",
        ),
        pytest.param("CPU implementer : 0x41\nCPU part : 0xd4f\n", "Arm Neoverse-V2", id="Grace"),
        pytest.param(
            "CPU implementer : 0x61\nCPU part : 0x022\n",
            "Arm CPU, implementer 0x61, part 0x022",
            id="another Arm",
        ),
        pytest.param("processor : 0\n", None, id="nothing said"),
        pytest.param(None, None, id="no file"),
    ],
)
def test_cpu(
    files: Callable[[dict[str, str]], str], cpuinfo: str | None, expected: str | None
) -> None:
    host = cpu.read(files({} if cpuinfo is None else {"proc/cpuinfo": cpuinfo}))
    assert host.cpu_model == expected


def test_a_servers_cpus(files: Callable[[dict[str, str]], str]) -> None:
    host = cpu.read(files(dict(machines.XEON)))
    assert host.cpu_model == "INTEL(R) XEON(R) PLATINUM 8570"
    assert (host.cpu_arch, host.cpu_sockets) == ("x86_64", 2)
    assert host.cpu_flags == (
        "avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8",
    )  # fmt: skip
    assert host.numa_nodes == (
        NumaNode(node=0, cpus=112, memory_bytes=1 << 40),
        NumaNode(node=1, cpus=112, memory_bytes=1 << 40),
    )


def test_an_arm_cpu_beside_a_gpu_whose_memory_is_a_node(
    files: Callable[[dict[str, str]], str],
) -> None:
    host = cpu.read(files(dict(machines.GRACE)))
    assert (host.cpu_model, host.cpu_arch) == ("Arm Neoverse-V2", "aarch64")
    assert host.cpu_flags == ("neon", "sve", "bf16", "i8mm")
    assert [node.cpus for node in host.numa_nodes] == [72, 0]


@pytest.mark.parametrize(
    ("online", "siblings", "sockets"),
    [
        pytest.param("0-3", {0: "0-3"}, 1, id="one"),
        pytest.param("0-3", {0: "0,2", 1: "1,3"}, 2, id="two, numbered in turn"),
        pytest.param("0,2-3", {0: "0", 2: "2-3"}, 2, id="a CPU is offline"),
        pytest.param("0-3", {0: "0-1"}, None, id="not told of the second"),
        pytest.param("0-3", {}, None, id="not told"),
        pytest.param("", {}, None, id="nothing"),
        pytest.param("all", {}, None, id="no list"),
        pytest.param("0-99999999999", {0: "x"}, None, id="a list without end"),
    ],
)
def test_sockets(
    files: Callable[[dict[str, str]], str],
    online: str,
    siblings: dict[int, str],
    sockets: int | None,
) -> None:
    tree = {"sys/devices/system/cpu/online": online}
    for number, text in siblings.items():
        tree[f"sys/devices/system/cpu/cpu{number}/topology/core_siblings_list"] = text
    assert cpu.read(files(tree)).cpu_sockets == sockets


def test_a_node_without_a_readable_size(files: Callable[[dict[str, str]], str]) -> None:
    tree = {
        "sys/devices/system/node/node0/cpulist": "0-7\n",
        "sys/devices/system/node/node0/meminfo": "Node 0 MemFree: 7 kB\nNode 0 MemTotal: x kB\n",
        "sys/devices/system/node/possible": "0\n",
    }
    assert cpu.read(files(tree)).numa_nodes == (NumaNode(node=0, cpus=8),)


@pytest.mark.usefixtures("no_amd_tools")
def test_a_host_of_nothing_has_only_reasons(
    files: Callable[[dict[str, str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(root: str, seconds: float) -> None:
        raise MemoryError(root)

    monkeypatch.setattr(nvidia, "read", fails)
    host = facts.read_host(files({}))
    assert host.gpus == ()
    assert dict(host.looked_for) == {
        "NVIDIA GPUs": f"failed: MemoryError: {files({})}",
        "AMD SMI library (Python package amdsmi)": "not installed",
        "amd-smi command": "not found",
        "AMD kernel driver (/sys/class/kfd, /sys/class/drm)": "not loaded",
        "memory (/proc/meminfo)": "not readable",
        "CPU model (/proc/cpuinfo)": "not named there",
    }


@pytest.mark.usefixtures("no_amd_tools")
def test_gpus_that_no_driver_answers_for_are_counted_on_the_bus(
    files: Callable[[dict[str, str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvidia, "read", lambda root, seconds: HostFacts())
    devices = {"0000:17:00.0": "0x030200", "0000:18:00.0": "0x030000", "0000:19:00.0": "0x068000"}
    tree = {}
    for address, kind in devices.items():
        tree[f"sys/bus/pci/devices/{address}/vendor"] = "0x10de\n"
        tree[f"sys/bus/pci/devices/{address}/class"] = f"{kind}\n"
    tree["sys/bus/pci/devices/0000:01:00.0/vendor"] = "0x1a03\n"
    tree["sys/bus/pci/devices/0000:01:00.0/class"] = "0x030000\n"
    looked_for = dict(facts.read_host(files(tree)).looked_for)
    assert looked_for["NVIDIA GPUs on the PCI bus"] == "2, for which no driver answers"
