"""Ports, by really binding them."""

from __future__ import annotations

import os

from ...model.system import Port
from ..reading import list_dir, program, read_file
from .files import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LISTEN = "0A"
_SECONDS = 0.5


def bind(ports: tuple[tuple[str, int], ...], root: str) -> dict[str, Any]:
    """Bind each port and release it."""
    return {"ports": tuple(_bound(address, port, root) for address, port in ports)}


def _bound(address: str, port: int, root: str) -> Port:
    import errno
    import socket

    families = [(socket.AF_INET, "")]
    if address:
        try:
            found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
        except OSError as error:
            return Port(port=port, address=address, taken=True, reason=error.strerror or str(error))
        families = [(found[0][0], str(found[0][4][0]))]
    # Reused, an address may be bound beside a server that has bound it and does not listen yet.
    lingering = _entries(port, root) != []
    for family, host in families:
        with socket.socket(family, socket.SOCK_STREAM) as one:
            if lingering:  # as servers do: a connection that lingers is no one who listens
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                one.bind((host, port))
            except OSError as error:
                busy = error.errno == errno.EADDRINUSE
                return Port(
                    port=port,
                    address=address,
                    taken=True,
                    holder=_holder(port, root) if busy else "",
                    reason="" if busy else error.strerror or str(error),
                )
    return Port(port=port, address=address, taken=False)


def listening(ports: tuple[tuple[str, int], ...]) -> dict[str, Any]:
    """Whether someone listens, by connecting."""
    return {"listeners": tuple(_answers(address, port) for address, port in ports)}


def _answers(address: str, port: int) -> Port:
    import socket

    try:
        with socket.create_connection((address or "localhost", port), timeout=_SECONDS):
            return Port(port=port, address=address, taken=True)
    except OSError:
        return Port(port=port, address=address, taken=False)


def _holder(port: int, root: str) -> str:
    """The program that listens on a port, where this user may see it.

    Not this process: a child that reads for its parent has the parent's sockets too.
    """
    inodes = listeners(port, root)
    own = str(os.getpid())
    for pid in list_dir(root, "proc"):
        if not pid.isdecimal() or pid == own:
            continue
        if inodes & sockets(pid, root):
            return f"{program(root, int(pid)) or 'a process'} ({pid})"
    return ""


def listeners(port: int, root: str = "/") -> set[str]:
    """The sockets that listen on a TCP port, by their inodes."""
    return {words[9] for words in _entries(port, root) or () if words[3] == _LISTEN}


def _entries(port: int, root: str) -> list[list[str]] | None:
    """What the kernel lists of a TCP port: who listens, and connections; None where it is not said.

    A socket that is bound alone is not among it.
    """
    tables = [read_file(root, "proc/net", table) for table in ("tcp", "tcp6")]
    if tables[0] is None:
        return None
    lines = [line.split() for table in tables for line in (table or "").splitlines()[1:]]
    return [
        words for words in lines
        if len(words) > 9 and int(words[1].rpartition(":")[2], 16) == port
    ]  # fmt: skip


def sockets(pid: str, root: str = "/") -> set[str]:
    """The sockets that a process has open, by their inodes; none where they are not to be seen."""
    found = set()
    for name in list_dir(root, "proc", pid, "fd"):
        try:
            target = os.readlink(at(root, "proc", pid, "fd", name))
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found
