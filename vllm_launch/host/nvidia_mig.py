"""The MIG instances of a GPU. Memory is asked of an instance's own handle, never the GPU's."""

from __future__ import annotations

from ..model.host import MigDevice
from .nvml import is_code, memory_info
from .reading import Reading, Unread, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FIELDS = ("uuid", "profile", "memory_bytes", "memory_used_bytes")


def instances(nvml: Any, gpu: Any) -> tuple[MigDevice, ...]:
    """Every instance. Their numbers have holes where instances were destroyed."""
    found = []
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index)
        except Exception as error:
            if is_code(error, nvml.NVML_ERROR_NOT_FOUND, nvml.NVML_ERROR_INVALID_ARGUMENT):
                continue
            raise
        found.append(_instance(nvml, handle))
    return tuple(found)


def _instance(nvml: Any, handle: Any) -> MigDevice:
    reading = Reading()
    reading.ask("uuid", lambda: printable(nvml.nvmlDeviceGetUUID(handle)) or None)
    reading.ask("profile", _profile, nvml, handle)
    reading.ask_all(_FIELDS[2:], _memory, nvml, handle)
    fields, unknown = reading.closed(_FIELDS, "")
    return MigDevice(**fields, unknown=unknown)


def _profile(nvml: Any, handle: Any) -> str:
    """The "1g.10gb" at the end of the name; of its slices and memory on drivers that omit it."""
    name, mig, profile = printable(nvml.nvmlDeviceGetName(handle)).rpartition(" MIG ")
    if name and mig and profile:
        return profile
    attributes = nvml.nvmlDeviceGetAttributes_v2(handle)
    size = round(attributes.memorySizeMB / 1024)
    return f"{attributes.gpuInstanceSliceCount}g.{size}gb"


def _memory(nvml: Any, handle: Any) -> dict[str, Any]:
    info = memory_info(nvml, handle)
    if not info.total:
        raise Unread("the driver says 0 bytes")
    return {"memory_bytes": int(info.total), "memory_used_bytes": int(info.used)}
