"""A stub NVIDIA driver library for tests: the real pynvml loads it.

    directory = nvml_stub.build(tmp_path)                 # once a session: compiles
    subprocess.run([...], env=nvml_stub.env("h200_8x", directory))

``SCENARIOS`` names the machines; ``machine`` and ``write`` make others. One whose name
ends in ``_old_driver`` has a library without the functions that came later.
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
    failures: Mapping[str, object] | None = None,
    programs: Mapping[int, str] | None = None,
) -> bytes:
    """A scenario file's content. ``failures``: NVML function and return code, or
    "hang.FUNCTION" and 1. ``programs``: what the driver calls a process."""
    lines = [f"driver={driver}", f"cuda={cuda}", f"count={len(gpus)}"]
    lines += [
        f"{key}={value}" if "." in key else f"rc.{key}={value}"
        for key, value in (failures or {}).items()
    ]
    lines += [f"process.{pid}={name}" for pid, name in (programs or {}).items()]
    for index, device in enumerate(gpus):
        place = {
            "uuid": f"GPU-00000000-0000-4000-8000-{index:012x}",
            "bus": f"00000000:{0x19 + index:02X}:00.0",
            "numa": 2 * index // len(gpus),
        }
        lines += [f"{index}.{key}={value}" for key, value in {**place, **device}.items()]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


def mig(instances: int, profile: str, mib: int, **more: object) -> dict[str, object]:
    """What MIG adds to a GPU: instances of one profile. ``more`` is of each of them."""
    added: dict[str, object] = {"mig": 1}
    for number in range(instances):
        one = {
            "uuid": f"MIG-11111111-2222-5333-8444-{number:012x}",
            "name": f"NVIDIA H100 80GB HBM3 MIG {profile}",
            "total": mib * _MIB,
            "used": 15 * _MIB,
            **more,
        }
        added |= {f"m{number}.{key}": value for key, value in one.items()}
    return added


SERVER: Device = {"mig": 0, "persistence": 1, "ecc": 0, "remapped": 0}
# On a board of eight, every link goes to a switch, and the fabric is the board by itself.
BOARD: Device = {**SERVER, "nvlinks": 18, "nvlink_to": "switch", "fabric": "3:0:0:" + "0" * 32}
# In a rack, it is a domain of many boards.
RACK: Device = {**BOARD, "fabric": "3:0:32766:c0ffee00c0de4aaab1230123456789ab"}

H100 = gpu("NVIDIA H100 80GB HBM3", "9.0", 81559, "2330", **BOARD)
H200 = gpu("NVIDIA H200", "9.0", 143771, "2335", **BOARD)
A100 = gpu("NVIDIA A100-SXM4-80GB", "8.0", 81920, "20b2", **{**SERVER, "nvlinks": 12})
L40S = gpu("NVIDIA L40S", "8.9", 46068, "26b9", **SERVER)
B200 = gpu("NVIDIA B200", "10.0", 183359, "2901", **BOARD)
B300 = gpu("NVIDIA B300 SXM6 AC", "10.3", 275040, "3182", **BOARD)
GB200 = gpu("NVIDIA GB200", "10.0", 189471, "2941", **RACK)
GB300 = gpu("NVIDIA GB300", "10.3", 284208, "31c2", **RACK)
STATION = gpu("NVIDIA GB300", "10.3", 284208, "31c2", **SERVER)
GB10 = gpu("NVIDIA GB10", "12.1", None, "2e12")
RTX_PRO_6000 = gpu("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 97887, "2bb5", **SERVER)
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0", 32607, "2b85")
RTX_4090 = gpu("NVIDIA GeForce RTX 4090", "8.9", 24564, "2684")

LOST: Device = {**H200, "rc.nvmlDeviceGetHandleByIndex": GPU_IS_LOST}
# Answers by name out of a cache, then no more.
LOST_LATER: Device = {**H200, "rc.nvmlDeviceGetMemoryInfo": GPU_IS_LOST}
BUSY: Device = {**B200, "used": 165000 * _MIB, "reserved": 600 * _MIB}
HANGING: Device = {**H200, "hang.nvmlDeviceGetMemoryInfo": 1}
MIG_7X1G: Device = {**H100, **mig(7, "1g.10gb", 9984)}
MIG_NO_PERMISSION: Device = {
    **H100,
    "rc.nvmlDeviceGetMemoryInfo": NO_PERMISSION,
    **mig(2, "3g.40gb", 40192, **{"rc.nvmlDeviceGetMemoryInfo": NO_PERMISSION}),
}

SCENARIOS: dict[str, bytes | None] = {
    "no_driver": None,  # the library cannot be loaded at all
    "mismatch": machine([], failures={"nvmlInit": VERSION_MISMATCH}),
    "not_loaded": machine([], failures={"nvmlInit": DRIVER_NOT_LOADED}),
    "no_gpus": machine([]),
    "count_fails": machine([H200], failures={"nvmlDeviceGetCount": UNKNOWN_ERROR}),
    "hangs": machine([H200] * 8, failures={"hang.nvmlInit": 1}),
    "one_hangs": machine([*[H200] * 3, HANGING, *[H200] * 4]),
    "crashes": machine([H200] * 8, failures={"crash.nvmlDeviceGetName": 1}),
    "h100_8x": machine([H100] * 8),
    "h100_8x_old_driver": machine([H100] * 8, driver="470.256.02", cuda=11040),
    "h200_8x": machine([H200] * 8),
    "h200_4x": machine([H200] * 4),
    "h200_one_lost": machine([*[H200] * 3, LOST, *[H200] * 4]),
    "b200_8x_busy": machine(
        [{**BUSY, "processes": f"{4711 + index}:164500"} for index in range(7)]
        + [{**B200, "processes": "900:412", "graphics": "901"}],
        programs={900: "/usr/bin/nv-monitor --token=hunter2"},
    ),
    "b300_8x": machine([B300] * 8),
    "gb200_4x": machine([GB200] * 4),
    "gb300_4x": machine([GB300] * 4),
    "gb300_1x": machine([STATION]),
    "gb10": machine([GB10]),
    "a100_and_h100": machine([A100, H100]),
    "a100_8x": machine([A100] * 8),
    "rtx_5090_2x": machine([RTX_5090] * 2),
    "rtx_pro_6000_1x": machine([RTX_PRO_6000]),
    "rtx_pro_6000_2x": machine([RTX_PRO_6000] * 2),
    "rtx_pro_6000_8x": machine([RTX_PRO_6000] * 8),
    "rtx_4090": machine([RTX_4090]),
    "mig": machine([{**H100, "mig": 1}, H100]),
    "mig_7x1g": machine([MIG_7X1G]),
    "mig_no_permission": machine([MIG_NO_PERMISSION]),
    "fabric_in_progress": machine([{**H200, "fabric": "2:0:0:" + "0" * 32}] * 8),
    "memory_errors": machine([H200, {**H200, "ecc": 3, "remapped": 1}]),
}


def build(directory: Path) -> Path:
    """Compile the library and write the scenarios; the directory to pass to ``env``."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise RuntimeError("the NVML stub needs a C compiler: install gcc")
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", _SOURCE]
    subprocess.run([*command, "-o", directory / LIBRARY], check=True)
    (directory / "old").mkdir()
    subprocess.run([*command, "-DOLD", "-o", directory / "old" / LIBRARY], check=True)
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
    path = directory
    if scenario == "no_driver":
        path = directory / "no_driver"
    elif scenario.endswith("_old_driver"):
        path = directory / "old"
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
