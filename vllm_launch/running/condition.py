"""How a kept server is: what is seen now, and never what was written down once."""

from __future__ import annotations

from ..model.record import Record
from . import process, state
from .address import Address, parsed
from .engine import EngineSilent, inspect
from .http import Asked, NoReply, exchange
from .listening import NOT_ITS_OWN, is_anothers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .state import Kept

_LOOK = 2.0  # seconds for a server's answer
STATES = ("starting", "ready", "running", "silent", "dead", "unknown")


class Condition(Record):
    """How a server is."""

    state: str  # one of STATES
    detail: str = ""
    status: int | None = None  # its exit status, where that is known
    left: int = 0  # of its processes, after its own end

    @property
    def runs(self) -> bool:
        """Whether there is anything of it that runs."""
        return self.state in ("starting", "ready", "running", "silent") or self.left > 0


def condition(kept: Kept) -> Condition:
    """How a server is now."""
    where = _where(kept)
    if where:
        return Condition(state="unknown", detail=where)
    if kept.container is not None:  # also where a client of the engine's is there: it may be gone
        return _of_container(kept)
    if kept.server is None:
        return _of_launcher(kept)
    if process.is_alive(kept.server):
        return _answering(kept)
    return _dead(kept)


def _where(kept: Kept) -> str:
    some = kept.server or kept.launcher
    return process.elsewhere(some) if some is not None else "its record names no process"


def _of_launcher(kept: Kept) -> Condition:
    some = kept.supervisor or kept.launcher
    if some is not None and process.is_alive(some):
        return Condition(state="starting", detail="it is about to be started")
    return Condition(state="dead", detail="its launcher ended before it was started")


def _of_container(kept: Kept) -> Condition:
    assert kept.container is not None
    try:
        found = inspect(kept.container, kept.name)
    except EngineSilent as error:
        return Condition(state="unknown", detail=error.message)
    if found is None:
        return _without_container(kept)
    if found.running:
        return _answering(kept)
    why = ": out of memory" if found.killed_for_memory else ""
    return Condition(state="dead", detail=status_text(found.status) + why, status=found.status)


def _without_container(kept: Kept) -> Condition:
    """A container that is not there: not yet, or no more."""
    assert kept.container is not None
    if kept.server is not None:
        pulling = process.is_alive(kept.server)
        return Condition(state="starting", detail="no container yet") if pulling else _dead(kept)
    return Condition(state="dead", detail="its container is gone") if kept.container.id else (
        _of_launcher(kept)
    )  # fmt: skip


def _answering(kept: Kept) -> Condition:
    """A server that runs, by what it answers."""
    if not kept.url:
        return Condition(state="running", detail="it answers no requests: another node does")
    address = address_of(kept)
    try:
        reply = exchange(address, Asked(path="/health"), _LOOK, most=1 << 16)
        what = f"it answers with {reply.status}" if reply.status != 200 else ""
    except NoReply as error:
        what = error.what
    if not what and kept.container is None and kept.server is not None:
        what = NOT_ITS_OWN if is_anothers(address, kept.server) else ""
    if not what:
        return Condition(state="ready")
    if kept.ready is None:
        return Condition(state="starting", detail=what)
    return Condition(state="silent", detail=what)


def _dead(kept: Kept) -> Condition:
    end = state.ended(kept)
    left = len(process.family_of(kept.server)) if kept.server is not None else 0
    detail = status_text(end.status) if end is not None else "how it ended is not known"
    if left:
        detail += f"; {left} of its processes still run"
    return Condition(
        state="dead", detail=detail, status=end.status if end is not None else None, left=left
    )


def address_of(kept: Kept) -> Address:
    """Where a kept server answers."""
    return parsed(kept.url, f"the record of {kept.name}")


def status_text(status: int) -> str:
    """An exit status in words."""
    if status > 128:
        from signal import Signals

        try:
            return f"ended by {Signals(status - 128).name}"
        except ValueError:
            pass
    return f"ended with status {status}"
