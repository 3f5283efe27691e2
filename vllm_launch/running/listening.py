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
    family = (server, *process.family_of(server))
    return not any(listening & sockets(str(each.pid)) for each in family)


def is_here(host: str) -> bool:
    """Whether a host is this machine: by its name, or by an address that it has."""
    import os
    import socket

    if host in ("localhost", os.uname().nodename):
        return True
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.inet_pton(family, host)  # no other name is looked up
        with socket.socket(family, socket.SOCK_STREAM) as one:
            one.bind((host, 0))
    except OSError:
        return False
    return True
