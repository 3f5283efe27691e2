"""Work done in child processes, with a deadline that holds whatever a driver does.

A call that hangs in the kernel (a wedged driver, a dead file server) cannot be taken back, and a
process with a thread in one can neither exit nor become the server: both wait for the thread. So
it is made in a child. One that does not answer in time is killed, with all that it started, and
left to the kernel; one that a library crashes takes nothing along; what a library prints goes
nowhere; and no driver stays loaded in the process that becomes the server.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

SECONDS = 4.5  # until an answer is given up
_CHUNK = 1 << 16
_PAUSES = (0, 0.001, 0.002, 0.005, 0.01, 0.03, 0.1)  # for a child that has been killed


class Child:
    """Work that goes on in another process."""

    __slots__ = ("descriptor", "output", "pid", "status")

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self.descriptor = descriptor
        self.output: bytes | None = None  # until it has sent everything
        self.status: int | None = None  # as of wait; None: it is stuck, or another reaped it

    def answer(self) -> Any:
        """What its work returned. Raises EOFError, ValueError or TypeError where it sent none."""
        import marshal

        return marshal.loads(self.output or b"")  # noqa: S302 - our own child's


def begin(work: Callable[[], Any]) -> Child | None:
    """Start work that returns plain values. None where no process can be had."""
    try:
        ours, theirs = os.pipe()
    except OSError:
        return None
    try:
        pid = os.fork()
    except (OSError, AttributeError):  # AttributeError: a system without fork
        os.close(ours)
        os.close(theirs)
        return None
    if pid == 0:
        _work(work, theirs)
    os.close(theirs)
    _lead_a_group(pid)
    return Child(pid, ours)


def _lead_a_group(pid: int) -> None:
    """A group of its own, so that what it starts ends with it. Both sides do it: one is first."""
    try:  # noqa: SIM105 - contextlib is not imported for this
        os.setpgid(pid, pid)
    except OSError:  # it has ended already
        pass


def _work(work: Callable[[], Any], descriptor: int) -> NoReturn:
    """The child: work, send, and leave without what an exit of Python's would do."""
    import gc
    import marshal

    gc.disable()  # it lives for a moment, most of it importing bindings
    try:
        _lead_a_group(0)
        while descriptor < 3:  # where the standard ones were closed: it must not be silenced
            descriptor = os.dup(descriptor)
        _silence()
        left = memoryview(marshal.dumps(work()))
        while left:
            left = left[os.write(descriptor, left) :]
        os.close(descriptor)  # before the exit, which a stuck thread holds up
    finally:
        os._exit(0)


def _silence() -> None:
    """Vendors' libraries print, in Python and in C: never among our own output."""
    import sys

    null = open(os.devnull, "r+", encoding="utf-8")  # noqa: SIM115 - until the child ends
    for descriptor in (0, 1, 2):
        os.dup2(null.fileno(), descriptor)
    sys.stdout = sys.stderr = null


def finish(children: Sequence[Child], seconds: float) -> None:
    """Receive what comes in time; then end every child. One that is stuck is left behind."""
    try:
        if children:
            _receive(children, seconds)
    finally:
        for child in children:
            child.status = _end(child)


def _receive(children: Sequence[Child], seconds: float) -> None:
    from select import poll
    from time import monotonic

    deadline = monotonic() + seconds
    waiting = {child.descriptor: child for child in children}
    chunks: dict[int, list[bytes]] = {descriptor: [] for descriptor in waiting}
    poller = poll()
    for descriptor in waiting:
        poller.register(descriptor)
    while waiting and (left := deadline - monotonic()) > 0:
        for descriptor, _ in poller.poll(left * 1000):
            chunk = os.read(descriptor, _CHUNK)
            chunks[descriptor].append(chunk)
            if not chunk:
                poller.unregister(descriptor)
                waiting.pop(descriptor).output = b"".join(chunks[descriptor])


def _end(child: Child) -> int | None:
    """Its wait status, once it and all that it started are ended. None for one that is stuck."""
    from time import sleep

    os.close(child.descriptor)
    _kill(child)
    try:
        for pause in _PAUSES:
            sleep(pause)
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                return status
    except OSError:  # reaped by another: the parent ignores its children
        pass
    return None


def _kill(child: Child) -> None:
    """Kill its group; itself where it did not get to lead one."""
    for kill in (os.killpg, os.kill):
        try:
            kill(child.pid, 9)
            return
        except OSError:
            continue
