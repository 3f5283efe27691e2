"""Limits of the control group, versions 1 and 2: the tightest from here up to the root."""

from __future__ import annotations

import os

from ...model.system import Cgroup
from ..reading import list_dir, read_file
from .files import at, number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Limits: TypeAlias = dict[int, tuple[int, int]]  # page size: limit, used

_MOUNT = "sys/fs/cgroup"
_NO_LIMIT = 1 << 60  # version 1 says the largest number of pages there can be
_UNITS = {"KB": 10, "MB": 20, "GB": 30}
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")


def read(root: str) -> dict[str, Any]:
    """The limits on what a process started here may have."""
    lines = (read_file(root, "proc/self/cgroup") or "").splitlines()
    paths = {controller: path for _, controller, path in (line.split(":", 2) for line in lines)}
    if os.path.exists(at(root, _MOUNT, "cgroup.controllers")):
        return {"cgroup": _version_2(root, paths.get("", "/"))}
    by_controller = {name: path for key, path in paths.items() for name in key.split(",")}
    if not os.path.isdir(at(root, _MOUNT, "memory")):
        raise OSError("no control groups are mounted under /sys/fs/cgroup")
    return {"cgroup": _version_1(root, by_controller)}


def _version_2(root: str, path: str) -> Cgroup:
    levels = _levels(root, _MOUNT, path)
    limit, used = _memory(levels, _V2)
    return Cgroup(
        version=2,
        memory_limit=limit,
        memory_used=used,
        hugetlb=_sorted(_hugetlb(levels, ("max", "rsvd.max"), ("current", "rsvd.current"))),
        path=_shown(root, levels),
    )


def _version_1(root: str, paths: dict[str, str]) -> Cgroup:
    memory = _levels(root, f"{_MOUNT}/memory", paths.get("memory", "/"))
    huge = _levels(root, f"{_MOUNT}/hugetlb", paths.get("hugetlb", "/"))
    limit, used = _memory(memory, _V1)
    names = ("limit_in_bytes", "rsvd.limit_in_bytes"), ("usage_in_bytes", "rsvd.usage_in_bytes")
    return Cgroup(
        version=1,
        memory_limit=limit,
        memory_used=used,
        hugetlb=_sorted(_hugetlb(huge, *names)),
        path=_shown(root, huge),
    )


def _levels(root: str, mount: str, path: str) -> list[str]:
    """The group's directory and those above it. Inside a container only the mount is there."""
    top = at(root, mount)
    here = at(top, path) if path != "/" else top
    if not os.path.isdir(here) or ".." in path:
        here = top
    levels = [here]
    while here.rstrip("/") != top.rstrip("/"):
        here = os.path.dirname(here.rstrip("/"))
        levels.append(here)
    return levels


def _shown(root: str, levels: list[str]) -> str:
    return "/" + os.path.relpath(levels[0], root)


def _memory(levels: list[str], names: tuple[str, str, str]) -> tuple[int | None, int | None]:
    """The limit that leaves the least, and what is used of it."""
    tightest: tuple[int, int, int] | None = None
    for level in levels:
        limit = number(read_file(level, names[0]))
        used = number(read_file(level, names[1])) or 0
        if limit is None or limit >= _NO_LIMIT:
            continue
        used = max(0, used - _cache(level, names[2]))
        if tightest is None or limit - used < tightest[0]:
            tightest = limit - used, limit, used
    return (tightest[1], tightest[2]) if tightest else (None, None)


def _cache(level: str, name: str) -> int:
    """Page cache that is dropped when memory is needed."""
    for line in (read_file(level, "memory.stat") or "").splitlines():
        key, _, value = line.partition(" ")
        if key == name:
            return number(value) or 0
    return 0


def _hugetlb(levels: list[str], limits: tuple[str, str], usages: tuple[str, str]) -> Limits:
    """For each page size the limit that leaves the least; reservations count too."""
    found: Limits = {}
    for level in levels:
        for name in list_dir(level):
            size = _size(name, limits)
            if size is None:
                continue
            limit = number(read_file(level, name))
            kind = limits.index(name.split(".", 2)[2])
            usage = ".".join((*name.split(".", 2)[:2], usages[kind]))
            used = number(read_file(level, usage)) or 0
            if limit is None or limit >= _NO_LIMIT:
                continue
            before = found.get(size)
            if before is None or limit - used < before[0] - before[1]:
                found[size] = limit, used
    return found


def _size(name: str, limits: tuple[str, str]) -> int | None:
    """The page size of a limit's file, "hugetlb.1GB.max"."""
    parts = name.split(".", 2)
    if len(parts) != 3 or parts[0] != "hugetlb" or parts[2] not in limits:
        return None
    digits, unit = parts[1][:-2], parts[1][-2:]
    return int(digits) << _UNITS[unit] if digits.isdecimal() and unit in _UNITS else None


def _sorted(limits: Limits) -> tuple[tuple[int, int, int], ...]:
    return tuple((size, *limits[size]) for size in sorted(limits))
