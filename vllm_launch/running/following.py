"""Kept servers as what is waited for: their process or container, and their log."""

from __future__ import annotations

import os
from time import monotonic

from . import process, state
from .condition import address_of, status_text
from .engine import EngineSilent, follower, inspect
from .readiness import lines_of
from .waiting import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

    from .process import Identity
    from .state import Kept

_CHUNK = 1 << 16
_MOST = 16 << 20  # bytes of a log at a time: how a server began stands at its beginning
_INSPECT = 1.0  # seconds between two questions to an engine
_PATIENCE = 2.0  # seconds for a supervisor to say how it ended


class File(Server):
    """A server whose log is a file here."""

    watched = True

    def __init__(self, kept: Kept) -> None:
        super().__init__(address_of(kept))
        self.follows_log = kept.ready is None  # since then, its address is known
        self._kept = kept
        self._log = _Tail(state.log_path(kept.name))

    def ended(self) -> str:
        """How it ended; "" while it runs."""
        server = self._kept.server
        if server is None:
            return "" if self._starts() else "its launcher ended before it was started"
        if process.is_alive(server):
            return ""
        if process.elsewhere(server):
            return process.elsewhere(server)
        end = self._end()
        return status_text(end.status) if end is not None else "it has ended, and nobody saw how"

    def _starts(self) -> bool:
        """Whether its launcher is still about to start it; it may have done so by now."""
        self._kept = state.read(self._kept.name) or self._kept
        some = self._kept.supervisor or self._kept.launcher
        return self._kept.server is not None or (some is not None and process.is_alive(some))

    def _end(self) -> state.Ended | None:
        from time import sleep

        supervisor = self._kept.supervisor
        until = monotonic() + _PATIENCE
        while (end := state.ended(self._kept)) is None:
            if supervisor is None or not process.is_alive(supervisor) or monotonic() > until:
                return state.ended(self._kept)
            sleep(0.01)
        return end

    def lines(self) -> list[str]:
        """What its log has had since the last call."""
        return self._log.lines()

    def process(self) -> Identity | None:
        """Its process."""
        return self._kept.server


class _Tail:
    """A file that grows, and may be cut by whoever rotates logs."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self._rest = ""

    def lines(self) -> list[str]:
        try:
            with open(self._path, "rb") as stream:
                if os.fstat(stream.fileno()).st_size < self._at:
                    self._at, self._rest = 0, ""
                stream.seek(self._at)
                data = stream.read(_MOST)
        except OSError:
            return []
        self._at += len(data)
        found, self._rest = lines_of(self._rest, data.decode("utf-8", "replace"))
        return found


class InContainer(Server):
    """A server in a container."""

    watched = True

    def __init__(self, kept: Kept) -> None:
        super().__init__(address_of(kept))
        assert kept.container is not None
        self._kept, self._container = kept, kept.container
        self._asked, self._said = 0.0, ""
        self._log: Popen[bytes] | None = None
        self._rest = ""

    def ended(self) -> str:
        """How it ended; "" while it runs, or while its engine does not answer."""
        if self._said or monotonic() - self._asked < _INSPECT:
            return self._said
        try:
            found = inspect(self._container, self._kept.name)
        except EngineSilent:
            return ""
        self._asked = monotonic()
        if found is None:
            self._said = "" if self._comes() else "its container is gone"
        elif not found.running:
            why = ": out of memory" if found.killed_for_memory else ""
            self._said = status_text(found.status) + why
        return self._said

    def _comes(self) -> bool:
        """Whether its engine is about to make it."""
        kept = self._kept
        maker = kept.server or (None if self._container.id else kept.launcher)
        return maker is not None and process.is_alive(maker)

    def lines(self) -> list[str]:
        """What its log has had since the last call."""
        try:
            self._log = self._log or follower(self._container, self._kept.name)
            if self._log is None:
                return []
            assert self._log.stdout is not None
            data = os.read(self._log.stdout.fileno(), _CHUNK)
        except (OSError, EngineSilent):
            return []
        found, self._rest = lines_of(self._rest, data.decode("utf-8", "replace"))
        return found

    def close(self) -> None:
        """End the process that reads the log."""
        if self._log is not None:
            self._log.kill()
            self._log.wait()


def following(kept: Kept) -> File | InContainer:
    """A kept server, to be waited for."""
    return InContainer(kept) if kept.container is not None else File(kept)
