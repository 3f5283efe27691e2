"""status: the kept servers, as they are now."""

from __future__ import annotations

from ..render.servers import server_record, servers_text
from ..running import state
from ..running.condition import condition
from ..streams import answer, remark
from .kept import kept_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print each server with what is seen of it."""
    if invocation.argument is not None:
        found = [kept_server(invocation.argument)]
    else:
        state.sweep()
        found = [kept for name in state.names() if (kept := state.read(name)) is not None]
        for name in state.names():
            if state.read(name) is None:
                what, hint = state.unreadable(name)
                remark(f"# {what}\n#   {hint}\n")
    rows = [(kept, condition(kept)) for kept in found]
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("servers", [server_record(*row) for row in rows]))
    elif rows:
        answer(servers_text(rows))
    else:
        remark("# there are no servers; start one with serve --wait or --detach\n")
    return 0
