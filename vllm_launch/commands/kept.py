"""The names of kept servers: which one a command is about, and which one is asked for."""

from __future__ import annotations

from ..errors import UsageError
from ..running import state
from ..running.condition import condition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..running.state import Kept
    from ..settings import Settings

_HINT = "see vllm-launch status"


def asked_name(settings: Settings) -> str | None:
    """The name that a server is to have, where one is asked for. Raises UsageError."""
    name = settings["name"]
    return state.checked_name(name, settings.source("name")) if name is not None else None


def kept_server(name: str | None, source: str = "NAME") -> Kept:
    """The server of a name, or the only one. Raises UsageError where that says none."""
    state.sweep()
    if name is not None:
        state.checked_name(name, source)
        found = state.read(name)
        if found is None and name in state.names():
            what, hint = state.unreadable(name)
            raise UsageError(what, hint=hint)
        if found is None:
            raise UsageError(f"there is no server {name}", hint=_HINT)
        return found
    kept = [found for each in state.names() if (found := state.read(each)) is not None]
    running = [each for each in kept if condition(each).runs] if len(kept) > 1 else kept
    if len(running) == 1:
        return running[0]
    if not kept:
        raise UsageError("there are no servers", hint="start one with serve --wait or --detach")
    names = ", ".join(each.name for each in running or kept)
    raise UsageError(f"which server? There are {names}", hint="give its name")
