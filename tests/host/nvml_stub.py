"""A stub NVIDIA driver library for tests: the real pynvml loads it.

    directory = nvml_stub.build(tmp_path)                 # once a session: compiles
    subprocess.run([...], env=nvml_stub.env("h200_8x", directory))

``SCENARIOS`` names the machines; ``machine`` and ``write`` make others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

LIBRARY = "libnvidia-ml.so.1"
# NVML's return codes.
NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED, FUNCTION_NOT_FOUND = 3, 4, 9, 13
GPU_IS_LOST, VERSION_MISMATCH, UNKNOWN_ERROR = 15, 18, 999

_SOURCE = Path(__file__).with_name("nvml_stub.c")
_ROOT = Path(__file__).parents[2]
_MIB = 1 << 20

Device = Mapping[str, object]


def gpu(
    name: str, capability: str, mib: int | None, device: str = "0000", **more: object
) -> Device:
    """One GPU. ``mib`` None: its memory query answers NotSupported."""
    memory = {"total": mib * _MIB, "used": 4 * _MIB} if mib is not None else {}
    refusal = {} if mib is not None else {"rc.nvmlDeviceGetMemoryInfo": NOT_SUPPORTED}
    return {"name": name, "cc": capability, "device": device, **memory, **refusal, **more}


def machine(
    gpus: Sequence[Device],
    driver: str = "580.95.05",
    cuda: int = 13000,
    failures: Mapping[str, int] | None = None,
) -> bytes:
    """A scenario file's content. ``failures``: NVML function, return code."""
    lines = [f"driver={driver}", f"cuda={cuda}", f"count={len(gpus)}"]
    lines += [f"rc.{function}={code}" for function, code in (failures or {}).items()]
    for index, device in enumerate(gpus):
        address = {
            "uuid": f"GPU-00000000-0000-4000-8000-{index:012x}",
            "bus": f"00000000:{0x19 + index:02X}:00.0",
        }
        lines += [f"{index}.{key}={value}" for key, value in {**address, **device}.items()]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


H100 = gpu("NVIDIA H100 80GB HBM3", "9.0", 81559, "2330", mig=0)
H200 = gpu("NVIDIA H200", "9.0", 143771, "2335", mig=0)
A100 = gpu("NVIDIA A100-SXM4-80GB", "8.0", 81920, "20b2", mig=0)
B200 = gpu("NVIDIA B200", "10.0", 183359, "2901", mig=0)
B300 = gpu("NVIDIA B300 SXM6 AC", "10.3", 275040, "3182", mig=0)
GB200 = gpu("NVIDIA GB200", "10.0", 189471, "2941", mig=0)
GB300 = gpu("NVIDIA GB300", "10.3", 284208, "31c2", mig=0)
GB10 = gpu("NVIDIA GB10", "12.1", None, "2e12")
RTX_PRO_6000 = gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 97887, "2bb5", mig=0)
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0", 32607, "2b85")

LOST: Device = {**H200, "rc.nvmlDeviceGetHandleByIndex": GPU_IS_LOST}

SCENARIOS: dict[str, bytes | None] = {
    "no_driver": None,  # the library cannot be loaded at all
    "mismatch": machine([], failures={"nvmlInit": VERSION_MISMATCH}),
    "not_loaded": machine([], failures={"nvmlInit": DRIVER_NOT_LOADED}),
    "no_gpus": machine([]),
    "count_fails": machine([H200], failures={"nvmlDeviceGetCount": UNKNOWN_ERROR}),
    "h200_8x": machine([H200] * 8),
    "h200_4x": machine([H200] * 4),
    "h200_one_lost": machine([*[H200] * 3, LOST, *[H200] * 4]),
    "b300_8x": machine([B300] * 8),
    "gb200_4x": machine([GB200] * 4),
    "gb300_1x": machine([GB300]),
    "gb10": machine([GB10]),
    "a100_and_h100": machine([A100, H100]),
    "rtx_5090_2x": machine([RTX_5090] * 2),
    "rtx_pro_6000_8x": machine([RTX_PRO_6000] * 8),
    "mig": machine([{**H100, "mig": 1}, H100]),
}


def build(directory: Path) -> Path:
    """Compile the library and write the scenarios; the directory to pass to ``env``."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise RuntimeError("the NVML stub needs a C compiler: install gcc")
    library = directory / LIBRARY
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, _SOURCE], check=True)
    for name, content in SCENARIOS.items():
        if content is not None:
            write(directory, name, content)
    # An empty file: found first, and no library, whatever else the machine has.
    (directory / "no_driver").mkdir()
    (directory / "no_driver" / LIBRARY).write_bytes(b"")
    return directory


def write(directory: Path, name: str, content: bytes) -> None:
    """Add a scenario to a built directory."""
    (directory / f"{name}.scenario").write_bytes(content)


def env(scenario: str, directory: Path) -> dict[str, str]:
    """A subprocess's whole environment: this one's, with the scenario's driver."""
    path = directory / "no_driver" if scenario == "no_driver" else directory
    file = directory / f"{scenario}.scenario"
    if scenario != "no_driver" and not file.exists():
        raise LookupError(f"no scenario {scenario!r} in {directory}")
    older = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(path),
        "NVML_STUB_SCENARIO": str(file),
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *([older] if older else [])]),
    }
