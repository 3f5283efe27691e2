"""All of a host's facts, and their file: what ``detect --save`` writes and others load."""

from __future__ import annotations

from ..model.host import HostFacts
from . import amd, child, cpu, drivers, memory, nvidia, pci
from .facts_file import from_dict, load, save, to_dict

__all__ = ["from_dict", "load", "read_host", "save", "to_dict"]


def read_host(root: str = "/", seconds: float = child.SECONDS) -> HostFacts:
    """What this machine has. Never raises: what could not be read is in ``looked_for``.

    No driver holds it up longer than ``seconds``.
    """
    begun = drivers.begin({"NVIDIA GPUs": nvidia.read, "AMD GPUs": amd.read}, root, seconds)
    total, available = memory.read(root)
    host = cpu.read(root)
    unread = [("memory (/proc/meminfo)", "not readable")] if total is None else []
    unread += [("CPU model (/proc/cpuinfo)", "not named there")] if host.cpu_model is None else []
    from_nvidia, from_amd = drivers.finish(begun, seconds)
    return host.replace(
        gpus=from_nvidia.gpus + from_amd.gpus,
        memory_bytes=total,
        memory_available_bytes=available,
        nvidia_driver=from_nvidia.nvidia_driver,
        cuda_driver=from_nvidia.cuda_driver,
        amd_driver=from_amd.amd_driver,
        rocm=from_amd.rocm,
        render_gid=from_amd.render_gid,
        video_gid=from_amd.video_gid,
        device_access=from_amd.device_access,
        looked_for=(
            *from_nvidia.looked_for,
            *(() if from_nvidia.gpus else _on_the_bus(root)),
            *from_amd.looked_for,
            *unread,
        ),
    )


def _on_the_bus(root: str) -> tuple[tuple[str, str], ...]:
    """NVIDIA GPUs that are there, though no driver answers for them. AMD's kernel driver tells."""
    there = pci.count(root, pci.NVIDIA)
    outcome = f"{there}, for which no driver answers"
    return (("NVIDIA GPUs on the PCI bus", outcome),) if there else ()
