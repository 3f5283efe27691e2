"""A log of any length, read in bounded memory: its beginning, and its end."""

from __future__ import annotations

from collections import deque

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_CHUNK = 1 << 20
_CHUNKS = 16  # of its end; what began it is in the one before them


class Log(Record):
    """The lines of a log; between two of them there may be some that were left out."""

    lines: tuple[str, ...] = ()
    before: int = 0  # how many of them come before those that were left out
    left_out: int = 0

    def number(self, place: int) -> int:
        """A line's number in the whole log, by its number among those that were read."""
        return place + (self.left_out if place > self.before else 0)


def read(stream: BinaryIO) -> Log:
    """Read a file or a pipe to its end. Raises OSError."""
    first = _full(stream)
    last: deque[bytes] = deque()
    dropped, ends = False, 0  # of lines, in what was dropped
    while chunk := _full(stream):
        last.append(chunk)
        if len(last) > _CHUNKS:
            dropped, ends = True, ends + last.popleft().count(b"\n")
    if not dropped:
        return Log(lines=_lines(first + b"".join(last)))
    before = _lines(first[: first.rfind(b"\n") + 1])
    end = b"".join(last).partition(b"\n")[2]  # what comes first is a line's end
    return Log(lines=before + _lines(end), before=len(before), left_out=ends + 1)


def _full(stream: BinaryIO) -> bytes:
    """As much as a chunk has, where there is as much: a pipe gives less at a time."""
    parts, wanted = [], _CHUNK
    while wanted and (part := stream.read(wanted)):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def _lines(text: bytes) -> tuple[str, ...]:
    """A bar that is drawn over itself is one line, as it is for an editor."""
    lines = text.decode("utf-8", "replace").split("\n")
    return tuple(line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1]))
