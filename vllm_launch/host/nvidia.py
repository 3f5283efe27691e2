"""NVIDIA GPUs, through NVML. The only file that imports pynvml."""

from __future__ import annotations

from ..model.host import Gpu, HostFacts
from . import memory, nvidia_device
from .deadline import no_answer, run_all
from .nvml import is_code
from .reading import Reading, ask, counted, printable, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BINDINGS = "NVML bindings (Python package nvidia-ml-py)"
DRIVER = "NVIDIA driver (libnvidia-ml.so.1)"
SECONDS = 4.0  # for the devices; one that has not answered by then is told apart


def read(root: str = "/", seconds: float = SECONDS) -> HostFacts:
    """The NVIDIA part of the host facts. ``root`` is where /proc and /sys are looked for.

    A driver that hangs before it lists its GPUs holds this up: see ``child``.
    """
    from importlib import import_module  # untyped package: no stubs to ask of those who check us
    from time import monotonic

    deadline = monotonic() + seconds
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
    late, hangs = no_answer(seconds), False
    try:
        facts = _read_driver(pynvml, root, deadline, late)
        hangs = any(gpu.fault == late for gpu in facts.gpus)
        return facts
    except Exception as error:
        return HostFacts(looked_for=((DRIVER, f"does not list its GPUs: {why(error)}"),))
    finally:
        if not hangs:  # else the shutdown would wait for the call that hangs
            ask([], "shutdown", pynvml.nvmlShutdown)


def _read_driver(nvml: Any, root: str, deadline: float, late: str) -> HostFacts:
    from time import monotonic

    readings = [Reading() for _ in range(nvml.nvmlDeviceGetCount())]
    unread: list[tuple[str, str]] = []
    driver = ask(unread, "driver version", _driver_version, nvml)
    cuda = ask(unread, "CUDA version of the driver", _cuda_version, nvml)
    jobs = [_job(nvml, index, root, one) for index, one in enumerate(readings)]
    run_all(jobs, deadline - monotonic())
    gpus = tuple(_gpu(index, one, root, late) for index, one in enumerate(readings))
    outcome = f"{counted(gpus)}, driver {driver}" if driver else counted(gpus)
    return HostFacts(
        gpus=gpus,
        nvidia_driver=driver,
        cuda_driver=cuda,
        looked_for=((DRIVER, outcome), *unread, *_faulty(gpus)),
    )


def _job(nvml: Any, index: int, root: str, reading: Reading) -> Any:
    return lambda: nvidia_device.read(nvml, index, root, reading)


def _faulty(gpus: tuple[Gpu, ...]) -> list[tuple[str, str]]:
    """The devices that are counted but do not answer: an operator must not miss those."""
    reasons = [(gpu, gpu.fault or dict(gpu.unknown).get("name")) for gpu in gpus]
    return [(f"NVIDIA GPU {gpu.index}", reason) for gpu, reason in reasons if reason]


def _gpu(index: int, reading: Reading, root: str, late: str) -> Gpu:
    fault = reading.fault if reading.done else reading.fault or late
    fields, unknown = reading.closed(nvidia_device.FIELDS, late)
    if fields.pop("no_memory_of_its_own", False):
        fields, unknown = _with_unified_memory(fields, unknown, root)
    name = fields.pop("name", None) or "unknown"
    return Gpu(index=index, vendor="NVIDIA", name=name, **fields, fault=fault, unknown=unknown)


def _with_unified_memory(
    fields: dict[str, Any], unknown: tuple[tuple[str, str], ...], root: str
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """The host's memory is the GPU's where NVML has none to report (GB10)."""
    total, available = memory.read(root)
    if total is None:
        reason = "unified memory, and /proc/meminfo has no MemTotal"
        return fields, (*unknown, *((field, reason) for field in nvidia_device.MEMORY))
    known = {"memory_bytes": total, "unified_memory": True}
    if available is None:
        reason = "/proc/meminfo has no MemAvailable"
        late = tuple((field, reason) for field in nvidia_device.MEMORY[1:])
        return {**fields, **known}, (*unknown, *late)
    known |= {"memory_used_bytes": total - available, "memory_free_bytes": available}
    return {**fields, **known}, unknown


def _driver_version(nvml: Any) -> str:
    return nvidia_device.not_empty(printable(nvml.nvmlSystemGetDriverVersion()))


def _cuda_version(nvml: Any) -> str:
    """The version "13.0" of 13000. The second form asks libcuda, which a container may lack."""
    try:
        number = int(nvml.nvmlSystemGetCudaDriverVersion_v2())
    except Exception:
        number = int(nvml.nvmlSystemGetCudaDriverVersion())
    return f"{number // 1000}.{number % 1000 // 10}"


def _why_no_driver(nvml: Any, error: Exception) -> str:
    if is_code(error, nvml.NVML_ERROR_LIBRARY_NOT_FOUND):
        return "not found"
    if is_code(error, nvml.NVML_ERROR_DRIVER_NOT_LOADED):
        return "the library is there, the kernel driver is not loaded"
    if is_code(error, nvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH):
        return "library and kernel driver are of different versions: reload the driver, or reboot"
    return why(error)
