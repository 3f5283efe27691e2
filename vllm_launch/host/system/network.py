"""Interfaces, and what names resolve to."""

from __future__ import annotations

from ...model.system import Interface, Name
from ..reading import list_dir, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DOWN = ("down", "lowerlayerdown", "notpresent")


def interfaces(root: str) -> dict[str, Any]:
    """Every interface. One without a state of its own, such as lo, counts as up."""
    names = list_dir(root, "sys/class/net")
    if not names:
        raise OSError("/sys/class/net is not there")
    found = [Interface(name=name, up=_is_up(root, name)) for name in names]
    return {"interfaces": tuple(one for one in found if one.up is not None or one.name == "lo")}


def _is_up(root: str, name: str) -> bool | None:
    state = read_file(root, "sys/class/net", name, "operstate")
    return None if state is None else state not in _DOWN


def resolve(names: tuple[str, ...], root: str) -> dict[str, Any]:
    """Each name with its addresses, whether they are this machine's, and the way to them."""
    local = addresses(root)
    return {"names": tuple(_resolved(name, local, root) for name in names)}


def own_name(root: str) -> dict[str, Any]:
    """What this machine's host name resolves to."""
    import socket

    return {"own_name": _resolved(socket.gethostname(), addresses(root), root)}


def _resolved(name: str, local: set[str] | None, root: str) -> Name:
    import socket

    try:
        found = socket.getaddrinfo(_bare(name), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return Name(name=name, error=str(getattr(error, "strerror", None) or error))
    these = tuple(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))
    loopback = all(_is_loopback(one) for one in these)
    here = None if local is None else loopback or any(one in local for one in these)
    return Name(
        name=name,
        addresses=these,
        loopback=loopback,
        here=here,
        interface=next((i for one in these if (i := _way(one, root, here=bool(here)))), ""),
    )


def _bare(name: str) -> str:
    """An IPv6 address without the brackets of a URL."""
    return name[1:-1] if name.startswith("[") and name.endswith("]") else name


def _way(address: str, root: str, *, here: bool) -> str:
    """The interface that an address of this machine's is on, or that leads to another's."""
    return holder(address, root) if here else route(address, root)


def _is_loopback(address: str) -> bool:
    return address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")


def addresses(root: str) -> set[str] | None:
    """This machine's own addresses, by the kernel's tables; None where they cannot be read."""
    trie = read_file(root, "proc/net/fib_trie")
    if trie is None:
        return None
    found: set[str] = set()
    last = ""
    for line in trie.splitlines():
        words = line.split()
        if words[:1] in (["|--"], ["+--"]):
            last = words[1].partition("/")[0]
        elif words[-2:] == ["host", "LOCAL"]:
            found.add(last)
    return found | _version_6(root)


def _version_6(root: str) -> set[str]:
    import socket

    found = set()
    for line in (read_file(root, "proc/net/if_inet6") or "").splitlines():
        digits = line.partition(" ")[0]
        if len(digits) == 32:
            found.add(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(digits)))
    return found


def holder(address: str, root: str) -> str:
    """The interface that has an address of this machine; "" where that is not known."""
    if root != "/":
        return ""
    from ..netlink import holder_of

    try:
        return holder_of(address)
    except OSError:
        return ""


def route(address: str, root: str) -> str:
    """The interface that packets to an address leave by; "" where no route leads there.

    The kernel is asked; where that is not allowed, its main table for IPv4 is read.
    """
    import errno

    if root == "/":
        from ..netlink import route_to

        try:
            return route_to(address)
        except OSError as error:
            if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EACCES, errno.EINVAL):
                return ""
    return _by_table(address, root)


def _by_table(address: str, root: str) -> str:
    import socket

    try:
        wanted = int.from_bytes(socket.inet_aton(address), "big")
    except OSError:
        return ""
    best, interface = -1, ""
    for line in (read_file(root, "proc/net/route") or "").splitlines()[1:]:
        words = line.split()
        if len(words) < 8 or not int(words[3], 16) & 1:
            continue
        network, mask = (
            int.from_bytes(bytes.fromhex(w)[::-1], "big") for w in (words[1], words[7])
        )
        if wanted & mask == network and mask > best:
            best, interface = mask, words[0]
    return interface
