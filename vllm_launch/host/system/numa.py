"""NUMA nodes, and whether memory may be bound to them."""

from __future__ import annotations

import os

from ..reading import list_dir, read_file
from .files import number, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}
_BIND = 2


def nodes(root: str) -> dict[str, Any]:
    """The nodes that have memory."""
    spans = read_file(root, "sys/devices/system/node/has_memory")
    found = _numbers(spans) if spans else _entries(root)
    if not found:
        raise OSError("/sys/devices/system/node is not there")
    return {"numa_nodes": tuple(found)}


def _numbers(spans: str) -> list[int]:
    """The numbers of "0-1,8"."""
    found: list[int] = []
    for span in spans.split(","):
        first, _, last = span.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _entries(root: str) -> list[int]:
    names = list_dir(root, "sys/devices/system/node")
    numbers = (number(name.removeprefix("node")) for name in names if name.startswith("node"))
    return [one for one in numbers if one is not None]


def binding(root: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Whether numactl is there, and whether this process is free to choose its CPUs."""
    count = os.cpu_count() or 1
    return {
        "numactl": bool(program("numactl", environ, root)),
        "cpus_restricted": os.sched_getaffinity(0) != set(range(count)),
    }


def policy(root: str) -> dict[str, Any]:
    """Whether a memory policy may be set: by setting one, in this process, which ends soon."""
    import ctypes
    import errno

    call = _SET_MEMPOLICY.get(os.uname().machine)
    if call is None:
        raise OSError(f"not tried on {os.uname().machine}")
    node = nodes(root)["numa_nodes"][0]
    mask = (ctypes.c_ulong * 16)()
    mask[node // 64] = 1 << node % 64
    libc = ctypes.CDLL(None, use_errno=True)
    refused = libc.syscall(call, _BIND, ctypes.byref(mask), ctypes.c_ulong(16 * 64)) != 0
    reason = ctypes.get_errno() if refused else 0
    if reason and reason not in (errno.EPERM, errno.ENOSYS):
        raise OSError(reason, os.strerror(reason))
    return {"memory_policy": not refused}
