"""Write files whole or not at all."""

from __future__ import annotations

import os

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..export import ExportFile

_DEVICES = ("/dev", "/dev/fd", "/proc/self/fd")


def write_all(
    directory: str, files: Sequence[ExportFile], hint: str = "give another directory with --out"
) -> tuple[str, ...]:
    """Write files into a directory, which is made where it is not there; the names of those kept.

    Each takes the place of an older one in one step, but for one that is to be kept. Raises
    UsageError where it cannot be written.
    """
    if os.path.abspath(directory) in _DEVICES:  # root would take the device away
        raise UsageError(f"{directory} is for devices, not for files", hint=hint)
    try:
        os.makedirs(directory, exist_ok=True)
        written = [_write(os.path.join(directory, file.name), file) for file in files]
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename2 or error.filename or directory}: {error.strerror}",
            hint=hint,
        ) from None
    return tuple(file.name for file, done in zip(files, written, strict=True) if not done)


def _write(path: str, file: ExportFile) -> bool:
    """Write one file; False where one is there that is to be kept."""
    if file.keep and os.path.lexists(path):
        return False
    beside = f"{path}.{os.getpid()}.part"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(file.text.encode("utf-8", "surrogateescape"))
            os.fchmod(stream.fileno(), file.mode)
        os.replace(beside, path)
        return True
    except OSError:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
