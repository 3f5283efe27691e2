"""The CPUs: their model, what they can do of what vLLM's CPU backend asks for, their nodes."""

from __future__ import annotations

from ..model.host import HostFacts, NumaNode
from .reading import list_dir, printable, read_file

_CPUINFO = "proc/cpuinfo"
_ONE_PROCESSOR = 1 << 13  # of /proc/cpuinfo: the rest says the same, and costs a call to each CPU
_CPUS = "sys/devices/system/cpu"
_NODES = "sys/devices/system/node"

# Arm kernels print numbers, no name: (implementer, part). The CPUs beside NVIDIA's GPUs.
_ARM_CORES = {
    ("0x41", "0xd4f"): "Arm Neoverse-V2",  # Grace
    ("0x41", "0xd85"): "Arm Cortex-X925",  # GB10's large cores
    ("0x41", "0xd87"): "Arm Cortex-A725",  # and its small ones
}
_X86_FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8")
_ARM_FLAGS = {"asimd": "neon", "sve": "sve", "bf16": "bf16", "i8mm": "i8mm"}


def read(root: str = "/") -> HostFacts:
    """The CPU part of the host facts."""
    entries = _entries(root)
    return HostFacts(
        cpu_model=printable(entries.get("model name", "")) or _arm_core(entries),
        cpu_arch=_arch(entries),
        cpu_sockets=_sockets(root),
        cpu_flags=_flags(entries),
        numa_nodes=_numa_nodes(root),
    )


def _entries(root: str) -> dict[str, str]:
    """Of the first processor."""
    entries: dict[str, str] = {}
    for line in (read_file(root, _CPUINFO, limit=_ONE_PROCESSOR) or "").splitlines():
        key, _, value = line.partition(":")
        entries.setdefault(key.strip(), value.strip())
    return entries


def _arm_core(entries: dict[str, str]) -> str | None:
    implementer, part = entries.get("CPU implementer"), entries.get("CPU part")
    if not implementer or not part:
        return None
    plain = f"Arm CPU, implementer {printable(implementer)}, part {printable(part)}"
    return _ARM_CORES.get((implementer.lower(), part.lower()), plain)


def _arch(entries: dict[str, str]) -> str | None:
    """As a container image is named for it: what the kernel lists is the sign of it."""
    if "flags" in entries:
        return "x86_64"
    return "aarch64" if "Features" in entries or "CPU implementer" in entries else None


def _flags(entries: dict[str, str]) -> tuple[str, ...]:
    has = set(entries.get("flags", "").split())
    arm = set(entries.get("Features", "").split())
    return (
        *(flag for flag in _X86_FLAGS if flag in has),
        *(name for flag, name in _ARM_FLAGS.items() if flag in arm),
    )


def _sockets(root: str) -> int | None:
    """Counted by the CPUs that share a package with one not yet counted."""
    left = set(_numbers(read_file(root, _CPUS, "online") or ""))
    sockets = 0
    while left:
        cpu = min(left)
        shared = read_file(root, _CPUS, f"cpu{cpu}", "topology/core_siblings_list")
        if not shared:
            return None
        left -= {cpu, *_numbers(shared)}
        sockets += 1
    return sockets or None


def _numa_nodes(root: str) -> tuple[NumaNode, ...]:
    found = []
    for name in list_dir(root, _NODES):
        number = name.removeprefix("node")
        cpus = read_file(root, _NODES, name, "cpulist") if number.isdecimal() else None
        if cpus is not None:
            memory = _memory(read_file(root, _NODES, name, "meminfo") or "")
            node = NumaNode(node=int(number), cpus=len(_numbers(cpus)), memory_bytes=memory)
            found.append(node)
    return tuple(found)


def _memory(meminfo: str) -> int | None:
    """Of the line "Node 0 MemTotal:  263826484 kB"."""
    for line in meminfo.splitlines():
        words = line.split()
        if words[2:3] == ["MemTotal:"] and len(words) == 5 and words[3].isdecimal():
            return int(words[3]) * 1024
    return None


def _numbers(text: str) -> list[int]:
    """The numbers of a kernel's list, "0-3,8". Nothing of a text that is none."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            return []
        numbers += range(int(first), min(int(last or first), int(first) + (1 << 16)) + 1)
    return numbers
