"""Host memory, from /proc/meminfo."""

from __future__ import annotations

from .reading import read_file

MEMINFO = "proc/meminfo"


def read(root: str = "/") -> tuple[int | None, int | None]:
    """MemTotal and MemAvailable in bytes; None for one that is not there."""
    lines = (read_file(root, MEMINFO) or "").splitlines()
    entries = dict(line.partition(":")[::2] for line in lines)
    return _in_bytes(entries.get("MemTotal")), _in_bytes(entries.get("MemAvailable"))


def _in_bytes(entry: str | None) -> int | None:
    """An entry such as "528280976 kB" in bytes. The kernel's kB is 1024 bytes."""
    words = (entry or "").split()
    if len(words) != 2 or words[1] != "kB" or not words[0].isdecimal():
        return None
    return int(words[0]) * 1024
