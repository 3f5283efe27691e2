"""Asking drivers and files that may not answer, and keeping the reason."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..model.host import Gpu

_LARGEST_FILE = 1 << 20  # of /proc and /sys; a wrong root must not fill memory
_LONGEST_REASON = 200


def printable(value: object) -> str:
    """One clean line of what a driver returned: bytes or str, with a NUL tail, or garbage."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    words = str(value).split("\0")[0].split()
    return "".join(char for char in " ".join(words) if char.isprintable())


def why(error: BaseException) -> str:
    """The reason in an operator's words; Python's own error types are named."""
    name = type(error).__name__
    try:
        words = printable(getattr(error, "strerror", None) or error)[:_LONGEST_REASON]
    except Exception:  # an error that cannot even be printed
        words = ""
    if words and (isinstance(error, OSError) or name.startswith("NVMLError")):
        return words
    return f"{name}: {words}" if words else name


def ask(unknown: list[tuple[str, str]], field: str, query: Callable[..., Any], *of: Any) -> Any:
    """The answer, or None with the reason noted: one failing query hides nothing else."""
    try:
        return query(*of)
    except Exception as error:
        unknown.append((field, why(error)))
        return None


def read_file(*path: str) -> str | None:
    """A small text file's content, or None where it cannot be read."""
    try:
        with open(os.path.join(*path), "rb") as file:
            return file.read(_LARGEST_FILE).decode("utf-8", "replace").strip()
    except OSError:
        return None


def list_dir(*path: str) -> list[str]:
    """A directory's names in a stable order: nothing where it is not there."""
    try:
        return sorted(os.listdir(os.path.join(*path)), key=lambda name: (len(name), name))
    except OSError:
        return []


def counted(gpus: tuple[Gpu, ...]) -> str:
    """How an outcome is worded: "no GPU", "1 GPU", "8 GPUs"."""
    if not gpus:
        return "no GPU"
    return "1 GPU" if len(gpus) == 1 else f"{len(gpus)} GPUs"
