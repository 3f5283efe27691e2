"""Reading in a child process, all at once, with a deadline that holds.

A call that hangs in the kernel (a dead file server, a wedged driver) cannot be taken back, and a
process with a thread in one can neither exit nor become the server. So everything is read by
threads of a child, which sends what it has when time is up and is left behind.
"""

from __future__ import annotations

import os

from ...model.system import SystemFacts
from ..reading import why
from ..together import no_answer, together
from .transport import facts_from, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    # The fields that it fills, and what reads them.
    Collector: TypeAlias = tuple[tuple[str, ...], Callable[[], dict[str, Any]]]

SECONDS = 4.5
_TO_SEND = 0.3  # of it, for a child that has waited for others
_CHUNK = 1 << 16


def read_apart(collectors: Sequence[Collector], seconds: float) -> SystemFacts:
    """Run the collectors in a child; here, where no child can be had."""
    try:
        ours, theirs = os.pipe()
    except OSError:
        return facts_from(gather(collectors, seconds))
    try:
        pid = os.fork()
    except (OSError, AttributeError):
        os.close(ours)
        os.close(theirs)
        return facts_from(gather(collectors, seconds))
    if pid == 0:
        _child(collectors, max(seconds - _TO_SEND, seconds / 2), theirs)
    os.close(theirs)
    answer = None
    try:
        _lead_a_group(pid)
        answer = _receive(ours, seconds)
    finally:
        _end(pid)
    if answer is None:
        fields = [field for names, _ in collectors for field in names]
        return SystemFacts(unknown=tuple((field, no_answer(seconds)) for field in fields))
    return answer


def _lead_a_group(pid: int) -> None:
    """A group of its own, so that what it starts ends with it. Both sides do it: one is first."""
    try:  # noqa: SIM105 - contextlib is not imported for this
        os.setpgid(pid, pid)
    except OSError:  # it has ended already
        pass


def gather(collectors: Sequence[Collector], seconds: float) -> dict[str, Any]:
    """All answers that come in time, with the reasons for those that do not."""
    found: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    together([_job(one, found, unknown) for one in collectors], seconds)
    found, unknown = dict(found), dict(unknown)  # copies, which late threads leave alone
    for fields, _ in collectors:
        for field in fields:
            if field not in found and field not in unknown:
                unknown[field] = no_answer(seconds)
    return {**found, "unknown": tuple(unknown.items())}


def _job(
    collector: Collector, found: dict[str, Any], unknown: dict[str, str]
) -> Callable[[], None]:
    """What a thread does: keep the answer, or the reason for none."""
    fields, read = collector

    def job() -> None:
        try:
            answer = read()
        except Exception as error:
            unknown.update(dict.fromkeys(fields, why(error)))
        else:
            found.update(answer)

    return job


def _child(collectors: Sequence[Collector], seconds: float, descriptor: int) -> None:
    """Read, send, and leave without what an exit of Python's would do."""
    import marshal

    try:
        _lead_a_group(0)
        descriptor = _not_standard(descriptor)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        left = memoryview(marshal.dumps(plain(gather(collectors, seconds))))
        while left:
            left = left[os.write(descriptor, left) :]
        os.close(descriptor)  # before the exit, which a stuck thread holds up
    finally:
        os._exit(0)


def _not_standard(descriptor: int) -> int:
    """The same pipe beyond the standard descriptors, of which some may have been closed."""
    from fcntl import F_DUPFD, fcntl

    return descriptor if descriptor > 2 else fcntl(descriptor, F_DUPFD, 3)


def _receive(descriptor: int, seconds: float) -> SystemFacts | None:
    """The child's answer, or None where it sends none in time."""
    import marshal
    from select import poll
    from time import monotonic

    deadline = monotonic() + seconds
    chunks: list[bytes] = []
    waiting = poll()
    waiting.register(descriptor)
    try:
        while (left := deadline - monotonic()) > 0:
            if not waiting.poll(left * 1000):
                continue
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                answer = marshal.loads(b"".join(chunks))  # noqa: S302 - our own child's
                return facts_from(answer)
            chunks.append(chunk)
    except (OSError, EOFError, ValueError, TypeError):
        return None
    finally:
        os.close(descriptor)
    return None


def _end(pid: int) -> None:
    """End the child and all that it started. One that is stuck in the kernel is not waited for."""
    from time import sleep

    for kill in (os.killpg, os.kill):  # the latter where it did not get to lead a group
        try:
            kill(pid, 9)
            break
        except OSError:
            continue
    try:
        for pause in (0, 0.001, 0.002, 0.005, 0.01, 0.03, 0.1):
            sleep(pause)
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
    except OSError:  # reaped by another: the parent ignores its children
        pass
