"""Which process is which: a pid is given out again, and a machine is started anew."""

from __future__ import annotations

import os
import signal

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BOOT = "/proc/sys/kernel/random/boot_id"
_NAMESPACE = "/proc/self/ns/pid"


class Identity(Record):
    """One process: no other has all of these."""

    pid: int
    started: int  # in clock ticks since the machine's start
    boot: str
    namespace: str  # of pids: a container counts its own
    host: str


class Seen(Record):
    """What the kernel says of a process."""

    state: str
    parent: int
    session: int
    started: int


def look(pid: int) -> Seen | None:
    """What /proc says of a pid; None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            text = stream.read()
    except OSError:
        return None
    words = text[text.rfind(b")") + 2 :].split()  # a program's name may have anything in it
    if len(words) < 20:
        return None
    return Seen(
        state=words[0].decode(),
        parent=int(words[1]),
        session=int(words[3]),
        started=int(words[19]),
    )


def identity_of(pid: int) -> Identity | None:
    """The identity of a process of this machine; None where there is none."""
    seen = look(pid)
    if seen is None:
        return None
    return Identity(pid=pid, started=seen.started, **_here())


def _here() -> dict[str, Any]:
    return {
        "boot": _text(_BOOT),
        "namespace": _link(_NAMESPACE),
        "host": os.uname().nodename,
    }


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii") as stream:
            return stream.read().strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def elsewhere(identity: Identity) -> str:
    """Why nothing can be said of a process from here; "" where it can."""
    here = _here()
    if identity.boot == here["boot"]:
        same = identity.namespace == here["namespace"]
        return "" if same else f"it runs in another container, {identity.host}"
    return "" if identity.host == here["host"] else f"it runs on another machine, {identity.host}"


def is_alive(identity: Identity) -> bool:
    """Whether this very process runs here. One that has ended and is not reaped does not."""
    if identity.boot != _here()["boot"]:
        return False
    seen = look(identity.pid)
    return seen is not None and seen.started == identity.started and seen.state not in "ZX"


def family_of(leader: Identity) -> list[Identity]:
    """The processes of a session that a process leads or has led, besides itself.

    With what these and a leader that lives have started in sessions of their own. The kernel gives
    the leader's number to no other process as long as one of its session is there. Where the
    number is another process's by now, none of these are left.
    """
    if leader.boot != _here()["boot"]:
        return []
    numbers = (int(name) for name in os.listdir("/proc") if name.isdecimal())
    seen = {pid: found for pid in numbers if (found := look(pid)) is not None}
    if leader.pid in seen and seen[leader.pid].started != leader.started:
        return []
    family = {pid for pid, found in seen.items() if found.session == leader.pid}
    family |= {leader.pid} & set(seen)
    while more := {pid for pid in seen if seen[pid].parent in family} - family:
        family |= more
    return [
        leader.replace(pid=pid, started=seen[pid].started)
        for pid in sorted(family - {leader.pid})
        if seen[pid].started >= leader.started and seen[pid].state not in "ZX"
    ]


def send(identity: Identity, number: int) -> bool:
    """Send a signal to this process and no other; whether it was there.

    Raises PermissionError where it is another user's.
    """
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    except (OSError, AttributeError):  # a kernel or a sandbox without it
        return _send_by_number(identity, number)
    try:
        if not is_alive(identity):  # looked at while the handle holds on to it
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def _send_by_number(identity: Identity, number: int) -> bool:
    try:
        if is_alive(identity):
            os.kill(identity.pid, number)
            return True
    except ProcessLookupError:
        pass
    return False


def to_record(identity: Identity | None) -> Any:
    """As plain data."""
    if identity is None:
        return None
    return {name: getattr(identity, name) for name in ("pid", "started", "boot", "namespace",
                                                       "host")}  # fmt: skip


def from_record(kept: Any) -> Identity | None:
    """An identity out of plain data; None for what is none."""
    if not isinstance(kept, dict):
        return None
    pid, started = kept.get("pid"), kept.get("started")
    texts = [kept.get(name) for name in ("boot", "namespace", "host")]
    if not (isinstance(pid, int) and isinstance(started, int) and pid > 1):
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    boot, namespace, host = (str(text) for text in texts)
    return Identity(pid=pid, started=started, boot=boot, namespace=namespace, host=host)
