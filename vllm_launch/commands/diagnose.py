"""diagnose: read a server's log for failures that are known."""

from __future__ import annotations

import sys

from ..diagnose import diagnose
from ..diagnose.retry import started_by
from ..errors import UsageError
from ..render.diagnosis import diagnosis_record, diagnosis_text
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings

_MOST = 64 << 20  # bytes of a log that are read, from its end


def run(invocation: Invocation, settings: Settings) -> int:
    """Print what the log says, and what to try next."""
    lines, skipped = _lines(invocation.argument)
    found = diagnose(lines)
    started = started_by(lines)
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("diagnosis", diagnosis_record(found, started)))
        return 0
    answer(diagnosis_text(found, started))
    if skipped:
        remark(f"# only the last {_MOST >> 20} MiB were read\n")
    if not found:
        remark("# nothing that is known to go wrong; look for the first traceback\n")
    return 0


def _lines(path: str | None) -> tuple[list[str], bool]:
    """The log's lines, and whether its beginning was left out. Raises UsageError."""
    if path is None or path == "-":
        if path is None and sys.stdin is not None and sys.stdin.isatty():
            raise UsageError(
                "diagnose needs a log",
                hint="name its file, or pipe it in: docker logs NAME 2>&1 | vllm-launch diagnose",
            )
        content = sys.stdin.buffer.read() if sys.stdin is not None else b""
        start = max(0, len(content) - _MOST)
        return content[start:].decode("utf-8", "replace").splitlines(), start > 0
    try:
        with open(path, "rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _MOST))
            return stream.read(_MOST).decode("utf-8", "replace").splitlines(), size > _MOST
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", hint="name a log's file, or - for a pipe"
        ) from None
