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
    from ..running.state import Kept
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print each server with what is seen of it."""
    named = invocation.argument
    found = _all_kept() if named is None else [kept_server(named)]
    rows = [(kept, condition(kept)) for kept in found]
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("servers", [server_record(*row) for row in rows]))
    elif rows:
        answer(servers_text(rows))
    elif not state.names():
        remark("# there are no servers; start one with serve --wait or --detach\n")
    return 0


def _all_kept() -> list[Kept]:
    """Every server there is a record of; one that cannot be read is told."""
    state.sweep()
    found: list[Kept] = []
    for name in state.names():
        kept = state.read(name)
        if kept is not None:
            found.append(kept)
        else:
            what, hint = state.unreadable(name)
            remark(f"# {what}\n#   {hint}\n")
    return found
