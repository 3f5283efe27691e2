"""What is wrong in a recipe's file, and what would mend it."""

from __future__ import annotations

from ..model.record import Record
from ..model.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.finding import Finding


class Spot(Source):
    """A place with its column, and the number of a token in its list."""

    column: int = 0
    index: int = 0


class Edit(Record):
    """One word of a file, and the words that take its place in the list: none takes it away."""

    file: str
    line: int
    column: int
    word: str  # as YAML reads it
    words: tuple[str, ...]


class Fault(Record):
    """One thing to mend in a file."""

    code: str
    severity: str  # "error", "warning" or "note"
    file: str
    line: int = 0  # 1 is the first; 0: the whole file
    column: int = 0  # 0: not known
    path: str = ""  # key path
    what: str
    remedy: str = ""
    combinations: int = 0  # in how many it was met; 0: it does not depend on them
    edits: tuple[Edit, ...] = ()  # what mends it, where that is mechanical

    @property
    def place(self) -> str:
        """File, line and column as far as they are known."""
        parts = (self.file, *(str(at) for at in (self.line, self.column) if at))
        return ":".join(parts)


SEVERITIES = ("error", "warning", "note")


def at(source: Source, code: str, severity: str, what: str, remedy: str = "") -> Fault:
    """A fault at the place of an argument, a variable or a block."""
    return Fault(
        code=code,
        severity=severity,
        file=source.file,
        line=source.line,
        column=source.column if isinstance(source, Spot) else 0,
        path=source.layer,
        what=what,
        remedy=remedy,
    )


def of_finding(code: str, found: Finding, source: Source) -> Fault:
    """A check's finding as a fault of a file."""
    severity = {"fail": "error", "warn": "warning"}.get(found.severity, "note")
    remedy = " ".join(part for part in (found.why, found.remedy) if part)
    return at(source, code, severity, found.what, remedy)
