"""How much a source may take: of time, of bytes, of files."""

from __future__ import annotations

import signal
from contextlib import contextmanager

from ..errors import LaunchError
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

MIB = 1 << 20


class SourceError(LaunchError):
    """A source cannot be fetched, or is not what it should be; the revision before it stays."""

    code = "source"
    exit_status = 2


class Limits(Record):
    """What one sync of one source may take."""

    seconds: float = 300  # in all
    idle_seconds: float = 30  # without a byte
    file_bytes: int = MIB  # what a recipe is read up to
    bytes: int = 64 * MIB  # in all, and of a git pack
    files: int = 5000
    redirects: int = 5


@contextmanager
def within(seconds: float, url: str) -> Iterator[None]:
    """Break off what takes longer, wherever it waits.

    A socket's own timeout starts anew with every byte, so a slow drip would never end by it.
    """

    def late(_: int, __: FrameType | None) -> None:
        raise SourceError(f"{url} takes longer than {seconds:g} s", hint="give --timeout SECONDS")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def shown(text: str) -> str:
    """Somebody else's words on one short line, without anything that a terminal obeys."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(plain.split())[:200]
