"""HugeTLB pages, available memory, shared memory."""

from __future__ import annotations

import os

from ...model.system import Filesystem, HugePool
from .. import memory
from ..reading import list_dir, read_file
from .files import at, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_POOLS = "sys/kernel/mm/hugepages"
_NODES = "sys/devices/system/node"
_SHM = "/dev/shm"  # noqa: S108 - the mount itself


def available(root: str) -> dict[str, Any]:
    """MemTotal and MemAvailable, which leaves HugeTLB pages out."""
    total, free = memory.read(root)
    if free is None:
        raise OSError("/proc/meminfo does not say MemAvailable")
    return {"memory_bytes": total, "memory_available_bytes": free}


def huge_pools(root: str) -> dict[str, Any]:
    """The pages of every size that the kernel supports."""
    if not os.path.isdir(at(root, "sys/kernel/mm")):
        raise OSError("/sys/kernel/mm is not there")
    pools = []
    for name in list_dir(root, _POOLS):
        kilobytes = number(name.removeprefix("hugepages-").removesuffix("kB"))
        if kilobytes is not None:
            pools.append(_pool(root, name, kilobytes * 1024))
    return {"huge_pools": tuple(sorted(pools, key=lambda pool: -pool.size))}


def _pool(root: str, name: str, size: int) -> HugePool:
    def count(what: str) -> int:
        return number(read_file(root, _POOLS, name, what)) or 0

    total = number(read_file(root, _POOLS, name, "nr_hugepages"))
    free = number(read_file(root, _POOLS, name, "free_hugepages"))
    if total is None or free is None:
        raise OSError(f"{at('/', _POOLS, name)} cannot be read")
    return HugePool(
        size=size,
        total=total,
        free=free,
        reserved=count("resv_hugepages"),
        overcommit=max(0, count("nr_overcommit_hugepages") - count("surplus_hugepages")),
        nodes=tuple(_on_nodes(root, name)),
    )


def _on_nodes(root: str, name: str) -> list[tuple[int, int, int]]:
    """Each NUMA node's share: its number, total and free pages."""
    found = []
    for entry in list_dir(root, _NODES):
        node = number(entry.removeprefix("node"))
        pages = (root, _NODES, entry, "hugepages", name)
        total = number(read_file(*pages, "nr_hugepages"))
        free = number(read_file(*pages, "free_hugepages"))
        if node is not None and total is not None and free is not None:
            found.append((node, total, free))
    return found


def shared(root: str) -> dict[str, Any]:
    """Space in /dev/shm."""
    return {"shm": filesystem(at(root, _SHM), _SHM)}


def filesystem(path: str, shown: str) -> Filesystem:
    """Space under a path, for a user who is not root."""
    figures = os.statvfs(path)
    unit = figures.f_frsize
    return Filesystem(path=shown, size=figures.f_blocks * unit, free=figures.f_bavail * unit)
