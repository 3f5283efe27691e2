"""A stub of AMD's SMI library for tests: the real amdsmi loads it.

    directory = amdsmi_stub.build(tmp_path)               # once a session: compiles
    subprocess.run([...], env={**os.environ, **amdsmi_stub.variables("mi300x_8x", directory)})

The package looks up every function of the library when it is imported. Those that this
project does not call are generated from the package's own text, and answer NotSupported.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# AMD SMI's return codes.
NOT_SUPPORTED, NO_PERM, DRIVER_NOT_LOADED = 2, 10, 34

_SOURCE = Path(__file__).with_name("amdsmi_stub.c")
_BOUND = re.compile(r"_libraries\['libamd_smi\.so'\]\.(\w+)")
_DEFINED = re.compile(r"^EXPORT \w+ (amdsmi_\w+)\(", re.MULTILINE)
MI300X_BYTES = 206141652992
MI355X_BYTES = 309220868096
_IDLE_BYTES = 297795584

Device = Mapping[str, object]


def gpu(name: str, device: str, gfx: str, total: int, **more: object) -> Device:
    """One GPU, whole."""
    asic = {"name": name, "device": device, "gfx": gfx, "total": total, "used": _IDLE_BYTES}
    return {**asic, "compute": "SPX", "memory": "NPS1", "driver": "6.14.14", **more}


def machine(gpus: Sequence[Device], failures: Mapping[str, object] | None = None) -> bytes:
    """A scenario file's content. ``failures``: function and return code, or "hang.FUNCTION"."""
    lines = [f"count={len(gpus)}"]
    lines += [
        f"{key}={value}" if "." in key else f"rc.{key}={value}"
        for key, value in (failures or {}).items()
    ]
    for index, device in enumerate(gpus):
        place = {
            "uuid": f"00ff74a1-0000-1000-80{index:02x}-000000000000",
            "serial": f"{0xABCDEF0000000000 + index:X}",
            "bdf": bdf(0x05 + 0x10 * index),
            "numa": 2 * index // len(gpus),
        }
        lines += [f"{index}.{key}={value}" for key, value in {**place, **device}.items()]
    return "\n".join(lines).encode() + b"\n"


def bdf(bus: int, device: int = 0, function: int = 0) -> int:
    """A PCI address in the library's one number."""
    return bus << 8 | device << 3 | function


MI300X = gpu("AMD Instinct MI300X", "74a1", "942", MI300X_BYTES)
MI355X = gpu("AMD Instinct MI355X", "75a3", "950", MI355X_BYTES)
# A virtual machine's: no name of its own, no serial number.
VIRTUAL = gpu("AMD Radeon Graphics", "74b5", "942", MI300X_BYTES, serial="")
# One GPU in eight parts. The driver tells the modes of the first alone.
PARTS = [
    {
        **MI300X,
        "total": MI300X_BYTES // 4,
        "bdf": bdf(5, function=part),
        "compute": "",
        "memory": "",
    }
    for part in range(8)
]
CPX = [{**PARTS[0], "compute": "CPX", "memory": "NPS4"}, *PARTS[1:]]
RADEON = gpu("AMD Radeon RX 7900 XTX", "744c", "1100", 24 << 30, compute="", memory="")
INTEGRATED = gpu("AMD Radeon Graphics", "164e", "1036", 512 << 20, compute="", memory="")

SCENARIOS: dict[str, bytes | None] = {
    "no_rocm": None,  # the library cannot be loaded at all
    "no_gpus": machine([]),
    "not_loaded": machine([], failures={"amdsmi_init": DRIVER_NOT_LOADED}),
    "hangs": machine([MI300X] * 8, failures={"hang.amdsmi_init": 1}),
    "one_hangs": machine(
        [*[MI300X] * 2, {**MI300X, "hang.amdsmi_get_gpu_memory_usage": 1}, *[MI300X] * 5]
    ),
    "crashes": machine([MI300X] * 8, failures={"crash.amdsmi_get_gpu_asic_info": 1}),
    "mi300x_8x": machine(
        [{**MI300X, "used": 180 << 30, "processes": "4711:python3:183500"}, *[MI300X] * 7]
    ),
    "mi355x_8x": machine([MI355X] * 8),
    "mi300x_cpx": machine(CPX),
    "mi300x_vm": machine([VIRTUAL] * 8),
    "mi300x_1x": machine([MI300X]),
    "apu_and_discrete": machine(
        [{**RADEON, "bdf": bdf(3)}, {**INTEGRATED, "bdf": bdf(0x0E)}],
    ),
}


def build(directory: Path) -> Path:
    """Compile the library and write the scenarios; the directory to pass to ``variables``."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise RuntimeError("the amdsmi stub needs a C compiler: install gcc")
    generated = directory / "generated.c"
    generated.write_text("".join(f"int {name}(void) {{ return 2; }}\n" for name in unused()))
    library = directory / "rocm/lib/libamd_smi.so"
    library.parent.mkdir(parents=True)
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, _SOURCE, generated], check=True)
    for name, content in SCENARIOS.items():
        if content is not None:
            write(directory, name, content)
    # An empty file: found first, and no library, whatever else the machine has.
    absent = directory / "no_rocm/lib/libamd_smi.so"
    absent.parent.mkdir(parents=True)
    absent.write_bytes(b"")
    return directory


def unused() -> list[str]:
    """The functions that the package binds and ``amdsmi_stub.c`` does not define."""
    bound = _BOUND.findall((package() / "amdsmi_wrapper.py").read_text(encoding="utf-8"))
    return sorted(set(bound) - set(_DEFINED.findall(_SOURCE.read_text(encoding="utf-8"))))


def package() -> Path:
    """Where the amdsmi package is, without importing it."""
    spec = importlib.util.find_spec("amdsmi")
    if spec is None or spec.origin is None:
        raise RuntimeError("the tests need the Python package amdsmi: pip install -e '.[test]'")
    return Path(spec.origin).parent


def write(directory: Path, name: str, content: bytes) -> None:
    """Add a scenario to a built directory."""
    (directory / f"{name}.scenario").write_bytes(content)


def variables(scenario: str, directory: Path) -> dict[str, str]:
    """The environment that makes a process see the scenario's GPUs."""
    rocm = directory / ("no_rocm" if scenario == "no_rocm" else "rocm")
    file = directory / f"{scenario}.scenario"
    if scenario != "no_rocm" and not file.exists():
        raise LookupError(f"no scenario {scenario!r} in {directory}")
    home = str(rocm)
    return {"ROCM_HOME": home, "ROCM_PATH": home, "AMDSMI_STUB_SCENARIO": str(file)}
