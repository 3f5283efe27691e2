"""Shared memory and resource limits."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.system import UNLIMITED
from .layout import layout, uses
from .memory import pinned
from .units import GIB, MIB, size
from .unread import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation

_PATH = "/dev/shm"  # noqa: S108 - the mount itself
_QUEUE = 240 * MIB  # the largest message queue between a server's processes
_ROOMY = GIB  # with what NCCL and several queues take
_FILES = 4096  # fewer are gone with some hundred connections
RDMA_CONNECTORS = ("Nixl", "Mooncake", "MoRIIO")


def shared_memory(situation: Situation) -> Iterable[Finding] | None:
    """Shared memory, which all ranks of a node talk through. Containers get the host's."""
    files = [part for part in pinned(situation) if part.shared]
    if layout(situation.process).world < 2 and not files:
        return None
    shm = situation.system.shm
    if shm is None:
        return unread(situation, "shm", f"{_PATH} was not measured")
    needed = sum(part.total for part in files)
    if needed > shm.free:
        return [_too_small(needed + _ROOMY, shm.free, needed, files[0].what, files[0].flag)]
    if shm.free < _QUEUE:
        return [_too_small(_ROOMY, shm.free, _QUEUE, "message queues", "")]
    if shm.free < _ROOMY:
        return [_too_small(_ROOMY, shm.free, _ROOMY, "message queues and NCCL", "", "warn")]
    return []


def _too_small(
    wanted: int, free: int, needed: int, what: str, flag: str, severity: str = "fail"
) -> Finding:
    gib = -(-wanted // GIB)
    return Finding(
        severity=severity,
        what=f"{_PATH} has {size(free)} free, {size(needed)} needed for {what}",
        why="The ranks of a node exchange data there and stop where it does not fit.",
        remedy=f"Enlarge it; in a container of your own, pass --ipc=host or --shm-size {gib}g.",
        command=f"sudo mount -o remount,size={gib}G {_PATH}",
        cause=flag,
    )


def locked_memory(situation: Situation) -> Iterable[Finding] | None:
    """RLIMIT_MEMLOCK, where memory is registered with RDMA devices."""
    connector = uses(situation.process, *RDMA_CONNECTORS)
    if connector is None or not situation.native or situation.system.rdma_devices == ():
        return None
    system = situation.system
    if "IPC_LOCK" in (system.capabilities or ()):
        return []
    if system.memlock is None:
        return unread(situation, "memlock", "ulimit -l was not read")
    if system.memlock == UNLIMITED:
        return []
    needed = sum(part.total for part in pinned(situation) if part.locked)
    if needed and needed <= system.memlock:
        return []
    amount = size(needed) if needed else "unlimited"
    return [
        Finding(
            severity="fail" if needed else "warn",
            what=f"ulimit -l is {size(system.memlock)}, {amount} needed by {connector.name}",
            why="Registering memory with an RDMA device fails with ENOMEM beyond the limit.",
            remedy="Raise it for this shell, or for good in /etc/security/limits.conf; in a "
            "container of your own, pass --ulimit memlock=-1.",
            command='sudo prlimit --pid "$$" --memlock=unlimited:unlimited',
            cause=connector.flag,
            source=connector.source,
        )
    ]


def open_files(situation: Situation) -> Iterable[Finding] | None:
    """RLIMIT_NOFILE, up to which the server raises its own limit."""
    if not situation.native:
        return None
    limit = situation.system.nofile
    if limit is None:
        return unread(situation, "nofile", "ulimit -n was not read")
    if limit == UNLIMITED or limit >= _FILES:
        return []
    return [
        Finding(
            severity="warn",
            what=f"{limit} open files allowed, {_FILES} needed at least",
            why="Each connection takes one: beyond the limit requests fail with EMFILE.",
            remedy="Raise the hard limit for this shell, or for good in /etc/security/limits.conf.",
            command='sudo prlimit --pid "$$" --nofile=65535:65535',
        )
    ]


CHECKS = (
    Check(code="SHM", subject="limits", about="free space in /dev/shm", run=shared_memory),
    Check(
        code="MEMLOCK",
        subject="limits",
        about="locked memory, where an RDMA device is registered with",
        run=locked_memory,
    ),
    Check(code="NOFILE", subject="limits", about="open files", run=open_files),
)
