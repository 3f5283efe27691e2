"""logs: what a kept server has said."""

from __future__ import annotations

import os
import sys

from ..errors import UsageError
from ..running import engine, state
from ..running.condition import condition
from ..streams import to_bytes, visible, write_error
from .kept import kept_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..running.state import Kept
    from ..settings import Settings

_CHUNK = 1 << 16
_PAUSE = 0.2


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the launch's command and the log, with --follow until the server ends.

    The log is printed byte for byte, but to a terminal.
    """
    kept = kept_server(invocation.argument)
    follow = bool(settings["follow"])
    try:
        with open(state.log_path(kept.name), "rb") as stream:
            if not state.log_is_here(kept):
                _of_container(kept, follow=follow)
            _tell_command(kept)
            _copy(kept, stream.fileno(), follow=follow)
    except FileNotFoundError:
        _of_container(kept, follow=follow)
        raise UsageError(f"{kept.name} has no log", hint="see vllm-launch status") from None
    return 0


def _of_container(kept: Kept, *, follow: bool) -> None:
    """Become the engine's command, with both streams in one; return where there is no container.

    Raises EngineSilent.
    """
    words = engine.logs(kept.container, kept.name, follow=follow) if kept.container else []
    if words:
        from ..launch import become, program_path

        path = os.environ.get("PATH")
        program_path(words[0], path)
        _tell_command(kept)
        os.dup2(1, 2)
        become(words, dict(os.environ), path)


def _tell_command(kept: Kept) -> None:
    """What diagnose makes the next command of."""
    if kept.line:
        from .retry import started_as

        line = started_as(kept.line)
        _put(_harmless(line) if sys.stdout.isatty() else to_bytes(line))


def _copy(kept: Kept, log: int, *, follow: bool) -> None:
    """All that is there, then what comes; what a server said last is never left out."""
    from codecs import getincrementaldecoder
    from time import sleep

    decode = getincrementaldecoder("utf-8")("replace").decode if sys.stdout.isatty() else None
    over = not follow
    while True:
        while data := os.read(log, _CHUNK):
            _put(data if decode is None else _harmless(decode(data)))
        if over:
            return
        sleep(_PAUSE)
        if os.fstat(log).st_size < os.lseek(log, 0, os.SEEK_CUR):
            os.lseek(log, 0, os.SEEK_SET)  # it was cut by whoever rotates logs
        over = not condition(kept).runs


def _harmless(text: str) -> bytes:
    """What a server said, with its colours and with bars that are drawn over themselves."""
    return to_bytes(visible(text, styled=True, kept="\r"))


def _put(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise write_error(error) from None
