"""One AMD GPU: what is asked of amdsmi, which is passed in. Each query may fail on each device."""

from __future__ import annotations

from . import amd_smi
from .reading import Unread, printable, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .reading import Reading

_ASIC = ("name", "pci_device_id", "gfx_target")
_NOT_SUPPORTED = (2, 3)  # amdsmi's codes for what a device, or its driver, does not have


def read(amdsmi: Any, handle: Any, root: str, reading: Reading) -> None:
    """Fill the reading."""
    asic: dict[str, Any] = {}
    reading.ask_all(_ASIC, _asic, amdsmi, handle, asic)
    reading.unknown += [
        (field, "amdsmi does not say") for field in _ASIC if reading.fields.get(field, "") is None
    ]
    serial = amd_smi.unique_id(asic.get("asic_serial"))
    reading.ask("uuid", lambda: serial or printable(amdsmi.amdsmi_get_gpu_device_uuid(handle)))
    for field, query in _QUERIES.items():
        reading.ask(field, query, amdsmi, handle, root)
    reading.done = True


def _asic(amdsmi: Any, handle: Any, kept: dict[str, Any]) -> dict[str, Any]:
    kept.update(amdsmi.amdsmi_get_gpu_asic_info(handle))
    return {
        "name": amd_smi.known_text(kept.get("market_name")),
        "pci_device_id": amd_smi.device_id(kept.get("device_id")),
        "gfx_target": amd_smi.known_text(kept.get("target_graphics_version")),
    }


def driver_version(amdsmi: Any, handle: Any) -> str | None:
    """The version of the kernel driver."""
    return amd_smi.known_text(amdsmi.amdsmi_get_gpu_driver_info(handle).get("driver_version"))


def _bus(amdsmi: Any, handle: Any, *_: Any) -> str:
    return printable(amdsmi.amdsmi_get_gpu_device_bdf(handle))


def _total(amdsmi: Any, handle: Any, *_: Any) -> int:
    total = int(amdsmi.amdsmi_get_gpu_memory_total(handle, amdsmi.AmdSmiMemoryType.VRAM))
    if not total:
        raise Unread("the driver says 0 bytes")
    return total


def _used(amdsmi: Any, handle: Any, *_: Any) -> int:
    return int(amdsmi.amdsmi_get_gpu_memory_usage(handle, amdsmi.AmdSmiMemoryType.VRAM))


def _partition(query: str) -> Callable[..., str | None]:
    """None on the many GPUs that have no partitions: nothing is unknown there."""

    def ask(amdsmi: Any, handle: Any, *_: Any) -> str | None:
        try:
            return amd_smi.known_text(getattr(amdsmi, query)(handle))
        except Exception:
            return None

    return ask


def _numa_node(amdsmi: Any, handle: Any, *_: Any) -> int | None:
    try:
        node = int(amdsmi.amdsmi_topo_get_numa_node_number(handle))
    except Exception as error:
        if getattr(error, "err_code", None) in _NOT_SUPPORTED:
            return None
        raise
    return node if node < 1 << 16 else None  # -1 of 32 bits: the machine has one node


def _processes(amdsmi: Any, handle: Any, root: str) -> Any:
    from ..model.host import GpuProcess

    try:
        entries = amdsmi.amdsmi_get_gpu_process_list(handle)
    except Exception as error:
        if getattr(error, "err_code", None) in _NOT_SUPPORTED:
            return None
        raise
    found = [
        GpuProcess(
            pid=int(entry["pid"]),
            name=program(root, int(entry["pid"])) or _program(entry.get("name")),
            memory_bytes=int((entry.get("memory_usage") or {}).get("vram_mem") or 0) or None,
        )
        for entry in entries
    ]
    return tuple(sorted(found, key=amd_smi.pid))


def _program(name: object) -> str | None:
    """The first word, without its path: no argument."""
    words = (amd_smi.known_text(name) or "").split()
    return words[0].rpartition("/")[2] or None if words else None


_QUERIES: dict[str, Callable[..., Any]] = {
    "pci_bus_id": _bus,
    "memory_bytes": _total,
    "memory_used_bytes": _used,
    "compute_partition": _partition("amdsmi_get_gpu_compute_partition"),
    "memory_partition": _partition("amdsmi_get_gpu_memory_partition"),
    "numa_node": _numa_node,
    "processes": _processes,
}
FIELDS = (*_ASIC, "uuid", *_QUERIES)
