"""Directories and files of this user alone, whatever the umask is, and whoever was there before."""

from __future__ import annotations

import errno
import os
import stat

_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def make(path: str) -> None:
    """A directory that only this user reaches, with those above it that are missing.

    Raises OSError.
    """
    above = os.path.dirname(path)
    if above != path and not os.path.isdir(above):
        make(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        check(path)


def check(path: str) -> None:
    """Look at a directory that was there before: what is of others is not written to nor believed.

    Of this user's own, others lose the right to write. Raises OSError.
    """
    found = os.stat(path)
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to another user", path)
    if found.st_mode & _OF_OTHERS:
        os.chmod(path, stat.S_IMODE(found.st_mode) & ~_OF_OTHERS)


def create(path: str) -> int:
    """A descriptor of a new file for this user alone, never of one that is there. Raises OSError.

    A link that somebody has put there is not followed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)
