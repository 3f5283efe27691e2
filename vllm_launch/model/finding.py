"""A check, and what it found."""

from __future__ import annotations

from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .source import Source


class Finding(Record):
    """One thing to know before a launch."""

    code: str = ""  # the check's; filled in by whoever runs it
    severity: str  # "fail", "warn" or "note"
    what: str  # one line: what was measured, and what is needed
    why: str = ""  # what happens otherwise
    remedy: str = ""  # a sentence
    command: str = ""  # shell text that does it; "" where there is none
    cause: str = ""  # the flag or variable behind it
    source: Source | None = None  # that flag's or variable's place


class Check(Record):
    """A pure function of a situation to findings; None where it does not apply."""

    code: str  # stable, for --skip and for scripts
    subject: str
    about: str  # what it looks at, for --list
    run: Callable[[Any], Iterable[Finding] | None]
