"""The CPU's model, from /proc/cpuinfo."""

from __future__ import annotations

from .reading import printable, read_file

# Arm kernels print numbers, no name: (implementer, part). The CPUs beside NVIDIA's GPUs.
_ARM_CORES = {
    ("0x41", "0xd4f"): "Arm Neoverse-V2",  # Grace
    ("0x41", "0xd85"): "Arm Cortex-X925",  # GB10's large cores
    ("0x41", "0xd87"): "Arm Cortex-A725",  # and its small ones
}


def read(root: str = "/") -> str | None:
    """The first processor's model name, or None."""
    entries: dict[str, str] = {}
    for line in (read_file(root, "proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        entries.setdefault(key.strip(), value.strip())
    return printable(entries.get("model name", "")) or _arm_core(entries)


def _arm_core(entries: dict[str, str]) -> str | None:
    implementer, part = entries.get("CPU implementer"), entries.get("CPU part")
    if not implementer or not part:
        return None
    plain = f"Arm CPU, implementer {printable(implementer)}, part {printable(part)}"
    return _ARM_CORES.get((implementer.lower(), part.lower()), plain)
