"""One NVIDIA GPU: what is asked of its handle. NVML is passed in.

Each query may fail on each device. Where NVML answers NotSupported the device has no
such thing, and nothing is unknown; any other failure is the reason that is kept.
"""

from __future__ import annotations

from . import nvidia_links, nvidia_mig
from .nvml import is_absent, is_code, memory_info
from .reading import Unread, printable, program, read_file, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .reading import Reading

MEMORY = ("memory_bytes", "memory_used_bytes", "memory_free_bytes")
_NODE_WORDS = 16  # of 64 NUMA nodes each


def read(nvml: Any, index: int, root: str, reading: Reading) -> None:
    """Fill the reading. A GPU that is lost is asked no more: each answer would be the same."""
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except Exception as error:
        reading.fault = why(error)
    else:
        _ask_all(nvml, handle, root, reading)
    reading.done = True


def _ask_all(nvml: Any, handle: Any, root: str, reading: Reading) -> None:
    for fields, query in _QUERIES.items():
        error = reading.ask_all(fields, query, nvml, handle, reading, root)
        if error is not None and _is_lost(nvml, error):
            reading.fault = why(error)
            return


def _is_lost(nvml: Any, error: Exception) -> bool:
    return is_code(error, nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED)


def not_empty(words: str) -> str:
    """Words that are some: a driver's empty string is no name."""
    if not words:
        raise Unread("the driver's answer is empty")
    return words


def _one(field: str, query: Callable[[Any, Any], Any]) -> Callable[..., dict[str, Any]]:
    return lambda nvml, handle, *_: {field: query(nvml, handle)}


def _if_supported(
    field: str, query: Callable[[Any, Any], Any], otherwise: Any = None
) -> Callable[..., dict[str, Any]]:
    """The answer, or ``otherwise`` on a GPU that has no such thing."""

    def ask(nvml: Any, handle: Any, *_: Any) -> dict[str, Any]:
        try:
            return {field: query(nvml, handle)}
        except Exception as error:
            if is_code(error, nvml.NVML_ERROR_NOT_SUPPORTED):
                return {field: otherwise}
            raise

    return ask


def _name(nvml: Any, handle: Any) -> str:
    return not_empty(printable(nvml.nvmlDeviceGetName(handle)))


def _uuid(nvml: Any, handle: Any) -> str:
    return not_empty(printable(nvml.nvmlDeviceGetUUID(handle)))


def _pci(nvml: Any, handle: Any, *_: Any) -> dict[str, Any]:
    """Address and device id: NVML packs the latter and the vendor's into one number."""
    info = nvml.nvmlDeviceGetPciInfo(handle)
    device = int(info.pciDeviceId) >> 16
    return {"pci_bus_id": not_empty(printable(info.busId)), "pci_device_id": f"{device:04x}"}


def _compute_capability(nvml: Any, handle: Any) -> str:
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return f"{major}.{minor}"


def _mig_enabled(nvml: Any, handle: Any) -> bool:
    return bool(nvml.nvmlDeviceGetMigMode(handle)[0])


def _mig_devices(nvml: Any, handle: Any, reading: Reading, *_: Any) -> dict[str, Any]:
    if not reading.fields.get("mig_enabled"):
        return {"mig_devices": None}
    return {"mig_devices": nvidia_mig.instances(nvml, handle)}


def _memory(nvml: Any, handle: Any, reading: Reading, *_: Any) -> dict[str, Any]:
    """Memory fields. Unknown stays unknown: 0 would read as a full or a broken GPU."""
    if reading.fields.get("mig_enabled"):
        raise Unread("MIG is on: the whole GPU's memory is no instance's")
    try:
        info = memory_info(nvml, handle)
    except Exception as error:
        if is_code(error, nvml.NVML_ERROR_NOT_SUPPORTED):
            return {**dict.fromkeys(MEMORY), "no_memory_of_its_own": True}
        raise
    if not info.total:
        raise Unread("the driver says 0 bytes")
    values = (info.total, info.used, info.free)
    return dict(zip(MEMORY, map(int, values), strict=True))


def _processes(nvml: Any, handle: Any, _: Reading, root: str) -> dict[str, Any]:
    """Those of both kinds; one that computes and draws is listed as both."""
    from ..model.host import GpuProcess

    found: dict[int, int | None] = {}
    for kind in ("Compute", "Graphics"):
        for one in _running(nvml, handle, kind):
            found[int(one.pid)] = _held(one.usedGpuMemory) or found.get(int(one.pid))
    return {
        "processes": tuple(
            GpuProcess(pid=pid, name=_program(nvml, root, pid), memory_bytes=found[pid])
            for pid in sorted(found)
        )
    }


def _held(size: int | None) -> int | None:
    """Bytes. Drivers say -1, of 64 bits, for what they do not know: as in containers."""
    return int(size) if size is not None and 0 <= size < 1 << 63 else None


def _running(nvml: Any, handle: Any, kind: str) -> Any:
    """By the third form, or an old driver's second; nothing where the GPU keeps no such list."""
    for version in ("v3", "v2"):
        try:
            return getattr(nvml, f"nvmlDeviceGet{kind}RunningProcesses_{version}")(handle)
        except Exception as error:
            if is_code(error, nvml.NVML_ERROR_NOT_SUPPORTED):
                return ()
            if version == "v2" or not is_absent(nvml, error):
                raise
    return ()


def _program(nvml: Any, root: str, pid: int) -> str | None:
    """The kernel's name for it, else the first word, without its path, of NVML's."""
    name = program(root, pid)
    if name is None:
        try:
            words = printable(nvml.nvmlSystemGetProcessName(pid)).split()
        except Exception:  # another container's, or another user's
            return None
        name = words[0].rpartition("/")[2] if words else None
    return name or None


def _persistence(nvml: Any, handle: Any) -> bool:
    return bool(nvml.nvmlDeviceGetPersistenceMode(handle))


def _ecc_uncorrected(nvml: Any, handle: Any) -> int:
    kind, since = nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC
    return int(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, since))


def _ecc_pending(nvml: Any, handle: Any) -> bool:
    """Rows on Ampere and newer, pages before."""
    try:
        return bool(nvml.nvmlDeviceGetRemappedRows(handle)[2])
    except Exception as error:
        if not is_absent(nvml, error) and not is_code(error, nvml.NVML_ERROR_NOT_SUPPORTED):
            raise
    return bool(nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle))


def _numa_node(nvml: Any, handle: Any, reading: Reading, root: str) -> dict[str, Any]:
    """The first node near the GPU, or the kernel's word where the driver does not say."""
    try:
        scope = nvml.NVML_AFFINITY_SCOPE_NODE
        mask = nvml.nvmlDeviceGetMemoryAffinity(handle, _NODE_WORDS, scope)
    except Exception as error:
        node = _kernel_node(root, reading.fields.get("pci_bus_id"))
        if node is None and not is_code(error, nvml.NVML_ERROR_NOT_SUPPORTED):
            raise
        return {"numa_node": node}
    nodes = [64 * place + _lowest_bit(word) for place, word in enumerate(mask) if word]
    return {"numa_node": nodes[0] if nodes else None}


def _lowest_bit(word: int) -> int:
    return (word & -word).bit_length() - 1


def _kernel_node(root: str, address: str | None) -> int | None:
    """Of /sys, whose addresses have four digits of domain where NVML's have eight."""
    device = (address or "")[-12:].lower()
    text = read_file(root, "sys/bus/pci/devices", device, "numa_node") if device else None
    return int(text) if text and text.isdecimal() else None


_QUERIES: dict[tuple[str, ...], Callable[..., dict[str, Any]]] = {
    ("name",): _one("name", _name),
    ("uuid",): _one("uuid", _uuid),
    ("pci_bus_id", "pci_device_id"): _pci,
    ("compute_capability",): _one("compute_capability", _compute_capability),
    ("mig_enabled",): _if_supported("mig_enabled", _mig_enabled, otherwise=False),
    MEMORY: _memory,
    ("mig_devices",): _mig_devices,
    ("processes",): _processes,
    ("nvlink_active", "nvlink_peers"): nvidia_links.links,
    nvidia_links.FABRIC: nvidia_links.fabric,
    ("persistence_mode",): _if_supported("persistence_mode", _persistence),
    ("ecc_uncorrected",): _if_supported("ecc_uncorrected", _ecc_uncorrected),
    ("ecc_pending",): _if_supported("ecc_pending", _ecc_pending),
    ("numa_node",): _numa_node,
}
FIELDS = tuple(field for fields in _QUERIES for field in fields)
