"""Where the revisions of a source lie, and how a new one takes the old one's place: at once."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from contextlib import contextmanager, suppress

from .. import private
from ..catalog.files import cache_directory, forget
from ..catalog.library import Library, bundled
from ..catalog.sources import Current, current_of, directory_of
from ..errors import LaunchError
from .limits import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_NOT_REVISIONS = ("git", "http", "lock", "current")
_MADE = ".new-"
_LOCK = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def locked(name: str, told: Callable[[str], None]) -> Iterator[str]:
    """A source's directory, for one sync at a time."""
    directory = directory_of(name)
    try:
        lock = _lock(directory, lambda: told(f"{name} is being synced by another process; waiting"))
    except OSError as error:
        raise SourceError(f"cannot write to {directory}: {error.strerror}") from None
    try:
        yield directory
    finally:
        if _is_bare(directory):
            shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _lock(directory: str, wait: Callable[[], None]) -> int:
    """A descriptor that holds the lock of a directory, which is there. Raises OSError."""
    while True:
        private.make(cache_directory())
        private.make(directory)
        path = os.path.join(directory, "lock")
        lock = os.open(path, _LOCK, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path) and os.path.samestat(os.fstat(lock), os.stat(path)):
            return lock
        os.close(lock)  # whoever held it has taken the directory away


def _is_bare(directory: str) -> bool:
    """Whether nothing was ever fetched: no revision, no document and no object."""
    folders = ("", "http", os.path.join("git", "objects", "pack"))
    found = (os.path.join(directory, folder) for folder in folders)
    names = {name for each in found if os.path.isdir(each) for name in os.listdir(each)}
    return names <= {"git", "http", "lock"}


def place(
    directory: str, revision: str, files: Mapping[str, bytes], told: Callable[[str], None]
) -> tuple[str, bool]:
    """A revision's directory with its files, whole or not at all; and whether it is new.

    What is there already is compared: a copy that was damaged is written once more.
    """
    path = os.path.join(directory, revision)
    there = os.path.isdir(path)
    if there and (not files or _is_whole(path, files)):
        return path, False
    made = ""
    try:
        made = tempfile.mkdtemp(prefix=_MADE, dir=directory)
        for name, body in files.items():
            _write(os.path.join(made, name), body)
        if there:
            told(f"the copy of {revision[:12]} was not what had been fetched; it is written anew")
            os.rename(path, tempfile.mkdtemp(prefix=_MADE, dir=directory))
        os.rename(made, path)
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        raise SourceError(f"cannot write {path}: {error.strerror}") from None
    return path, not there


def _is_whole(path: str, files: Mapping[str, bytes]) -> bool:
    """Whether a directory holds exactly these files."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    if {os.path.relpath(each, path) for each in found} != set(files):
        return False
    try:
        return all(_read(os.path.join(path, name)) == body for name, body in files.items())
    except OSError:
        return False


def _read(path: str) -> bytes:
    with open(
        os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
    ) as file:
        return file.read()


def _write(path: str, body: bytes) -> None:
    """Write a file, on the disk when this is done: the record that names it will be."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o644), "wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def verdict(path: str, url: str) -> tuple[int, dict[str, str]]:
    """How many recipes a revision has, and what is wrong with those that cannot be read.

    Raises SourceError where none can, or where what all of them need cannot.
    """
    library = Library(path, own=False, fallback=bundled(), source=url)
    broken = {}
    ids = list(library.recipe_ids())
    try:
        for name in library.taxonomy.strategies:
            library.strategy(name)
        for name in library.kv_stores():
            library.kv_store(name)
    except LaunchError as error:
        raise SourceError(f"{url} cannot be used: {_fault(error, path)}") from None
    for recipe_id in ids:
        try:
            library.recipe(recipe_id)
        except LaunchError as error:
            broken[recipe_id] = _fault(error, path)
    if len(broken) == len(ids):
        why = f": {next(iter(broken.values()))}" if broken else ""
        raise SourceError(f"{url} has no recipe that can be read{why}")
    return len(ids), broken


def _fault(error: LaunchError, path: str) -> str:
    """The first fault, with its place in the source."""
    problems = [each for each in getattr(error, "problems", ()) if not each.warning]
    text = str(problems[0].replace(hint="")) if problems else error.message
    return text.replace(f"{path}/", "")


def make_current(directory: str, current: Current) -> None:
    """Let a revision hold from now on: the record is replaced in one step."""
    fields = {name: getattr(current, name) for name in Current._fields}
    text = "".join(f"{name}: {value}\n" for name, value in fields.items())
    partial = os.path.join(directory, f"{_MADE}current")
    try:
        with suppress(FileNotFoundError):  # of a sync that was ended
            os.unlink(partial)
        with open(private.create(partial), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, os.path.join(directory, "current"))
    except OSError as error:
        raise SourceError(f"cannot write to {directory}: {error.strerror}") from None


def prune(directory: str, name: str) -> None:
    """Remove every revision but the one that holds and the one before it.

    Where no record can be read, nothing goes: any of them may be the one.
    """
    current = current_of(name)
    if current is None:
        return
    kept = {*_NOT_REVISIONS, current.revision, current.previous}
    for entry in os.listdir(directory):
        if entry not in kept:
            remove(os.path.join(directory, entry))


def remove(path: str) -> None:
    """Remove a revision, and what was kept of its files for a faster start."""
    for folder, _, names in os.walk(path):
        for file in names:
            forget(os.path.join(folder, file))
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        os.unlink(path)


def now() -> str:
    """The time, as records have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
