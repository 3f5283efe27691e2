"""Ending a server and all that it has started: asked first, then made to."""

from __future__ import annotations

import signal

from ..errors import LaunchError
from . import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from .process import Identity

SECONDS = 120  # for a server to answer what it was asked before
_REST = 5.0  # seconds for what its children are given, once it has gone
_LAST = 10.0  # seconds for the kernel to end what was killed
_PAUSE = 0.05


def end(server: Identity, seconds: float) -> bool:
    """End a server, then what is left of its family; whether that had to be forced.

    The server alone is asked: it is the one who ends its workers, after what they still answer.

    Raises LaunchError where something does not end.
    """
    rest = {*process.family_of(server)}
    forced = False
    if process.send(server, signal.SIGTERM) and not gone((server,), seconds, rest, server):
        forced = True
        process.send(server, signal.SIGKILL)
    rest.update(process.family_of(server))
    return end_rest(server, rest, kindly=not forced) or forced


def end_rest(server: Identity, rest: Collection[Identity] = (), *, kindly: bool = True) -> bool:
    """End what a server that has gone has left; whether there was anything that had to be killed.

    Raises LaunchError where something does not end.
    """
    left = alive({*rest, *process.family_of(server)})
    if left and kindly:
        _send_all(left, signal.SIGTERM)
        gone(left, _REST)
    left = alive({*left, *process.family_of(server)})
    _send_all(left, signal.SIGKILL)
    if not gone((*left, server), _LAST):
        stuck = ", ".join(str(each.pid) for each in alive((*left, server)))
        raise LaunchError(
            f"killed, and still there: {stuck}",
            code="does_not_end",
            hint="a driver holds them; see dmesg",
        )
    return bool(left)


def gone(
    some: Iterable[Identity],
    seconds: float,
    seen: set[Identity] | None = None,
    leader: Identity | None = None,
) -> bool:
    """Wait until none of some processes runs; whether that came true in time.

    ``seen`` collects the leader's family meanwhile: nothing says later which that was.
    """
    from time import monotonic, sleep

    until = monotonic() + seconds
    some = list(some)
    while alive(some):
        if monotonic() >= until:
            return False
        if seen is not None and leader is not None:
            seen.update(process.family_of(leader))
        sleep(_PAUSE)
    return True


def alive(some: Iterable[Identity]) -> list[Identity]:
    """Those of some processes that run."""
    return [each for each in some if process.is_alive(each)]


def _send_all(some: Iterable[Identity], number: int) -> None:
    for each in some:
        process.send(each, number)
