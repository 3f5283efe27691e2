"""Whole machines, by name: what their drivers answer and what is in their files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.host import amd_tree, amdsmi_stub, nvml_stub

Files = Mapping[str, str]

AVX512 = "avx2 avx512f avx512_vnni avx512_bf16"
AMX = f"{AVX512} amx_bf16 amx_tile amx_int8"


def x86(model: str, flags: str, sockets: int = 2, cpus: int = 128, gib: int = 2048) -> Files:
    """A server's CPUs: each socket is a NUMA node."""
    each = cpus // sockets
    tree = {
        "proc/cpuinfo": f"processor\t: 0\nmodel name\t: {model}\nflags\t\t: fpu sse2 {flags}\n\n"
        * 2,
        "proc/meminfo": _meminfo(gib << 20, (gib - 32) << 20),
        "sys/devices/system/cpu/online": f"0-{cpus - 1}\n",
    }
    for socket in range(sockets):
        span = f"{socket * each}-{(socket + 1) * each - 1}\n"
        node = f"sys/devices/system/node/node{socket}"
        tree[f"{node}/cpulist"] = span
        tree[f"{node}/meminfo"] = f"Node {socket} MemTotal: {(gib << 20) // sockets} kB\n"
        for cpu in range(socket * each, (socket + 1) * each):
            tree[f"sys/devices/system/cpu/cpu{cpu}/topology/core_siblings_list"] = span
            break  # the first of a socket is the one that is read
    return tree


def arm(part: str, features: str, total_kib: int, nodes: Mapping[int, str]) -> Files:
    """A machine whose GPU sits beside an Arm CPU. A node without CPUs is the GPU's memory."""
    cpuinfo = (
        f"processor\t: 0\nFeatures\t: fp {features}\nCPU implementer\t: 0x41\nCPU part\t: {part}\n"
    )
    tree = {
        "proc/cpuinfo": cpuinfo,
        "proc/meminfo": _meminfo(total_kib, total_kib * 15 // 16),
        "sys/devices/system/cpu/online": "0-71\n",
        "sys/devices/system/cpu/cpu0/topology/core_siblings_list": "0-71\n",
    }
    for node, cpus in nodes.items():
        tree[f"sys/devices/system/node/node{node}/cpulist"] = f"{cpus}\n"
        size = f"Node {node} MemTotal: {total_kib // len(nodes)} kB\n"
        tree[f"sys/devices/system/node/node{node}/meminfo"] = size
    return tree


def _meminfo(total_kib: int, available_kib: int) -> str:
    return f"MemTotal:       {total_kib} kB\nMemAvailable:   {available_kib} kB\n"


XEON = x86("INTEL(R) XEON(R) PLATINUM 8570", AMX, cpus=224)
EPYC = x86("AMD EPYC 9575F 64-Core Processor", AVX512, cpus=256, gib=1536)
DESKTOP = x86("AMD Ryzen 9 9950X 16-Core Processor", AVX512, sockets=1, cpus=32, gib=96)
GRACE = arm("0xd4f", "asimd sve bf16 i8mm", 501 << 20, {0: "0-71", 1: ""})
SPARK = arm("0xd85", "asimd sve bf16 i8mm", 125516820, {0: "0-19"})
# Eight GPUs of NVIDIA's on the bus, and a BMC's graphics.
ON_THE_BUS = {
    f"sys/bus/pci/devices/0000:{bus:02x}:00.0/{file}": f"{text}\n"
    for bus, vendor in [(0x02, "0x1a03"), *((0x19 + index, "0x10de") for index in range(8))]
    for file, text in (("vendor", vendor), ("class", "0x030200"))
}
VLLM = {f"proc/{4711 + index}/comm": "VLLM::EngineCor\n" for index in range(7)}


class Machine:
    """The scenario of each vendor's stub, and the files under the root."""

    def __init__(self, nvidia: str = "no_driver", amd: str = "no_rocm", *files: Files) -> None:
        self.nvidia = nvidia
        self.amd = amd
        self.files = {name: text for tree in files for name, text in tree.items()}

    def install(self, root: Path) -> str:
        """Write the files; the root to read from."""
        for name, content in self.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return str(root)

    def env(self, nvml: Path, amdsmi: Path) -> dict[str, str]:
        """A subprocess's whole environment, without programs that the machine has."""
        nvidia = nvml_stub.env(self.nvidia, nvml)
        amd = amdsmi_stub.variables(self.amd, amdsmi)
        libraries = (nvidia["LD_LIBRARY_PATH"], f"{amd['ROCM_PATH']}/lib")
        return {
            **nvidia,
            **amd,
            "LD_LIBRARY_PATH": os.pathsep.join(libraries),
            "PATH": str(nvml / "no_driver"),
        }


MACHINES = {
    "h100_8x": Machine("h100_8x", "no_rocm", XEON),
    "h100_8x_old_driver": Machine("h100_8x_old_driver", "no_rocm", XEON),
    "h200_8x": Machine("h200_8x", "no_rocm", XEON),
    "h200_4x": Machine("h200_4x", "no_rocm", XEON),
    "h200_one_lost": Machine("h200_one_lost", "no_rocm", XEON),
    "h200_one_hangs": Machine("one_hangs", "no_rocm", XEON),
    "h200_fabric_in_progress": Machine("fabric_in_progress", "no_rocm", XEON),
    "h200_memory_errors": Machine("memory_errors", "no_rocm", XEON),
    "b200_8x_busy": Machine("b200_8x_busy", "no_rocm", XEON, VLLM),
    "b300_8x": Machine("b300_8x", "no_rocm", XEON),
    "gb200_4x": Machine("gb200_4x", "no_rocm", GRACE),
    "gb300_4x": Machine("gb300_4x", "no_rocm", GRACE),
    "gb300_1x": Machine("gb300_1x", "no_rocm", GRACE),
    "gb10": Machine("gb10", "no_rocm", SPARK),
    "mig_7x1g": Machine("mig_7x1g", "no_rocm", XEON),
    "mig_no_permission": Machine("mig_no_permission", "no_rocm", XEON),
    "rtx_5090_2x": Machine("rtx_5090_2x", "no_rocm", DESKTOP),
    "rtx_pro_6000_1x": Machine("rtx_pro_6000_1x", "no_rocm", DESKTOP),
    "rtx_pro_6000_2x": Machine("rtx_pro_6000_2x", "no_rocm", DESKTOP),
    "rtx_pro_6000_8x": Machine("rtx_pro_6000_8x", "no_rocm", EPYC),
    "rtx_4090": Machine("rtx_4090", "no_rocm", DESKTOP),
    "a100_and_h100": Machine("a100_and_h100", "no_rocm", XEON),
    "a100_8x": Machine("a100_8x", "no_rocm", EPYC),
    "no_driver": Machine("no_driver", "no_rocm", XEON),
    "mismatch": Machine("mismatch", "no_rocm", XEON, ON_THE_BUS),
    "hangs": Machine("hangs", "no_rocm", XEON, ON_THE_BUS),
    "crashes": Machine("crashes", "no_rocm", XEON),
    "mi300x_8x": Machine("no_driver", "mi300x_8x", EPYC, amd_tree.mi300x()),
    "mi355x_8x": Machine("no_driver", "mi355x_8x", EPYC, amd_tree.mi355x()),
    "mi355x_8x_kernel_alone": Machine("no_driver", "no_rocm", EPYC, amd_tree.mi355x()),
    "mi300x_cpx": Machine("no_driver", "mi300x_cpx", EPYC),
    "mi300x_vm": Machine("no_driver", "mi300x_vm", EPYC),
    "mi300x_one_hangs": Machine("no_driver", "one_hangs", EPYC, amd_tree.mi300x()),
    "apu_and_discrete": Machine(
        "no_driver", "apu_and_discrete", DESKTOP, amd_tree.apu_and_discrete()
    ),
    "both_vendors": Machine("h200_4x", "mi300x_8x", EPYC, amd_tree.mi300x()),
    "serving_and_display": Machine(
        "rtx_5090_2x", "apu_and_discrete", DESKTOP, amd_tree.apu_and_discrete()
    ),
    "nothing": Machine(),
}
