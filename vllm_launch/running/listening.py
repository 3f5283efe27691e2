"""Whose socket an address is: what answers there may be another server."""

from __future__ import annotations

from ..host.reading import list_dir
from ..host.system.ports import listeners, sockets
from . import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .address import Address
    from .process import Identity

NOT_ITS_OWN = "what answers there is another process"


def is_anothers(address: Address, server: Identity) -> bool:
    """Whether others listen on an address's port, and no process of a server's does.

    False where that cannot be seen: the port is another network's, or the sockets another user's.
    """
    listening = listeners(address.port) if not address.socket else set()
    if not listening or not list_dir("/proc", str(server.pid), "fd"):
        return False
    session = (server, *process.session_of(server))
    return not any(listening & sockets(str(each.pid)) for each in session)
