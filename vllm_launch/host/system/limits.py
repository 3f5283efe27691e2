"""Resource limits and capabilities of this process, which the server inherits."""

from __future__ import annotations

import os

from ...model.system import UNLIMITED
from ..reading import read_file
from .files import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_CAPABILITIES = {"IPC_LOCK": 14, "SYS_NICE": 23}
_SIGNS = ("docker", "containerd", "kubepods", "libpod", "lxc")


def read() -> dict[str, Any]:
    """Locked memory as it is; open files as far as a process can raise its own limit."""
    import resource

    locked, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    return {
        "memlock": UNLIMITED if locked == endless else locked,
        "nofile": UNLIMITED if files == endless else files,
    }


def capabilities(root: str) -> dict[str, Any]:
    """Those of the effective ones that plans need."""
    for line in (read_file(root, "proc/self/status") or "").splitlines():
        key, _, value = line.partition(":")
        if key == "CapEff":
            bits = int(value, 16)
            held = [name for name, bit in _CAPABILITIES.items() if bits >> bit & 1]
            return {"capabilities": tuple(held)}
    raise OSError("/proc/self/status does not say CapEff")


def in_container(root: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """Whether this process is in a container, by the marks that engines leave."""
    marks = (".dockerenv", "run/.containerenv")
    first = read_file(root, "proc/1/cgroup") or ""
    inside = (
        any(os.path.exists(at(root, mark)) for mark in marks)
        or "KUBERNETES_SERVICE_HOST" in environ
        or any(sign in first for sign in _SIGNS)
    )
    return {"in_container": inside}
