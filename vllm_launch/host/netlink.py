"""The kernel's own answer to which interface an address is reached by, or belongs to.

Asked over a netlink socket, so that rules, several tables and IPv6 count as they do for packets.
"""

from __future__ import annotations

import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# linux/netlink.h and linux/rtnetlink.h
_ERROR, _DONE = 2, 3
_NEW_ADDRESS, _GET_ADDRESS, _NEW_ROUTE, _GET_ROUTE = 20, 22, 24, 26
_REQUEST, _DUMP = 1, 0x300
_HEADER, _ROUTE, _ADDRESS, _ATTRIBUTE = "=IHHII", "=BBBBBBBBI", "=BBBBI", "=HH"
_DESTINATION, _OUT = 1, 4  # attributes of a route
_OF_PEER, _LOCAL = 1, 2  # attributes of an address
_LARGEST = 1 << 16


def route_to(address: str) -> str:
    """The interface that packets to an address leave by. Raises OSError, also for no route."""
    family, packed = _packed(address)
    body = struct.pack(_ROUTE, family, len(packed) * 8, 0, 0, 0, 0, 0, 0, 0)
    body += struct.pack(_ATTRIBUTE, 4 + len(packed), _DESTINATION) + packed
    for kind, answer in _ask(_GET_ROUTE, _REQUEST, body):
        if kind == _NEW_ROUTE:
            index = _attributes(answer[struct.calcsize(_ROUTE) :]).get(_OUT)
            if index is not None:
                return socket.if_indextoname(struct.unpack("=I", index)[0])
    raise OSError("no answer from the kernel")


def holder_of(address: str) -> str:
    """The interface that has an address; "" where none has. Raises OSError."""
    family, packed = _packed(address)
    body = struct.pack(_ADDRESS, family, 0, 0, 0, 0)
    found = ""
    for kind, answer in _ask(_GET_ADDRESS, _REQUEST | _DUMP, body):
        if kind != _NEW_ADDRESS:
            continue
        attributes = _attributes(answer[struct.calcsize(_ADDRESS) :])
        if (attributes.get(_LOCAL) or attributes.get(_OF_PEER)) == packed:
            found = socket.if_indextoname(struct.unpack("=I", answer[4:8])[0])
    return found


def own_addresses() -> dict[str, list[str]]:
    """The addresses of each interface, with the lengths of their networks. Raises OSError."""
    found: dict[str, list[str]] = {}
    body = struct.pack(_ADDRESS, socket.AF_UNSPEC, 0, 0, 0, 0)
    for kind, answer in _ask(_GET_ADDRESS, _REQUEST | _DUMP, body):
        if kind != _NEW_ADDRESS:
            continue
        family, length, _, _, index = struct.unpack(_ADDRESS, answer[: struct.calcsize(_ADDRESS)])
        attributes = _attributes(answer[struct.calcsize(_ADDRESS) :])
        packed = attributes.get(_LOCAL) or attributes.get(_OF_PEER)
        if packed is not None and family in (socket.AF_INET, socket.AF_INET6):
            address = f"{socket.inet_ntop(family, packed)}/{length}"
            found.setdefault(socket.if_indextoname(index), []).append(address)
    return found


def _packed(address: str) -> tuple[int, bytes]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.inet_pton(family, address)


def _ask(kind: int, flags: int, body: bytes) -> Iterator[tuple[int, bytes]]:
    """The messages of an answer, up to its end; the kernel's refusal as an OSError."""
    import os

    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as channel:
        channel.settimeout(2)
        length = struct.calcsize(_HEADER) + len(body)
        channel.sendto(struct.pack(_HEADER, length, kind, flags, 1, 0) + body, (0, 0))
        while True:
            data = channel.recv(_LARGEST)
            for kind_found, answer in _messages(data):
                if kind_found == _ERROR:
                    code = -struct.unpack("=i", answer[:4])[0]
                    raise OSError(code, os.strerror(code))
                if kind_found == _DONE:
                    return
                yield kind_found, answer
            if not flags & _DUMP:
                return


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    size = struct.calcsize(_HEADER)
    while len(data) >= size:
        length, kind, *_ = struct.unpack(_HEADER, data[:size])
        if length < size:
            return
        yield kind, data[size:length]
        data = data[(length + 3) & ~3 :]


def _attributes(data: bytes) -> dict[int, bytes]:
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack(_ATTRIBUTE, data[:4])
        if length < 4:
            break
        found[kind] = data[4:length]
        data = data[(length + 3) & ~3 :]
    return found
