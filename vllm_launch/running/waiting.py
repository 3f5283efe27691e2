"""Waiting until a server is ready: by its process, its log and what it answers."""

from __future__ import annotations

from ..errors import UsageError
from ..model.record import Record
from .address import parsed
from .answers import sent_on
from .http import Asked, NoReply, exchange
from .listening import NOT_ITS_OWN, is_anothers, is_here
from .readiness import Progress, Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .address import Address
    from .http import Reply
    from .process import Identity

_PROBE = 10.0  # seconds for one look
# Of a router or a proxy whose servers are not there yet; vLLM says it when its engine has died.
_LOADING = (502, 503, 504)
_PAUSES = (0.05, 0.1, 0.2, 0.4, 1.0)  # seconds between looks; the last one stays


class Server:
    """What is waited for. This one is an address alone: nothing is known of its process."""

    watched = False  # whether anything is known of its process
    follows_log = False  # whether the address that its log names is one to be asked

    def __init__(self, address: Address) -> None:
        self.address = address

    def ended(self) -> str:
        """How its process ended; "" while it lives, or where nothing is known of it."""
        return ""

    def lines(self) -> list[str]:
        """What its log has had since the last call."""
        return []

    def process(self) -> Identity | None:
        """Its process, where that runs on this machine and is known."""
        return None

    def close(self) -> None:
        """Let go of what was needed to look at it."""


class Waited(Record):
    """What came of waiting."""

    ready: bool
    what: str = ""  # why not
    dead: bool = False
    seconds: float = 0.0
    arguments: str = ""  # of the server, as its log has them
    cache_tokens: int | None = None  # of its KV cache, likewise


def wait(
    server: Server,
    tell: Callable[[Progress], None],
    seconds: float | None,
    silence: float,
) -> Waited:
    """Wait until a server answers, ends or hangs; no longer than ``seconds``, where that is given.

    Loading may take hours: while a process lives and is not heard, it loads. ``silence`` is how
    long one may take requests without answering, or answer with errors, before it counts as hung;
    of an address alone, 502, 503 and 504 say that what stands behind it loads.
    """
    from time import monotonic, sleep

    began = monotonic()
    looks = _Looks(server, silence)
    reader = Reader()
    pauses = iter(_PAUSES)
    pause = 0.0

    def read_log() -> None:
        for line in server.lines():
            if reader.take(line):
                tell(reader.progress)

    while True:
        ended = server.ended()
        read_log()
        if ended:
            return Waited(ready=False, what=ended, dead=True, seconds=monotonic() - began)
        if looks.ready() and not server.ended():
            read_log()  # what it said since, and before it was ready
            return Waited(
                ready=True,
                seconds=monotonic() - began,
                arguments=reader.arguments,
                cache_tokens=reader.cache_tokens,
            )
        if server.follows_log and reader.bound:
            server.address = _bound(reader.bound, server.address)
        if looks.hangs:
            return Waited(ready=False, what=looks.hangs, seconds=monotonic() - began)
        if seconds is not None and monotonic() - began >= seconds:
            what = f"not ready after {seconds:g} s: {looks.last}"
            return Waited(ready=False, what=what, seconds=monotonic() - began)
        tell(reader.progress)
        pause = next(pauses, pause)
        sleep(pause)


def _bound(text: str, planned: Address) -> Address:
    """Where a log says that its server listens; the planned address where that is elsewhere.

    Clients write into logs too, and what is asked there is sent a key.
    """
    try:
        found = parsed(text)
    except UsageError:
        return planned
    return found if found.host == planned.host or is_here(found.host) else planned


class _Looks:
    """Looks at a server, and since when it answers none of them, or wrongly."""

    def __init__(self, server: Server, silence: float) -> None:
        self._server = server
        self._silence = silence
        self._since: float | None = None
        self.last = ""
        self.hangs = ""

    def ready(self) -> bool:
        from time import monotonic

        seconds = min(_PROBE, self._silence)
        began = monotonic()
        try:
            reply = self._ask("/health", seconds)
            if reply.status in (401, 403, 404, 405):  # not vLLM's own: behind a proxy, say
                reply = self._ask("/v1/models", seconds)
                reply = reply.replace(status=200) if reply.status == 401 else reply
        except NoReply as error:
            self._not_ready(error.what, began if error.silent else None)
            self.hangs = error.what if error.final else self.hangs
            return False
        if reply.status != 200:
            loads = reply.status in _LOADING and not self._server.watched
            self._not_ready(f"it answers with {reply.status}", None if loads else began)
            if reply.location and 300 <= reply.status < 400:
                self.hangs = f"it answers with {sent_on(reply)}"
            return False
        process = self._server.process()
        if process is not None and is_anothers(self._server.address, process):
            self._not_ready(NOT_ITS_OWN, None)
            return False
        return True

    def _ask(self, path: str, seconds: float) -> Reply:
        return exchange(self._server.address, Asked(path=path), seconds, most=1 << 20)

    def _not_ready(self, what: str, since: float | None) -> None:
        """Remember a look; ``since`` None: the server is still loading, as where it refuses."""
        from time import monotonic

        self.last = what
        if since is None:
            self._since = None
            return
        self._since = since if self._since is None else self._since
        if monotonic() - self._since >= self._silence:
            self.hangs = f"it hangs: for {self._silence:g} s, {what}"
