"""Asking drivers and files that may not answer, and keeping the reason."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..model.host import Gpu

    Unknown = tuple[tuple[str, str], ...]

_LARGEST_FILE = 1 << 20  # of /proc and /sys; a wrong root must not fill memory
_LONGEST_REASON = 200
_DRIVERS_OWN = ("NVMLError", "AmdSmi")  # whose words need no Python name before them
_NO_COUNT = 1 << 63  # where numbers end that a facts file can hold


def printable(value: object) -> str:
    """One clean line of what a driver returned: bytes or str, with a NUL tail, or garbage."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    words = str(value).split("\0")[0].split()
    return "".join(char for char in " ".join(words) if char.isprintable())


class Unread(Exception):
    """Why something is unknown, in words of our own."""


def why(error: BaseException) -> str:
    """The reason in an operator's words; Python's own error types are named."""
    name = type(error).__name__
    try:
        said = getattr(error, "strerror", None) or getattr(error, "err_info", None)  # amdsmi's
        words = printable(said or error)[:_LONGEST_REASON]
    except Exception:  # an error that cannot even be printed
        words = ""
    if words and (isinstance(error, (OSError, Unread)) or name.startswith(_DRIVERS_OWN)):
        return words
    return f"{name}: {words}" if words else name


def ask(unknown: list[tuple[str, str]], field: str, query: Callable[..., Any], *of: Any) -> Any:
    """The answer, or None with the reason noted: one failing query hides nothing else."""
    try:
        return query(*of)
    except Exception as error:
        unknown.append((field, why(error)))
        return None


class Reading:
    """What one device has answered so far, and why fields are missing.

    A thread of its own fills it: while one query hangs, the others' answers are here.
    """

    __slots__ = ("done", "fault", "fields", "unknown")

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.unknown: list[tuple[str, str]] = []
        self.fault: str | None = None
        self.done = False

    def ask(self, field: str, query: Callable[..., Any], *of: Any) -> Exception | None:
        """Keep the answer; a query that fails, or answers nonsense, costs its field alone."""
        return self.ask_all((field,), lambda: {field: query(*of)})

    def ask_all(
        self, fields: tuple[str, ...], query: Callable[..., dict[str, Any]], *of: Any
    ) -> Exception | None:
        """The same for a query that answers several fields at once."""
        try:
            answer = query(*of)
            _refuse_nonsense(answer)
        except Exception as error:
            self.unknown += [(field, why(error)) for field in fields]
            return error
        self.fields.update(answer)
        return None

    def closed(self, expected: Iterable[str], late: str) -> tuple[dict[str, Any], Unknown]:
        """The fields, and the reasons for the others; ``late`` is that of those not answered."""
        # Copies, which nothing interrupts: a query that hangs may still end.
        fields, unknown = dict(self.fields), list(self.unknown)
        missing = set(expected) - fields.keys() - {field for field, _ in unknown}
        reason = self.fault or late
        return fields, (*unknown, *((field, reason) for field in expected if field in missing))


def _refuse_nonsense(answer: dict[str, Any]) -> None:
    """A number that no device has, such as the 2**64-1 of a driver that does not know."""
    for value in answer.values():
        if isinstance(value, int) and not 0 <= value < _NO_COUNT:
            raise Unread(f"the driver says {value}")


def read_file(*path: str, limit: int = _LARGEST_FILE) -> str | None:
    """A small text file's content, or None where it cannot be read."""
    try:
        with open(os.path.join(*path), "rb") as file:
            return file.read(limit).decode("utf-8", "replace").strip()
    except OSError:
        return None


def list_dir(*path: str) -> list[str]:
    """A directory's names in a stable order: nothing where it is not there."""
    try:
        return sorted(os.listdir(os.path.join(*path)), key=lambda name: (len(name), name))
    except OSError:
        return []


def program(root: str, pid: int) -> str | None:
    """A process's program by its kernel name, which never holds an argument."""
    return printable(read_file(root, "proc", str(pid), "comm") or "") or None


def counted(gpus: tuple[Gpu, ...]) -> str:
    """How an outcome is worded: "no GPU", "1 GPU", "8 GPUs"."""
    if not gpus:
        return "no GPU"
    return "1 GPU" if len(gpus) == 1 else f"{len(gpus)} GPUs"
