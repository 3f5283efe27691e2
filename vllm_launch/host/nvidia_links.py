"""How an NVIDIA GPU is joined to others: its NVLinks, and the fabric that switches make."""

from __future__ import annotations

from .nvml import is_absent, is_code
from .reading import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FABRIC = ("fabric_state", "fabric_clique", "fabric_cluster")
_STATES = {1: "not started", 2: "in progress", 3: "completed"}
_COMPLETED = 3


def links(nvml: Any, handle: Any, *_: Any) -> dict[str, Any]:
    """How many are up, and what is at their other ends."""
    up = [link for link in range(nvml.NVML_NVLINK_MAX_LINKS) if _is_up(nvml, handle, link)]
    return {"nvlink_active": len(up), "nvlink_peers": _peers(nvml, handle, up)}


def _is_up(nvml: Any, handle: Any, link: int) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetNvLinkState(handle, link))
    except Exception as error:
        # The GPU has no such link: of cards with a bridge, some numbers are missing.
        if is_code(error, nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT):
            return False
        raise


def _peers(nvml: Any, handle: Any, up: list[int]) -> tuple[str, ...]:
    """PCI addresses of GPUs, or "switch": then every link goes there, and one is asked."""
    found: list[str] = []
    for link in up:
        try:
            kind = nvml.nvmlDeviceGetNvLinkRemoteDeviceType(handle, link)
            if kind == nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH:
                return ("switch",)
            peer = printable(nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, link).busId)
        except Exception:  # the links are known, their ends are not: an older driver
            return tuple(found)
        if peer and peer not in found:
            found.append(peer)
    return tuple(found)


def fabric(nvml: Any, handle: Any, *_: Any) -> dict[str, Any]:
    """The NVLink domain that its manager has put the GPU into, where there is one."""
    try:
        info = _info(nvml, handle)
    except Exception as error:
        if is_code(error, nvml.NVML_ERROR_NOT_SUPPORTED):
            return dict.fromkeys(FABRIC)
        raise
    if info.state == 0:  # a GPU that joins no fabric
        return dict.fromkeys(FABRIC)
    state = _STATES.get(info.state, f"state {info.state}")
    if info.state != _COMPLETED:
        return {"fabric_state": state, "fabric_clique": None, "fabric_cluster": None}
    if info.status:
        state = f"failed: {printable(nvml.NVMLError(info.status))}"
    cluster = bytes(info.clusterUuid)
    return {
        "fabric_state": state,
        "fabric_clique": int(info.cliqueId),
        "fabric_cluster": _uuid(cluster) if any(cluster) else None,  # zeros: a node by itself
    }


def _info(nvml: Any, handle: Any) -> Any:
    """By the versioned form, or an old driver's first."""
    from ctypes import byref

    try:
        info = nvml.c_nvmlGpuFabricInfoV_t()
        nvml.nvmlDeviceGetGpuFabricInfoV(handle, byref(info))
    except Exception as error:
        if not is_absent(nvml, error):
            raise
        info = nvml.c_nvmlGpuFabricInfo_t()
        nvml.nvmlDeviceGetGpuFabricInfo(handle, byref(info))
    return info


def _uuid(raw: bytes) -> str:
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
