"""AMD GPUs: the SMI library, else its command, else the kernel. Alone imports amdsmi."""

from __future__ import annotations

import os

from ..model.host import Gpu, HostFacts
from . import amd_device, amd_nodes, amd_smi, amd_sysfs
from .amd_smi import Found, NoAnswer
from .deadline import Late, call_within, no_answer, run_all
from .reading import Reading, ask, counted, printable, read_file, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIBRARY = "AMD SMI library (Python package amdsmi)"
SECONDS = 4.0  # for all sources together
_SMALLEST_SERVING_BYTES = 4 << 30
_FILLED = (
    "uuid",
    "pci_device_id",
    "gfx_target",
    "memory_bytes",
    "memory_used_bytes",
    "compute_partition",
    "memory_partition",
    "numa_node",
    "processes",
)


def read(root: str = "/", seconds: float = SECONDS) -> HostFacts:
    """The AMD part of the host facts. ``root`` is where /sys, /dev and /opt are looked for."""
    from time import monotonic

    deadline = monotonic() + seconds
    kernel, of_kernel = _tried(_from_kernel, root, seconds / 8)
    found, of_library = _tried(_from_library, root, seconds / 2)
    looked_for = [(LIBRARY, of_library)]
    if not found.gpus:
        left = deadline - monotonic()
        found, outcome = _tried(amd_smi.found, root, left, wanted=found.answers)
        looked_for.append((amd_smi.SOURCE, outcome))
    if not found.gpus:
        found = kernel
        looked_for.append((amd_sysfs.SOURCE, of_kernel))
    filled = [_with_free(gpu) for gpu in _one_board(_fill(found.gpus, kernel.gpus))]
    return _facts(root, _numbered(filled, kernel.gpus), found.driver, looked_for)


def _facts(
    root: str, listed: list[Gpu], driver: str | None, looked_for: list[tuple[str, str]]
) -> HostFacts:
    reasons = [(gpu, _why_not_serving(gpu)) for gpu in listed]
    gpus = tuple(gpu for gpu, reason in reasons if not reason)
    left_out = [(gpu.pci_bus_id, reason) for gpu, reason in reasons if reason]
    faulty = [(f"AMD GPU {gpu.index}", gpu.fault) for gpu in gpus if gpu.fault]
    return HostFacts(
        gpus=gpus,
        rocm=_rocm(root),
        amd_driver=driver or amd_sysfs.driver_version(root),
        render_gid=amd_nodes.render_gid(root),
        video_gid=amd_nodes.kfd_gid(root),
        device_access=amd_nodes.access(root) if gpus else (),
        looked_for=(
            *looked_for,
            *((f"AMD GPU at {address}", f"left out: {reason}") for address, reason in left_out),
            *faulty,
        ),
    )


def _tried(source: Any, root: str, seconds: float, wanted: bool = True) -> tuple[Found, str]:
    """What a source lists, and what came of it; ``answers`` is false of a driver that hangs."""
    if not wanted:
        return Found(answers=False), "not asked: it would wait for the same driver"
    try:
        found: Found = call_within(seconds, source, root, seconds)
    except Late as error:
        return Found(answers=False), str(error)
    except NoAnswer as error:
        return Found(), str(error)
    except Exception as error:
        return Found(), f"failed: {why(error)}"
    return found, counted(found.gpus)


def _from_library(root: str, seconds: float) -> Found:
    """Devices that have not answered in most of the time are told apart from those that have."""
    from time import monotonic

    started, limit = monotonic(), seconds * 0.75
    amdsmi = _import(root)
    amdsmi.amdsmi_init()
    readings: list[Reading] = []
    try:
        handles = amdsmi.amdsmi_get_processor_handles()
        readings = [Reading() for _ in handles]
        pairs = zip(handles, readings, strict=True)
        jobs = [_job(amdsmi, handle, root, reading) for handle, reading in pairs]
        run_all(jobs, min(limit, started + seconds * 0.95 - monotonic()))
        gpus = tuple(_gpu(i, one, no_answer(limit)) for i, one in enumerate(readings))
        answers = all(reading.done for reading in readings)
        driver = _driver(amdsmi, handles) if answers else None
        return Found(gpus=gpus, driver=driver, answers=answers)
    finally:
        if all(reading.done for reading in readings):  # else it would wait for what hangs
            ask([], "shutdown", amdsmi.amdsmi_shut_down)


def _driver(amdsmi: Any, handles: list[Any]) -> str | None:
    version: str | None = None
    if handles:
        version = ask([], "driver", amd_device.driver_version, amdsmi, handles[0])
    return version


def _job(amdsmi: Any, handle: Any, root: str, reading: Reading) -> Any:
    return lambda: amd_device.read(amdsmi, handle, root, reading)


def _gpu(index: int, reading: Reading, late: str) -> Gpu:
    fault = None if reading.done else late
    fields, unknown = reading.closed(amd_device.FIELDS, late)
    name = fields.pop("name", None) or "unknown"
    return Gpu(index=index, vendor="AMD", name=name, **fields, fault=fault, unknown=unknown)


def _from_kernel(root: str, _: float) -> Found:
    gpus = amd_sysfs.gpus(root)
    if not gpus and not os.path.exists(os.path.join(root, "sys/class/kfd")):
        raise NoAnswer("not loaded")
    return Found(gpus=gpus)


def _import(root: str) -> Any:
    """The package, which needs ROCm's library: without it, it raises KeyError and others.

    ROCm brings a package of its own, which fits its library where the installed one does not.
    """
    try:
        return _imported()
    except NoAnswer:
        for folder in _rocm_folders(root):
            if os.path.isdir(os.path.join(folder, "amdsmi")):
                return _imported_from(folder)
        raise


def _imported() -> Any:
    from importlib import import_module

    try:
        return import_module("amdsmi")
    except ModuleNotFoundError:
        raise NoAnswer("not installed") from None
    except (Exception, SystemExit) as error:
        raise NoAnswer(f"installed, but not its library: {why(error)}") from error


def _imported_from(folder: str) -> Any:
    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == "amdsmi"]:
        del sys.modules[name]  # what is left of the other
    sys.path.insert(0, folder)
    try:
        return _imported()
    finally:
        sys.path.remove(folder)


def _rocm_folders(root: str) -> list[str]:
    homes = [os.environ.get("ROCM_PATH", ""), os.path.join(root, "opt/rocm")]
    return [os.path.join(home, "share/amd_smi") for home in homes if home]


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


def _one_board(gpus: list[Gpu]) -> list[Gpu]:
    """Partitions of one GPU share its modes, which the driver may tell of the first alone."""
    modes = {
        _slot(gpu): {"compute_partition": gpu.compute_partition, "memory_partition": memory}
        for gpu in reversed(gpus)
        if gpu.compute_partition and (memory := gpu.memory_partition)
    }
    return [
        gpu if gpu.compute_partition else gpu.replace(**modes.get(_slot(gpu), {})) for gpu in gpus
    ]


def _slot(gpu: Gpu) -> str:
    """The address without its function, which may number the partitions."""
    return (gpu.pci_bus_id or f"no address {gpu.index}").partition(".")[0].lower()


def _with_free(gpu: Gpu) -> Gpu:
    if gpu.memory_bytes is None or gpu.memory_used_bytes is None:
        return gpu
    return gpu.replace(memory_free_bytes=max(0, gpu.memory_bytes - gpu.memory_used_bytes))


def _numbered(gpus: list[Gpu], kernel: tuple[Gpu, ...]) -> list[Gpu]:
    """In the kernel's order where that is known: the runtime's, which its masks count in."""
    places = {gpu.pci_bus_id: gpu.index for gpu in kernel if gpu.gfx_target}
    order = [places.get((gpu.pci_bus_id or "").lower()) for gpu in gpus]
    if None in order or len(set(order)) < len(order):
        return gpus
    return sorted((gpu.replace(index=i) for gpu, i in zip(gpus, order, strict=True)), key=_index)


def _index(gpu: Gpu) -> int:
    return gpu.index


def _why_not_serving(gpu: Gpu) -> str:
    """Why a device is no serving device, or nothing. A large one that cannot be read stays."""
    if gpu.memory_bytes is None:
        silent = not gpu.gfx_target and not gpu.fault
        return "the driver reports neither memory nor a compute target" if silent else ""
    if gpu.memory_bytes >= _SMALLEST_SERVING_BYTES:
        return ""
    return f"{gpu.memory_bytes / (1 << 30):.1f} GiB of memory, not a serving device"


def _rocm(root: str) -> str | None:
    """The host's ROCm: "6.4.1" of "6.4.1-83"."""
    version = printable(read_file(root, "opt/rocm/.info/version") or "")
    home = os.environ.get("ROCM_PATH")
    if not version and home:
        version = printable(read_file(home, ".info/version") or "")
    return version.partition("-")[0] or None
