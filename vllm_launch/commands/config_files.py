"""Files that a process reads, kept where a user's state is. They hold no secrets."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..running.place import make_directory, state_directory
from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.part import ConfigFile, Part


def path_of(file: ConfigFile) -> str:
    """Where a file with this content is written: the same content, the same path."""
    from hashlib import sha256

    stem, dot, ending = file.name.rpartition(".")
    mark = sha256(content_of(file)).hexdigest()[:16]
    return os.path.join(state_directory(), f"{stem}-{mark}{dot}{ending}")


def content_of(file: ConfigFile) -> bytes:
    """A file's bytes."""
    import json

    text = json.dumps(file.content, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogateescape")


def write_files(part: Part) -> None:
    """Write the files that a part reads, where they are not there yet. Raises UsageError."""
    for file in part.files:
        if not file.path or _is_written(file):
            continue
        try:
            _write(file)
        except OSError as error:
            raise UsageError(
                f"cannot write {error.filename or file.path}: {error.strerror}",
                hint=f"set XDG_STATE_HOME, or write it by hand: --endpoint {file.placeholder}=FILE",
            ) from None
        remark(f"# wrote {file.path}\n")


def _is_written(file: ConfigFile) -> bool:
    try:
        with open(file.path, "rb") as stream:
            return stream.read() == content_of(file)
    except OSError:
        return False


def _write(file: ConfigFile) -> None:
    """In one step, and readable for this user alone."""
    make_directory(os.path.dirname(file.path))
    beside = f"{file.path}.{os.getpid()}.part"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content_of(file))
        os.replace(beside, file.path)
    except OSError:
        os.unlink(beside)
        raise
