"""Device files and drivers beside the GPUs' own: RDMA, IMEX, AMD's files, NVSwitch."""

from __future__ import annotations

import os

from ...model.system import Fabric
from ..reading import list_dir, read_file
from .files import at, program
from .runner import NoAnswer, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_IMEX = "dev/nvidia-caps-imex-channels"
_MANAGER = "nv-fabricmanager"
_LONGEST_NAME = 15  # of a process, in the kernel


def rdma(root: str) -> dict[str, Any]:
    """RDMA devices by the kernel's names, such as mlx5_0."""
    if not os.path.isdir(at(root, "sys/class")):
        raise OSError("/sys/class is not there")
    return {"rdma_devices": tuple(list_dir(root, "sys/class/infiniband"))}


def imex(root: str) -> dict[str, Any]:
    """IMEX channels that this process sees."""
    return {"imex_channels": tuple(list_dir(root, _IMEX))}


def amd(root: str) -> dict[str, Any]:
    """/dev/kfd and the render nodes, by opening them."""
    names = [f"dri/{n}" for n in list_dir(root, "dev/dri") if n.startswith("renderD")]
    files = ["/dev/kfd", *(f"/dev/{name}" for name in names or ["dri/renderD128"])]
    return {"amd_devices": tuple((path, _why_not(at(root, path))) for path in files)}


def _why_not(path: str) -> str:
    """Why a file cannot be read and written, or nothing."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except FileNotFoundError:
        return "not there"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    return ""


def fabric(root: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """NVSwitches, and the manager that has to run beside them."""
    switches = len(list_dir(root, "proc/driver/nvidia-nvswitch/devices"))
    if not switches:
        return {"fabric": Fabric(switches=0)}
    return {
        "fabric": Fabric(
            switches=switches, manager=_runs(root, _MANAGER), version=_version(root, environ)
        )
    }


def _runs(root: str, name: str) -> bool | None:
    """Whether a program runs; None where only a container's processes can be seen."""
    if read_file(root, "proc/1/comm") not in ("systemd", "init"):
        return None
    pids = (pid for pid in list_dir(root, "proc") if pid.isdecimal())
    return any(read_file(root, "proc", pid, "comm") == name[:_LONGEST_NAME] for pid in pids)


def _version(root: str, environ: Mapping[str, str]) -> str:
    path = program(_MANAGER, environ, root)
    if not path:
        return ""
    try:
        _, output, _ = run([at(root, path), "--version"], environ)
    except NoAnswer:
        return ""
    words = output.split()
    return words[-1] if words and words[-1][0].isdecimal() else ""
