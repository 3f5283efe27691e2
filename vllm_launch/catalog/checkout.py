"""The commit that a directory's checkout is at, read from git's own files.

git is not run: a recipes directory is somebody else's, and its configuration can name programs.
"""

from __future__ import annotations

import os

from ..errors import LaunchError
from .files import read_bytes

_LEVELS = 4  # recipes stand at a checkout's root, or not far below it
_HASHES = (40, 64)


def commit_of(directory: str) -> str:
    """The commit of the checkout that a directory is in; "" where there is none to be seen.

    What was changed since the commit is not looked at: the digest of a file tells.
    """
    place = os.path.abspath(directory)
    for _ in range(_LEVELS):
        git = _git_directory(os.path.join(place, ".git"))
        if git:
            return _commit(git)
        place = os.path.dirname(place)
    return ""


def _git_directory(path: str) -> str:
    """Where git keeps a checkout's state: .git itself, or what it points to in a worktree."""
    if os.path.isdir(path):
        return path
    kind, _, target = _line(path).partition(": ")
    return os.path.join(os.path.dirname(path), target) if kind == "gitdir" else ""


def _commit(git: str) -> str:
    kind, _, name = _line(os.path.join(git, "HEAD")).partition(" ")
    if kind != "ref:":
        return kind if _is_hash(kind) else ""
    if not name.startswith("refs/") or ".." in name.split("/"):
        return ""
    shared = os.path.join(git, _line(os.path.join(git, "commondir")) or ".")
    loose = _line(os.path.join(shared, name))
    return loose if _is_hash(loose) else _packed(shared, name)


def _packed(git: str, name: str) -> str:
    """A commit out of the file of packed references."""
    for line in _text(os.path.join(git, "packed-refs")).splitlines():
        commit, _, reference = line.partition(" ")
        if reference == name and _is_hash(commit):
            return commit
    return ""


def _is_hash(text: str) -> bool:
    return len(text) in _HASHES and set(text) <= set("0123456789abcdef")


def _line(path: str) -> str:
    return _text(path).partition("\n")[0]


def _text(path: str) -> str:
    """A small file's text; "" for what cannot be read."""
    try:
        return read_bytes(path, path).decode()
    except (LaunchError, UnicodeDecodeError, ValueError):
        return ""
