"""All of a host's facts, and their file: what ``detect --save`` writes and others load."""

from __future__ import annotations

from ..model.host import HostFacts
from . import amd, cpu, memory, nvidia
from .facts_file import from_dict, load, save, to_dict
from .reading import why

__all__ = ["from_dict", "load", "read_host", "save", "to_dict"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def read_host(root: str = "/") -> HostFacts:
    """What this machine has. Never raises: what could not be read is in ``looked_for``."""
    from_nvidia = _vendor("NVIDIA GPUs", nvidia.read, root)
    from_amd = _vendor("AMD GPUs", amd.read, root)
    total, available = memory.read(root)
    cpu_model = cpu.read(root)
    unread = [("memory (/proc/meminfo)", "not readable")] if total is None else []
    unread += [("CPU model (/proc/cpuinfo)", "not named there")] if cpu_model is None else []
    return HostFacts(
        gpus=from_nvidia.gpus + from_amd.gpus,
        cpu_model=cpu_model,
        memory_bytes=total,
        memory_available_bytes=available,
        nvidia_driver=from_nvidia.nvidia_driver,
        cuda_driver=from_nvidia.cuda_driver,
        rocm=from_amd.rocm,
        render_gid=from_amd.render_gid,
        video_gid=from_amd.video_gid,
        looked_for=(*from_nvidia.looked_for, *from_amd.looked_for, *unread),
    )


def _vendor(what: str, read: Callable[[str], HostFacts], root: str) -> HostFacts:
    """One vendor's library must not take the other's GPUs away."""
    try:
        return read(root)
    except Exception as error:
        return HostFacts(looked_for=((what, f"failed: {why(error)}"),))
