"""stop: end a kept server, with all that it has started, and forget it."""

from __future__ import annotations

from ..errors import UsageError
from ..running import engine, process, state
from ..running.condition import condition
from ..running.ending import SECONDS, end, end_rest, gone
from ..streams import remark
from .kept import kept_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..running.state import Kept
    from ..settings import Settings

_SUPERVISOR = 10.0  # seconds for whoever waits for the server to see its end


def run(invocation: Invocation, settings: Settings) -> int:
    """End it: asked first, and after a time made to."""
    kept = kept_server(invocation.argument)
    now = condition(kept)
    if now.state == "unknown":
        raise UsageError(
            f"nothing can be said of {kept.name} from here, and nothing was ended: {now.detail}",
            hint=f"if it is no more, delete {state.directory()}/{kept.name}",
        )
    if now.runs:
        _end(kept, settings["stop_timeout"] or SECONDS)
    else:
        remark(f"# {kept.name} was not running: {now.detail}\n")
    if kept.container is not None:
        engine.remove(kept.container, kept.name)
    state.forget(kept.name)
    return 0


def _end(kept: Kept, seconds: int) -> None:
    """Raises LaunchError where it does not end, or is another user's."""
    if kept.container is not None and engine.stop(kept.container, kept.name, seconds):
        forced = False
    elif kept.server is None:  # of a container that is not there yet: the engine's command
        raise UsageError(f"{kept.name} is about to be started", hint="try again in a moment")
    else:
        try:
            running = process.is_alive(kept.server)
            forced = end(kept.server, seconds) if running else end_rest(kept.server)
        except PermissionError:
            raise UsageError(f"{kept.name} is another user's", hint="end it as that user") from None
    if kept.supervisor is not None:
        gone((kept.supervisor,), _SUPERVISOR)
    how = "was killed: it did not end when asked" if forced else "has ended"
    remark(f"# {kept.name} {how}\n")
