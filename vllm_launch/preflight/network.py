"""Names, addresses and interfaces between nodes."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .layout import layout
from .plan import place, source_of, value
from .units import quoted
from .unread import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.system import Interface, Name
    from .situation import Situation

INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
_HEAD_FLAGS = ("--master-addr", "--data-parallel-address")


def head(situation: Situation) -> tuple[str, str] | None:
    """The head's name or address, and the flag that gives it."""
    at = layout(situation.process)
    if at.is_alone:
        return None
    for flag in _HEAD_FLAGS:
        name = value(situation.process, flag)
        if name and "$" not in name:
            return name, flag
    return None


def names(situation: Situation) -> tuple[str, ...]:
    """The names that are to be resolved."""
    found = head(situation)
    host = situation.environment.get("VLLM_NIXL_SIDE_CHANNEL_HOST", "")
    wanted = [found[0]] if found else []
    wanted += [host] if host and "$" not in host else []
    return tuple(dict.fromkeys(wanted))


def resolved(situation: Situation, name: str) -> Name | None:
    """What became of a name."""
    return next((one for one in situation.system.names or () if one.name == name), None)


def head_reachable(situation: Situation) -> Iterable[Finding] | None:
    """The head's name: resolved, not to loopback, and on the right machine."""
    found = head(situation)
    if found is None:
        return None
    name, flag = found
    there = resolved(situation, name)
    if there is None:
        return unread(situation, "names", f"{name} was not resolved", cause=flag)
    source = place(situation.process, flag)
    return [
        Finding(severity=severity, what=what, why=why, remedy=remedy, cause=flag, source=source)
        for severity, what, why, remedy in _head_faults(situation, there)
    ]


def _head_faults(situation: Situation, name: Name) -> Iterator[tuple[str, str, str, str]]:
    is_head = layout(situation.process).is_head
    if name.error:
        yield (
            "fail",
            f"the head {name.name} has no address: {name.error}",
            "Nodes find each other there.",
            "Give an address: --endpoint HEAD_IP=…, or an entry in /etc/hosts.",
        )
    elif name.loopback:
        yield (
            "fail",
            f"the head {name.name} resolves to {name.addresses[0]}, an address of loopback",
            "Every node would connect to itself.",
            "Give the head's address in the network of the nodes, or mend /etc/hosts.",
        )
    elif is_head and name.here is False:
        yield (
            "warn",
            f"the head is {name.name} ({name.addresses[0]}), which is no address of this machine",
            "The plan makes this machine the head, and the head binds that address.",
            "Give this machine's address, or start the head on the machine that has it.",
        )
    elif not is_head and name.here:
        yield (
            "warn",
            f"the head {name.name} is this machine, and this is node {_number(situation)}",
            "Two nodes on one machine take the same GPUs.",
            "Start this one elsewhere, or give the head's address.",
        )


def addresses_apart(situation: Situation) -> Iterable[Finding] | None:
    """One address for each machine of the plan."""
    if len(situation.addresses) < 2:
        return None
    first: dict[str, tuple[str, int]] = {}
    found = []
    for title, node, address in situation.addresses:
        other, number = first.setdefault(address, (title, node))
        if number != node:
            found.append(
                Finding(
                    severity="fail",
                    what=f"{other} and {title} have one address, {address}",
                    why="They are planned for machines of their own, and would take the same GPUs.",
                    remedy="Give each its own machine's address, or plan for fewer machines.",
                    cause="--endpoint",
                )
            )
    return found


def _number(situation: Situation) -> int:
    at = layout(situation.process)
    return at.rank or situation.process.rank


def interfaces_right(situation: Situation) -> Iterable[Finding] | None:
    """The interfaces that Gloo and NCCL are told, or take by themselves."""
    if layout(situation.process).is_alone or not situation.on_host_network:
        return None
    interfaces = situation.system.interfaces
    if interfaces is None:
        return unread(situation, "interfaces", "network interfaces were not read")
    found: list[Finding] = []
    for variable in INTERFACE_VARIABLES:
        text = situation.environment.get(variable, "")
        if text and "$" not in text:
            found += _named(situation, variable, text, interfaces)
    return [*found, *_by_own_name(situation)]


def _named(
    situation: Situation, variable: str, text: str, interfaces: tuple[Interface, ...]
) -> Iterator[Finding]:
    """Whether what a variable names is here, is up, and is where the head is."""
    source = source_of(situation.process, variable)
    fitting = [one for one in interfaces if _matches(variable, text, one.name)]
    there = ", ".join(one.name for one in interfaces if one.name != "lo") or "none"
    route = _route(situation)
    if not fitting:
        yield Finding(
            severity="fail",
            what=f"{variable} names {text}, this machine has {there}",
            why="The nodes cannot connect.",
            remedy="Name the interface that leads to the head" + (f": {route}." if route else "."),
            cause=variable,
            source=source,
        )
    elif all(one.name == "lo" for one in fitting):
        yield Finding(
            severity="fail",
            what=f"{variable} names the loopback interface, and the plan spans nodes",
            why="Every node would connect to itself.",
            remedy=f"Name one of {there}.",
            cause=variable,
            source=source,
        )
    elif all(one.up is False for one in fitting):
        yield Finding(
            severity="fail",
            what=f"{variable} names {fitting[0].name}, which is down",
            why="The nodes cannot connect.",
            remedy="Bring it up, or name another.",
            command=f"sudo ip link set {quoted(fitting[0].name)} up",
            cause=variable,
            source=source,
        )
    elif route and route not in [one.name for one in fitting] and variable.startswith("GLOO"):
        yield Finding(
            severity="warn",
            what=f"{variable} names {text}, and {_leads(situation)} {route}",
            why="Where the two are different networks, the nodes cannot connect.",
            remedy=f"Name {route}, unless both lead to the head.",
            cause=variable,
            source=source,
        )


def _matches(variable: str, text: str, name: str) -> bool:
    """As Gloo and NCCL read it: NCCL takes prefixes, "=" for exact names and "^" for others."""
    if not variable.startswith("NCCL"):
        return name in text.split(",")
    excluded = text.startswith("^")
    words = text.removeprefix("^").removeprefix("=").split(",")
    exact = text.removeprefix("^").startswith("=")
    hit = name in words if exact else name.startswith(tuple(words))
    return hit is not excluded


def _route(situation: Situation) -> str:
    found = head(situation)
    there = resolved(situation, found[0]) if found else None
    return there.interface if there is not None and not there.loopback else ""


def _leads(situation: Situation) -> str:
    found = head(situation)
    there = resolved(situation, found[0]) if found else None
    own = there is not None and there.here
    return "the head's address is on" if own else "the route to the head leaves by"


def _by_own_name(situation: Situation) -> Iterator[Finding]:
    """Without an interface, Gloo takes the one that this machine's own name resolves to."""
    own = situation.system.own_name
    if situation.environment.get("GLOO_SOCKET_IFNAME") or own is None or not own.loopback:
        return
    route = _route(situation)
    advice = f"-e GLOO_SOCKET_IFNAME={route} -e NCCL_SOCKET_IFNAME={route}" if route else ""
    yield Finding(
        severity="warn",
        what=f"this machine's name {own.name} resolves to {own.addresses[0]}, "
        "and GLOO_SOCKET_IFNAME is not set",
        why="Gloo announces that address, and other nodes then connect to themselves.",
        remedy=f"Pass {advice}."
        if advice
        else "Name the interface that leads to the other nodes "
        "with -e GLOO_SOCKET_IFNAME=…, or mend /etc/hosts.",
        cause="GLOO_SOCKET_IFNAME",
    )


CHECKS = (
    Check(
        code="HEAD",
        subject="network",
        about="the head's name: resolved, not to loopback, on the right machine",
        run=head_reachable,
    ),
    Check(
        code="ADDRESS",
        subject="network",
        about="each machine of the plan has an address of its own",
        run=addresses_apart,
    ),
    Check(
        code="IFACE",
        subject="network",
        about="the interfaces that nodes connect by",
        run=interfaces_right,
    ),
)
