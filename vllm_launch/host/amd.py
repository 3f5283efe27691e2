"""AMD GPUs: the SMI library, else its command, else the kernel. Alone imports amdsmi."""

from __future__ import annotations

import os

from ..model.host import Gpu, HostFacts
from . import amd_smi, amd_sysfs
from .reading import ask, counted, list_dir, printable, read_file, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from typing import Any

LIBRARY = "AMD SMI library (Python package amdsmi)"
_SMALLEST_SERVING_BYTES = 4 << 30
_FILLED = (
    "pci_device_id",
    "gfx_target",
    "memory_bytes",
    "memory_used_bytes",
    "compute_partition",
    "memory_partition",
)


def read(root: str = "/") -> HostFacts:
    """The AMD part of the host facts. ``root`` is where /sys, /dev and /opt are looked for."""
    found, looked_for = _first_answer(root)
    filled = _fill(found, ask([], "kernel", amd_sysfs.gpus, root) or ())
    reasons = [(gpu, _why_not_serving(gpu)) for gpu in filled]
    looked_for += [
        (f"AMD GPU at {gpu.pci_bus_id}", f"left out: {reason}") for gpu, reason in reasons if reason
    ]
    return HostFacts(
        gpus=tuple(gpu for gpu, reason in reasons if not reason),
        rocm=_rocm(root),
        render_gid=_render_gid(root),
        video_gid=_gid(root, "dev/kfd"),
        looked_for=tuple(looked_for),
    )


def _first_answer(root: str) -> tuple[tuple[Gpu, ...], list[tuple[str, str]]]:
    """The GPUs of the first source that lists one, and what came of each that was tried."""
    looked_for: list[tuple[str, str]] = []
    sources = (
        (LIBRARY, _from_library),
        (amd_smi.SOURCE, amd_smi.gpus),
        (amd_sysfs.SOURCE, _from_kernel),
    )
    for source, gpus_of in sources:
        try:
            gpus = gpus_of(root)
        except amd_smi.NoAnswer as error:
            looked_for.append((source, str(error)))
        except Exception as error:
            looked_for.append((source, f"failed: {why(error)}"))
        else:
            looked_for.append((source, counted(gpus)))
            if gpus:
                return gpus, looked_for
    return (), looked_for


def _from_library(_: str) -> tuple[Gpu, ...]:
    with _silence():
        amdsmi = _import()
        amdsmi.amdsmi_init()
        try:
            handles = amdsmi.amdsmi_get_processor_handles()
            return tuple(_gpu(amdsmi, index, handle) for index, handle in enumerate(handles))
        finally:
            ask([], "shutdown", amdsmi.amdsmi_shut_down)


def _from_kernel(root: str) -> tuple[Gpu, ...]:
    gpus = amd_sysfs.gpus(root)
    if not gpus and not os.path.exists(os.path.join(root, "sys/class/kfd")):
        raise amd_smi.NoAnswer("not loaded")
    return gpus


def _import() -> Any:
    """The package, which needs ROCm's library: without it, it raises KeyError and others."""
    from importlib import import_module

    try:
        return import_module("amdsmi")
    except ModuleNotFoundError:
        raise amd_smi.NoAnswer("not installed") from None
    except (Exception, SystemExit) as error:
        raise amd_smi.NoAnswer(f"installed, but not its library: {why(error)}") from error


def _silence() -> AbstractContextManager[None]:
    """Nothing reaches standard output: amdsmi prints there, in Python and in C."""
    from contextlib import contextmanager

    return contextmanager(_away_from_stdout)()


def _away_from_stdout() -> Iterator[None]:
    from contextlib import redirect_stdout

    with open(os.devnull, "w", encoding="utf-8") as null, redirect_stdout(null):
        kept = _replace_stdout(null.fileno())
        try:
            yield
        finally:
            _restore_stdout(kept)


def _replace_stdout(descriptor: int) -> int | None:
    """The descriptor that standard output had, or None where it is closed."""
    try:
        kept = os.dup(1)
    except OSError:
        return None
    os.dup2(descriptor, 1)
    return kept


def _restore_stdout(kept: int | None) -> None:
    import ctypes

    if kept is None:
        return
    ask([], "flush", ctypes.CDLL(None).fflush, None)  # else C's buffer comes out later
    os.dup2(kept, 1)
    os.close(kept)


def _gpu(amdsmi: Any, index: int, handle: Any) -> Gpu:
    unknown: list[tuple[str, str]] = []
    asic = ask([], "asic", amdsmi.amdsmi_get_gpu_asic_info, handle) or {}
    fields: dict[str, Any] = {
        "name": amd_smi.said(asic.get("market_name")),
        "pci_device_id": amd_smi.device_id(asic.get("device_id")),
        "gfx_target": amd_smi.said(asic.get("target_graphics_version")),
    }
    unknown += [(field, "amdsmi does not say") for field in fields if fields[field] is None]
    queries = {
        "uuid": lambda: printable(amdsmi.amdsmi_get_gpu_device_uuid(handle)),
        "pci_bus_id": lambda: printable(amdsmi.amdsmi_get_gpu_device_bdf(handle)),
        "memory_bytes": lambda: _vram(amdsmi, amdsmi.amdsmi_get_gpu_memory_total, handle) or None,
        "memory_used_bytes": lambda: _vram(amdsmi, amdsmi.amdsmi_get_gpu_memory_usage, handle),
    }
    fields.update({field: ask(unknown, field, query) for field, query in queries.items()})
    fields["name"] = fields["name"] or "unknown"
    return Gpu(
        index=index,
        vendor="AMD",
        compute_partition=_partition(amdsmi, "amdsmi_get_gpu_compute_partition", handle),
        memory_partition=_partition(amdsmi, "amdsmi_get_gpu_memory_partition", handle),
        unknown=tuple(unknown),
        **fields,
    )


def _vram(amdsmi: Any, query: Any, handle: Any) -> int:
    return int(query(handle, amdsmi.AmdSmiMemoryType.VRAM))


def _partition(amdsmi: Any, query: str, handle: Any) -> str | None:
    """None on the many GPUs that have no partitions: nothing is unknown there."""
    return amd_smi.said(ask([], query, lambda: getattr(amdsmi, query)(handle)))


def _fill(gpus: tuple[Gpu, ...], kernel: tuple[Gpu, ...]) -> list[Gpu]:
    """What a source did not say, from the kernel's view of the device at the same address."""
    by_address = {gpu.pci_bus_id: gpu for gpu in kernel if gpu.pci_bus_id}
    return [_filled(gpu, by_address.get((gpu.pci_bus_id or "").lower())) for gpu in gpus]


def _filled(gpu: Gpu, kernel: Gpu | None) -> Gpu:
    if kernel is None:
        return gpu
    missing = [field for field in _FILLED if getattr(gpu, field) is None]
    known = {field: getattr(kernel, field) for field in missing}
    known = {field: value for field, value in known.items() if value is not None}
    unknown = tuple((field, reason) for field, reason in gpu.unknown if field not in known)
    return gpu.replace(**known, unknown=unknown)


def _why_not_serving(gpu: Gpu) -> str:
    """Why a device is no serving device, or nothing. A large one that cannot be read stays."""
    if gpu.memory_bytes is None:
        return "" if gpu.gfx_target else "the driver reports neither memory nor a compute target"
    if gpu.memory_bytes >= _SMALLEST_SERVING_BYTES:
        return ""
    return f"{gpu.memory_bytes / (1 << 30):.1f} GiB of memory, not a serving device"


def _rocm(root: str) -> str | None:
    """The host's ROCm: "6.4.1" of "6.4.1-83"."""
    version = printable(read_file(root, "opt/rocm/.info/version") or "")
    return version.partition("-")[0] or None


def _render_gid(root: str) -> int | None:
    names = [name for name in list_dir(root, "dev/dri") if name.startswith("renderD")]
    return _gid(root, "dev/dri", names[0]) if names else None


def _gid(*path: str) -> int | None:
    try:
        return os.stat(os.path.join(*path)).st_gid
    except OSError:
        return None
