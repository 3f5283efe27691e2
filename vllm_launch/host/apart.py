"""Reading drivers in child processes, with a deadline that holds whatever a driver does.

A driver call that never returns cannot be interrupted, and a process with a thread in
such a call can neither exit nor become the server: both wait for the thread. So each
vendor is read in a child. One that does not answer in time is killed and left to
the kernel; one that its driver crashes takes nothing along; what a vendor's library
prints goes nowhere; and no driver stays loaded in the process that becomes the server.
"""

from __future__ import annotations

import os

from ..errors import LaunchError
from ..model.host import HostFacts
from .facts_file import from_dict, to_dict
from .reading import why
from .together import no_answer, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Read = Callable[[str, float], HostFacts]

SECONDS = 4.5  # until a driver is given up
_TO_REPORT = 0.5  # of it, for the answers of those devices that did not hang
_CHUNK = 1 << 16


class Child:
    """A read that goes on in another process."""

    __slots__ = ("descriptor", "output", "pid", "what")

    def __init__(self, what: str, pid: int, descriptor: int) -> None:
        self.what = what
        self.pid = pid
        self.descriptor = descriptor
        self.output: bytes | None = None  # until it has ended


def read_apart(reads: Mapping[str, Read], root: str, seconds: float = SECONDS) -> list[HostFacts]:
    """What each read finds, or facts that say why it found nothing."""
    return finish(begin(reads, root, seconds), seconds)


def begin(reads: Mapping[str, Read], root: str, seconds: float) -> list[Child | HostFacts]:
    """Start the reads. One that no process can be had for is done here and now."""
    share = max(seconds - _TO_REPORT, seconds / 2)
    return [_begin(what, read, root, share) for what, read in reads.items()]


def _begin(what: str, read: Read, root: str, seconds: float) -> Child | HostFacts:
    try:
        ours, theirs = os.pipe()
        pid = os.fork()
    except (OSError, AttributeError):  # no process to be had; a system without fork
        return _here(what, read, root, seconds)
    if pid == 0:
        _answer(what, read, root, seconds, theirs)
    os.close(theirs)
    return Child(what, pid, ours)


def _here(what: str, read: Read, root: str, seconds: float) -> HostFacts:
    try:
        found: HostFacts = within(seconds, read, root, seconds)
    except Exception as error:
        return _nothing(what, f"failed: {why(error)}")
    return found


def _answer(what: str, read: Read, root: str, seconds: float, descriptor: int) -> None:
    """The child: read, send, and leave without what an exit of Python's would do."""
    import gc

    gc.disable()  # it lives for a moment, most of it importing bindings
    try:
        while descriptor < 3:  # where the standard ones were closed: it must not be silenced
            descriptor = os.dup(descriptor)
        _silence()
        _send(_found(what, read, root, seconds), descriptor)
        os.close(descriptor)  # before the exit, which a stuck thread holds up
    finally:
        os._exit(0)


def _found(what: str, read: Read, root: str, seconds: float) -> HostFacts:
    try:
        return read(root, seconds)
    except Exception as error:
        return _nothing(what, f"failed: {why(error)}")


def _silence() -> None:
    """Vendors' libraries print, in Python and in C: never among our own output."""
    import sys

    null = open(os.devnull, "r+", encoding="utf-8")  # noqa: SIM115 - until the child ends
    for descriptor in (0, 1, 2):
        os.dup2(null.fileno(), descriptor)
    sys.stdout = sys.stderr = null


def _send(facts: HostFacts, descriptor: int) -> None:
    import marshal

    left = memoryview(marshal.dumps(to_dict(facts)))
    while left:
        left = left[os.write(descriptor, left) :]


def finish(begun: list[Child | HostFacts], seconds: float) -> list[HostFacts]:
    """The answers that come in time. The children are gone afterwards, or left to the kernel."""
    children = [child for child in begun if isinstance(child, Child)]
    try:
        if children:
            _collect(children, seconds)
    finally:
        ends = {child.what: _end(child) for child in children}
    return [
        _facts(one, ends[one.what], seconds) if isinstance(one, Child) else one for one in begun
    ]


def _collect(children: list[Child], seconds: float) -> None:
    from select import poll
    from time import monotonic

    deadline = monotonic() + seconds
    waiting = {child.descriptor: child for child in children}
    chunks: dict[int, list[bytes]] = {descriptor: [] for descriptor in waiting}
    poller = poll()
    for child in children:
        poller.register(child.descriptor)
    while waiting and (left := deadline - monotonic()) > 0:
        for descriptor, _ in poller.poll(left * 1000):
            chunk = os.read(descriptor, _CHUNK)
            chunks[descriptor].append(chunk)
            if not chunk:
                poller.unregister(descriptor)
                waiting.pop(descriptor).output = b"".join(chunks[descriptor])


def _end(child: Child) -> int | None:
    """Its wait status. One that is stuck in its driver is not waited for: None."""
    from time import sleep

    os.close(child.descriptor)
    try:
        if child.output is None:
            os.kill(child.pid, 9)
        for pause in (0, 0.001, 0.002, 0.005, 0.01, 0.03, 0.1):
            sleep(pause)
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                return status
    except OSError:  # reaped by another: the parent ignores its children
        pass
    return None


def _facts(child: Child, status: int | None, seconds: float) -> HostFacts:
    import marshal

    if child.output is None:
        return _nothing(child.what, f"{no_answer(seconds)}: the driver hangs")
    if status and os.WIFSIGNALED(status):
        return _nothing(child.what, f"the driver's library crashed (signal {os.WTERMSIG(status)})")
    try:
        return from_dict(marshal.loads(child.output), child.what)  # noqa: S302 - our own child
    except (LaunchError, EOFError, ValueError, TypeError) as error:
        return _nothing(child.what, f"failed: {why(error)}")


def _nothing(what: str, reason: str) -> HostFacts:
    return HostFacts(looked_for=((what, reason),))
