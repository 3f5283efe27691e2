"""diagnose: read a server's log for failures that are known."""

from __future__ import annotations

import sys

from ..diagnose.started import started_by
from ..errors import UsageError
from ..render.diagnosis import diagnosis_record, diagnosis_text
from ..running.log import Log, read
from ..streams import answer, remark
from .failure import diagnosed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print what the log says, and what to try next."""
    log = _log(invocation.argument)
    found = diagnosed(log, started_by(log.lines))
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("diagnosis", diagnosis_record(found)))
        return 0
    answer(diagnosis_text(found))
    if log.left_out:
        remark(f"# {log.left_out:,} lines between its beginning and its end were not looked at\n")
    if not found:
        remark("# nothing that is known to go wrong; look for the first traceback\n")
    return 0


def _log(path: str | None) -> Log:
    """The log's lines. Raises UsageError."""
    if path is None and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            "diagnose needs a log",
            hint="name its file, or pipe it in: docker logs NAME 2>&1 | vllm-launch diagnose",
        )
    try:
        if path is None or path == "-":
            return read(sys.stdin.buffer) if sys.stdin is not None else Log()
        with open(path, "rb") as stream:
            return read(stream)
    except OSError as error:
        raise UsageError(
            f"cannot read {path or 'the standard input'}: {error.strerror}",
            hint="name a log's file, or - for a pipe",
        ) from None
