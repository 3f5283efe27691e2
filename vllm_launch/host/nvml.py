"""How NVML fails, and how older forms of it are asked. The bindings are passed in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def is_code(error: Exception, *codes: int) -> bool:
    """Whether NVML failed with one of these return codes."""
    return getattr(error, "value", None) in codes


def is_absent(nvml: Any, error: Exception) -> bool:
    """Whether the driver, or the bindings, are older than the function that was called."""
    return isinstance(error, AttributeError) or is_code(error, nvml.NVML_ERROR_FUNCTION_NOT_FOUND)


def memory_info(nvml: Any, handle: Any) -> Any:
    """Total, used and free. The first form counts the driver's own memory as used."""
    try:
        return nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
    except Exception:  # its reason, if the device's, comes again
        return nvml.nvmlDeviceGetMemoryInfo(handle)
