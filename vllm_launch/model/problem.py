"""One fault found in a file."""

from __future__ import annotations

from .record import Record


class Problem(Record):
    """What was found where, and what was expected there."""

    file: str
    line: int
    column: int
    path: str  # key path, "variants.fp8.tp"; empty for the whole file
    message: str
    hint: str = ""
    warning: bool = False  # True: reported, but the file can be used

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}"
        where = f" {self.path}:" if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}:{where} {self.message}{hint}"
