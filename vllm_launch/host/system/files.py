"""Paths under a root, and programs on a PATH."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def at(root: str, *path: str) -> str:
    """An absolute path as it is found under a root."""
    return os.path.join(root, *(part.lstrip("/") for part in path))


def number(text: str | None) -> int | None:
    """A file's content as a number; None where it is none."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


def program(name: str, environ: Mapping[str, str], root: str = "/") -> str:
    """Where a program is on PATH, as a path without the root; "" where it is not."""
    for directory in (environ.get("PATH") or os.defpath).split(os.pathsep):
        if not directory.startswith("/"):
            continue
        candidate = os.path.join(directory, name)
        real = at(root, candidate)
        if os.access(real, os.X_OK) and os.path.isfile(real):
            return candidate
    return ""


def nearest_directory(path: str) -> str:
    """A path, or its nearest parent that exists."""
    while not os.path.isdir(path):
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    return path


def programs(
    names: tuple[str, ...], environ: Mapping[str, str], root: str
) -> tuple[tuple[str, str], ...]:
    """Programs with their paths; "" for one that is not on PATH."""
    return tuple((name, program(name, environ, root)) for name in names)


def readable(paths: tuple[str, ...], root: str) -> tuple[tuple[str, str], ...]:
    """Files with the reasons that they cannot be read; "" for one that can."""
    return tuple((path, _why_not(at(root, path))) for path in paths)


def _why_not(path: str) -> str:
    try:
        with open(path, "rb", opener=_no_waiting) as file:
            file.read(1)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _no_waiting(path: str, flags: int) -> int:
    """Opened so that a pipe that nobody writes to does not hold it up."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
