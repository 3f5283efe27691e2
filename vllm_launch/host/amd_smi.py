"""AMD GPUs as the ``amd-smi`` command reports them."""

from __future__ import annotations

import os

from ..model.host import Gpu
from .reading import printable, why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SOURCE = "amd-smi command"
TIMEOUT_S = 5.0
_MIB = 1 << 20  # amd-smi's "MB" is 2**20 bytes: 196592 on a GPU of 206141652992


class NoAnswer(Exception):
    """Why the command said nothing of use."""


def gpus(root: str = "/") -> tuple[Gpu, ...]:
    """The GPUs of ``amd-smi static``, with the UUIDs of ``amd-smi list``."""
    command = _find(root)
    entries = parse(_run(command, "static"))
    try:
        uuids = {entry.get("gpu"): entry.get("uuid") for entry in parse(_run(command, "list"))}
    except NoAnswer:
        uuids = {}
    return tuple(_gpu(index, entry, uuids) for index, entry in enumerate(entries))


def _find(root: str) -> str:
    import shutil

    command = shutil.which("amd-smi") or os.path.join(root, "opt/rocm/bin/amd-smi")
    if not os.access(command, os.X_OK):
        raise NoAnswer("not found")
    return command


def _run(command: str, what: str) -> str:
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
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _abandon(process)
        raise NoAnswer(f"`amd-smi {what}` gave no answer in {TIMEOUT_S:g} s") from None
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
        "name": said(asic.get("market_name")),
        "uuid": said(uuids.get(entry.get("gpu"))),
        "pci_bus_id": said(bus.get("bdf")),
        "pci_device_id": device_id(asic.get("device_id")),
        "gfx_target": said(asic.get("target_graphics_version")),
        "memory_bytes": _size(_section(entry, "vram").get("size")),
        "memory_used_bytes": None,
    }
    unknown = tuple((field, "amd-smi does not say") for field in fields if fields[field] is None)
    fields["name"] = fields["name"] or "unknown"
    return Gpu(
        index=index,
        vendor="AMD",
        compute_partition=said(compute),
        memory_partition=said(partition.get("memory_partition")),
        unknown=unknown,
        **fields,
    )


def _section(entry: dict[str, Any], name: str) -> dict[str, Any]:
    section = entry.get(name)
    return section if isinstance(section, dict) else {}


def said(value: object) -> str | None:
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


def _size(size: object) -> int | None:
    """Bytes of {"value": 196592, "unit": "MB"}, "196592 MB" or 196592."""
    if isinstance(size, dict):
        size = f"{size.get('value')} {size.get('unit', 'MB')}"
    words = str(size).split()
    units = {"MB": _MIB, "GB": _MIB << 10, "B": 1}
    unit = units.get(words[1].upper()) if len(words) == 2 else _MIB
    if not words or unit is None or not words[0].isdecimal():
        return None
    return int(words[0]) * unit or None
