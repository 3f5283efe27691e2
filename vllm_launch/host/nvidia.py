"""NVIDIA GPUs, through NVML. The only file that imports pynvml."""

from __future__ import annotations

from ..model.host import Gpu, HostFacts
from . import memory
from .reading import ask, counted, printable, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BINDINGS = "NVML bindings (Python package nvidia-ml-py)"
DRIVER = "NVIDIA driver (libnvidia-ml.so.1)"
_MEMORY_FIELDS = ("memory_bytes", "memory_used_bytes")


def read(root: str = "/") -> HostFacts:
    """The NVIDIA part of the host facts. ``root`` is where /proc is looked for."""
    from importlib import import_module  # untyped package: no stubs to ask of those who check us

    try:
        pynvml = import_module("pynvml")
    except ModuleNotFoundError:
        return HostFacts(looked_for=((BINDINGS, "not installed"),))
    except Exception as error:
        return HostFacts(looked_for=((BINDINGS, f"cannot be imported: {why(error)}"),))
    try:
        pynvml.nvmlInit()
    except Exception as error:
        return HostFacts(looked_for=((DRIVER, _why_no_driver(pynvml, error)),))
    try:
        return _read_driver(pynvml, root)
    except Exception as error:
        return HostFacts(looked_for=((DRIVER, f"does not list its GPUs: {why(error)}"),))
    finally:
        ask([], "shutdown", pynvml.nvmlShutdown)


def _read_driver(nvml: Any, root: str) -> HostFacts:
    gpus = tuple(_gpu(nvml, index, root) for index in range(nvml.nvmlDeviceGetCount()))
    unread: list[tuple[str, str]] = []
    driver = ask(unread, "driver version", _driver_version, nvml)
    cuda = ask(unread, "CUDA version of the driver", _cuda_version, nvml)
    outcome = f"{counted(gpus)}, driver {driver}" if driver else counted(gpus)
    return HostFacts(
        gpus=gpus,
        nvidia_driver=driver,
        cuda_driver=cuda,
        looked_for=((DRIVER, outcome), *unread, *_lost(gpus)),
    )


def _lost(gpus: tuple[Gpu, ...]) -> list[tuple[str, str]]:
    """The devices that are counted but do not answer: an operator must not miss those."""
    reasons = [(gpu, dict(gpu.unknown).get("name")) for gpu in gpus]
    return [(f"NVIDIA GPU {gpu.index}", reason) for gpu, reason in reasons if reason]


def _gpu(nvml: Any, index: int, root: str) -> Gpu:
    unknown: list[tuple[str, str]] = []
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except Exception as error:
        unknown = [(field, why(error)) for field in (*_QUERIES, *_MEMORY_FIELDS)]
        return Gpu(index=index, vendor="NVIDIA", name="unknown", unknown=tuple(unknown))
    fields = {field: ask(unknown, field, query, nvml, handle) for field, query in _QUERIES.items()}
    fields["name"] = fields["name"] or "unknown"
    fields.update(_memory(nvml, handle, root, unknown, bool(fields["mig_enabled"])))
    return Gpu(index=index, vendor="NVIDIA", **fields, unknown=tuple(unknown))


def _name(nvml: Any, handle: Any) -> str:
    return _said(printable(nvml.nvmlDeviceGetName(handle)))


def _uuid(nvml: Any, handle: Any) -> str:
    return _said(printable(nvml.nvmlDeviceGetUUID(handle)))


def _pci_bus_id(nvml: Any, handle: Any) -> str:
    return _said(printable(nvml.nvmlDeviceGetPciInfo(handle).busId))


def _pci_device_id(nvml: Any, handle: Any) -> str:
    """The upper half: NVML packs device and vendor id into one number."""
    return f"{int(nvml.nvmlDeviceGetPciInfo(handle).pciDeviceId) >> 16:04x}"


def _compute_capability(nvml: Any, handle: Any) -> str:
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return f"{major}.{minor}"


def _mig_enabled(nvml: Any, handle: Any) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except Exception as error:
        if _is(error, nvml.NVML_ERROR_NOT_SUPPORTED):  # a GPU that has no MIG
            return False
        raise


_QUERIES = {
    "name": _name,
    "uuid": _uuid,
    "pci_bus_id": _pci_bus_id,
    "pci_device_id": _pci_device_id,
    "compute_capability": _compute_capability,
    "mig_enabled": _mig_enabled,
}


def _memory(
    nvml: Any, handle: Any, root: str, unknown: list[tuple[str, str]], mig: bool
) -> dict[str, Any]:
    """Memory fields. Unknown stays unknown: 0 would read as a full or a broken GPU."""
    if mig:
        return _no_memory(unknown, "MIG is on: the whole GPU's memory is no instance's")
    try:
        info = nvml.nvmlDeviceGetMemoryInfo(handle)
    except Exception as error:
        if _is(error, nvml.NVML_ERROR_NOT_SUPPORTED):  # GB10: no memory of its own
            return _unified_memory(root, unknown)
        return _no_memory(unknown, why(error))
    if not info.total:
        return _no_memory(unknown, "the driver says 0 bytes")
    return {"memory_bytes": int(info.total), "memory_used_bytes": int(info.used)}


def _unified_memory(root: str, unknown: list[tuple[str, str]]) -> dict[str, Any]:
    """The host's memory is the GPU's where NVML has none to report."""
    total, available = memory.read(root)
    if total is None:
        return _no_memory(unknown, "unified memory, and /proc/meminfo has no MemTotal")
    if available is None:
        unknown.append(("memory_used_bytes", "/proc/meminfo has no MemAvailable"))
    used = None if available is None else total - available
    return {"memory_bytes": total, "memory_used_bytes": used, "unified_memory": True}


def _no_memory(unknown: list[tuple[str, str]], reason: str) -> dict[str, Any]:
    unknown.extend((field, reason) for field in _MEMORY_FIELDS)
    return {}


def _driver_version(nvml: Any) -> str:
    return _said(printable(nvml.nvmlSystemGetDriverVersion()))


def _cuda_version(nvml: Any) -> str:
    """The version "13.0" of 13000. The second form asks libcuda, which a container may lack."""
    try:
        number = int(nvml.nvmlSystemGetCudaDriverVersion_v2())
    except Exception:
        number = int(nvml.nvmlSystemGetCudaDriverVersion())
    return f"{number // 1000}.{number % 1000 // 10}"


def _said(words: str) -> str:
    if not words:
        raise ValueError("the driver's answer is empty")
    return words


def _is(error: Exception, code: int) -> bool:
    return getattr(error, "value", None) == code


def _why_no_driver(nvml: Any, error: Exception) -> str:
    if _is(error, nvml.NVML_ERROR_LIBRARY_NOT_FOUND):
        return "not found"
    if _is(error, nvml.NVML_ERROR_DRIVER_NOT_LOADED):
        return "the library is there, the kernel driver is not loaded"
    if _is(error, nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH):
        return "library and kernel driver are of different versions: reload the driver, or reboot"
    return why(error)
