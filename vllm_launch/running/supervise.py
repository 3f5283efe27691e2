"""Standing between a server and whoever started it: its output, its signals, its end."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from contextlib import suppress

from . import ending, state
from .waiting import Server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from .address import Address
    from .process import Identity
    from .state import Kept

_CHUNK = 1 << 16
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_DRAIN = 2.0  # seconds for what a server has said last
_MOST_LINES = 10_000  # that nobody has read yet


class Signals:
    """Hands the signals that this process gets on to the server."""

    def __init__(self, *, ours: bool = True) -> None:
        """``ours``: what ends a terminal's programs ends this one too."""
        self.asked: list[int] = []
        self._pid: int | None = None
        for number in _FORWARDED:
            forwarded = ours or number == signal.SIGTERM
            signal.signal(number, self._take if forwarded else signal.SIG_IGN)

    def forward_to(self, pid: int) -> None:
        """Where they go from now on, those that came before among them."""
        self._pid = pid
        for number in tuple(self.asked):
            self._send(number)

    def stop_forwarding(self) -> None:
        """Hand nothing on: the server has ended, and its pid is going to be another's."""
        self._pid = None

    def _take(self, number: int, _: FrameType | None) -> None:
        self.asked.append(number)
        self._send(number)

    def _send(self, number: int) -> None:
        if self._pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)


class Pump(threading.Thread):
    """Brings a server's output to our own streams, to its log, and to whoever waits for it."""

    def __init__(self, ends: Sequence[tuple[int, int]], log: int) -> None:
        super().__init__(daemon=True)
        self._ends = dict(ends)  # where it comes from: where it goes
        self._log = log
        self._over = threading.Event()
        self.text: deque[bytes] | None = deque(maxlen=_MOST_LINES)  # None: nobody waits for it

    def run(self) -> None:
        """Until the server and all that it has started have closed their ends."""
        from select import poll

        poller = poll()
        for end in self._ends:
            poller.register(end)
        while self._ends and not self._over.is_set():
            for end, _ in poller.poll(200):
                data = os.read(end, _CHUNK)
                if data:
                    self._hand_on(data, end)
                else:
                    poller.unregister(end)
                    os.close(end)
                    del self._ends[end]

    def _hand_on(self, data: bytes, end: int) -> None:
        if (text := self.text) is not None:
            text.append(data)
        for target in (self._log, self._ends[end]):
            try:
                _write(target, data)
            except OSError:  # a full disk, a reader gone: the server goes on
                if target == self._ends[end]:
                    self._ends[end] = -1

    def finish(self) -> None:
        """Have what was said last handed on; what holds on to an end longer is left."""
        self.join(_DRAIN)
        self._over.set()
        self.join()


def _write(target: int, data: bytes) -> None:
    left = memoryview(data)
    while left and target >= 0:
        left = left[os.write(target, left) :]


class Child(Server):
    """A server that is a child of this process, and whose output passes through it."""

    watched = True

    def __init__(self, address: Address, child: Identity, pump: Pump, *, native: bool) -> None:
        super().__init__(address)
        self.follows_log = native
        self._process = child if native else None
        self._pid = child.pid
        self._pump = pump
        self._rest = ""

    def ended(self) -> str:
        """How it ended; "" while it runs."""
        from .condition import status_text

        status = end_of(self._pid, wait=False)
        return status_text(status) if status is not None else ""

    def lines(self) -> list[str]:
        """What it has said since the last call."""
        from .readiness import lines_of

        found: list[str] = []
        text = self._pump.text
        while text:
            lines, self._rest = lines_of(self._rest, text.popleft().decode("utf-8", "replace"))
            found += lines
        return found

    def process(self) -> Identity | None:
        """Its process; of a container there is only the engine's command."""
        return self._process


def end_of(pid: int, *, wait: bool) -> int | None:
    """The exit status of a child, which is left to be reaped; None while it runs.

    As long as it is not reaped, its pid is no other's.
    """
    how = os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG)
    found = os.waitid(os.P_PID, pid, how)
    if found is None:
        return None
    return found.si_status + (0 if found.si_code == os.CLD_EXITED else 128)


def see_out(kept: Kept, server: Identity) -> int:
    """Wait for a child's end, end what it has left, and keep how it ended."""
    from time import time

    status = end_of(server.pid, wait=True)
    assert status is not None
    try:
        ending.end_rest(server)
    finally:
        os.waitpid(server.pid, 0)
        state.write_end(kept, status, time())
    return status
