"""AMD GPUs as the ``amd-smi`` command reports them."""

from __future__ import annotations

import os

from ..model.host import Gpu, GpuProcess
from ..model.record import Record
from .deadline import run_all
from .reading import printable, program, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SOURCE = "amd-smi command"
TIMEOUT_S = 5.0
_ASKED = ("static", "list", "process")
_MIB = 1 << 20  # amd-smi's "MB" is 2**20 bytes: 196592 on a GPU of 206141652992


class NoAnswer(Exception):
    """Why a source said nothing of use."""


class Found(Record):
    """What a source lists."""

    gpus: tuple[Gpu, ...] = ()
    driver: str | None = None
    answers: bool = True  # false: something of the driver hangs


def found(root: str, seconds: float) -> Found:
    """The GPUs of ``amd-smi static``, with what ``list`` and ``process`` add; the driver.

    The three are run at once: each is a Python program that takes its time to start.
    """
    command = _find(root)
    answers: dict[str, Any] = {}
    limit = min(TIMEOUT_S, seconds * 0.9)  # stopped, not left: it is a process of its own
    run_all([_job(answers, command, what, limit) for what in _ASKED], seconds)
    entries = answers.get("static")
    if not isinstance(entries, list):
        raise NoAnswer(str(entries or _late("static", limit)))
    uuids = {one.get("gpu"): one.get("uuid") for one in _listed(answers.get("list"))}
    holders = {one.get("gpu"): one for one in _listed(answers.get("process"))}
    gpus = [_gpu(index, entry, uuids) for index, entry in enumerate(entries)]
    processes = [_processes(holders.get(entry.get("gpu")), root) for entry in entries]
    versions = [known_text(_section(entry, "driver").get("version")) for entry in entries]
    return Found(
        gpus=tuple(gpu.replace(processes=of) for gpu, of in zip(gpus, processes, strict=True)),
        driver=versions[0] if versions else None,
    )


def _late(what: str, limit: float) -> str:
    return f"`amd-smi {what}` gave no answer in {limit:.1f} s"


def _job(answers: dict[str, Any], command: str, what: str, limit: float) -> Callable[[], None]:
    """Keep the entries, or the reason for none."""

    def job() -> None:
        try:
            answers[what] = parse(_run(command, what, limit))
        except NoAnswer as error:
            answers[what] = str(error)

    return job


def _listed(answer: object) -> list[dict[str, Any]]:
    return answer if isinstance(answer, list) else []


def _find(root: str) -> str:
    """On the path, as ``shutil.which`` would; but that is slow to import."""
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep)]
    folders += [os.path.join(root, "opt/rocm/bin")]
    for command in (os.path.join(folder, "amd-smi") for folder in folders if folder):
        if os.path.isfile(command) and os.access(command, os.X_OK):
            return command
    raise NoAnswer("not found")


def _run(command: str, what: str, limit: float) -> str:
    """Its standard output. A command stuck in the driver is left behind, never waited for."""
    import subprocess

    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed command line
            [command, what, "--json"], stdin=null, stdout=pipe, stderr=null, start_new_session=True
        )
    except OSError as error:
        raise NoAnswer(why(error)) from error
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _abandon(process)
        raise NoAnswer(_late(what, limit)) from None
    return output.decode("utf-8", "replace")


def _abandon(process: Any) -> None:
    """Kill the command and its children; in an uninterruptible sleep it outlives that."""
    import signal
    import subprocess

    try:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.wait(timeout=1)
    except (OSError, subprocess.TimeoutExpired):
        pass


def parse(output: str) -> list[dict[str, Any]]:
    """One entry a GPU, from a bare list or from {"gpu_data": [...]}, after any warnings."""
    import json

    decoder, start = json.JSONDecoder(), 0
    for line in output.splitlines(keepends=True):
        if line.lstrip().startswith(("[", "{")):
            try:
                value, _ = decoder.raw_decode(output, start + len(line) - len(line.lstrip()))
            except (ValueError, RecursionError):
                value = None
            entries = value.get("gpu_data") if isinstance(value, dict) else value
            if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries):
                return entries
        start += len(line)
    raise NoAnswer("its answer has no list of GPUs")


def _gpu(index: int, entry: dict[str, Any], uuids: dict[Any, Any]) -> Gpu:
    asic, bus = _section(entry, "asic"), _section(entry, "bus")
    partition = _section(entry, "partition")
    compute = partition.get("compute_partition", partition.get("accelerator_partition"))
    fields: dict[str, Any] = {
        "name": known_text(asic.get("market_name")),
        "uuid": unique_id(asic.get("asic_serial")) or known_text(uuids.get(entry.get("gpu"))),
        "pci_bus_id": known_text(bus.get("bdf")),
        "pci_device_id": device_id(asic.get("device_id")),
        "gfx_target": known_text(asic.get("target_graphics_version")),
        "memory_bytes": _size(_section(entry, "vram").get("size")),
        "memory_used_bytes": None,
    }
    unknown = tuple((field, "amd-smi does not say") for field in fields if fields[field] is None)
    fields["name"] = fields["name"] or "unknown"
    return Gpu(
        index=index,
        vendor="AMD",
        compute_partition=known_text(compute),
        memory_partition=known_text(partition.get("memory_partition")),
        numa_node=_number(_section(entry, "numa").get("node")),
        unknown=unknown,
        **fields,
    )


def _section(entry: dict[str, Any], name: str) -> dict[str, Any]:
    section = entry.get(name)
    return section if isinstance(section, dict) else {}


def known_text(value: object) -> str | None:
    """A value that AMD's tools have: theirs for none is "N/A"."""
    words = printable(value) if isinstance(value, str) else ""
    return None if words.upper() in ("", "N/A") else words


def device_id(value: object) -> str | None:
    """Four hex digits of 29857, "0x74a1" or "74a1"."""
    try:
        number = int(value, 16) if isinstance(value, str) else value
    except ValueError:
        return None
    return f"{number:04x}" if isinstance(number, int) and 0 < number <= 0xFFFF else None


def unique_id(serial: object) -> str | None:
    """The id that ROCR_VISIBLE_DEVICES takes, of a serial number "0x1F2E…"."""
    try:
        number = int(serial, 16) if isinstance(serial, str) else 0
    except ValueError:
        return None
    return f"GPU-{number:016x}" if 0 < number < 1 << 64 else None


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 16 else None


def _processes(entry: dict[str, Any] | None, root: str) -> tuple[GpuProcess, ...] | None:
    """Those that hold memory. None where the command does not say."""
    listed = (entry or {}).get("process_list")
    if not isinstance(listed, list):
        return None
    infos = [_section(one, "process_info") for one in listed if isinstance(one, dict)]
    found = [
        GpuProcess(
            pid=info["pid"],
            name=program(root, info["pid"]) or _program(info.get("name")),
            memory_bytes=_size(_section(info, "memory_usage").get("vram_mem")),
        )
        for info in infos
        if type(info.get("pid")) is int and info["pid"] >= 0
    ]
    return tuple(sorted(found, key=pid))


def pid(process: GpuProcess) -> int:
    """What processes are sorted by."""
    return process.pid


def _program(name: object) -> str | None:
    """The first word, without its path: no argument."""
    words = (known_text(name) or "").split()
    return words[0].rpartition("/")[2] or None if words else None


def _size(size: object) -> int | None:
    """Bytes of {"value": 196592, "unit": "MB"}, "196592 MB" or 196592."""
    if isinstance(size, dict):
        size = f"{size.get('value')} {size.get('unit', 'MB')}"
    words = str(size).split()
    units = {"B": 1, "KB": 1 << 10, "MB": _MIB, "GB": _MIB << 10}
    unit = units.get(words[1].upper()) if len(words) == 2 else _MIB
    if not words or unit is None or not words[0].isdecimal():
        return None
    return int(words[0]) * unit or None
