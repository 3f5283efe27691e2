"""Checks of several machines together, by their saved facts."""

from __future__ import annotations

from ..model.finding import Finding
from .nodes import ABSENT, NOT_READ, Compared, addresses, alike, image_row, networks, uuids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .nodes import Node, Planned

# What each code is about, for --list.
ACROSS = (
    ("NODE_COUNT", "several --host-facts: as many as the plan has nodes"),
    ("NODE_TWICE", "several --host-facts: machines that can be told apart"),
    ("NODE_GPUS", "several --host-facts: equal GPUs, by model, number and memory"),
    ("NODE_DRIVER", "several --host-facts: one driver, CUDA or ROCm version"),
    ("NODE_VLLM", "several --host-facts: one vLLM version"),
    ("NODE_IMAGE", "several --host-facts: one image, where containers are run"),
    ("NODE_KERNEL", "several --host-facts: one kernel"),
    ("NODE_NETWORK", "several --host-facts: a common network, interfaces and their speed"),
    ("NODE_RDMA", "several --host-facts: equal RDMA devices"),
)


def across(nodes: Sequence[Node], needed: int, planned: Planned) -> tuple[Finding, ...]:
    """What is wrong with these machines together, failures first."""
    found = [
        *_enough(nodes, needed), *_twice(nodes), *_differing(nodes, planned),
        *_image(nodes, planned), *_network(nodes),
    ]  # fmt: skip
    order = ("fail", "warn", "note")
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def _enough(nodes: Sequence[Node], needed: int) -> Iterator[Finding]:
    if len(nodes) == needed:
        return
    few = len(nodes) < needed
    yield Finding(
        code="NODE_COUNT",
        severity="fail" if few else "note",
        what=f"the plan is for {_counted(needed)}, and there are the facts of {len(nodes)}",
        why="The others were not looked at." if few else "Those that are left over stay idle.",
        remedy="Give the facts of each: --host-facts FILE, once a node.",
        cause="--host-facts",
    )


def _counted(number: int) -> str:
    return "one node" if number == 1 else f"{number} nodes"


def _twice(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Each machine once: by its GPUs' UUIDs, then by its addresses."""
    for what, read in (("GPU", uuids), ("address", addresses)):
        seen: dict[str, str] = {}
        reported: set[tuple[str, str]] = set()
        for node in nodes:
            for value in read(node.facts):
                other = seen.setdefault(value, node.name)
                if other is not node.name and (other, node.name) not in reported:
                    reported.add((other, node.name))
                    yield Finding(
                        code="NODE_TWICE",
                        severity="fail",
                        what=f"{other} and {node.name} have the same {what}, {value}",
                        why="They are one machine, or two that cannot be told apart.",
                        remedy="Give the facts of different machines, each with its own address.",
                        cause="--host-facts",
                    )


def _differing(nodes: Sequence[Node], planned: Planned) -> Iterator[Finding]:
    for one in alike(planned.engine):
        values = tuple(one.read(node.facts) for node in nodes)
        row = Compared(what=one.what, values=values)
        if row.odd:
            odd = ", ".join(f"{values[at] or 'none'} on {nodes[at].name}" for at in row.odd)
            yield Finding(
                code=one.code,
                severity=one.severity,
                what=f"{one.what}: {odd}; {row.usual or 'none'} on the other nodes",
                why=one.why,
                remedy=_REMEDIES.get(one.code, ""),
            )
        yield from _unread(one.code, one.what, nodes, values)


def _unread(
    code: str, what: str, nodes: Sequence[Node], values: Sequence[str], where: str = ""
) -> Iterator[Finding]:
    """What the facts of some say and those of others do not."""
    unread = _having(NOT_READ, nodes, values)
    if unread and len(unread) < len(nodes):
        yield Finding(
            code=code,
            severity="note",
            what=f"{what} of {', '.join(unread)} is not known",
            remedy=f"Write its facts again with this version{where}: "
            "vllm-launch detect --save FILE.",
        )


def _having(value: str, nodes: Sequence[Node], values: Sequence[str]) -> list[str]:
    """The names of the machines with a value."""
    return [node.name for node, each in zip(nodes, values, strict=True) if each == value]


def _image(nodes: Sequence[Node], planned: Planned) -> Iterator[Finding]:
    """The image that containers are made of: the same on each, and there."""
    values = image_row(nodes, planned).values
    if not planned.engine:
        return
    there = dict.fromkeys(value for value in values if value not in (ABSENT, NOT_READ))
    if len(there) > 1:
        each = (f"{value} on {', '.join(_having(value, nodes, values))}" for value in there)
        yield Finding(
            code="NODE_IMAGE",
            severity="fail",
            what=f"{planned.image} is {', '.join(each)}",
            why="Ranks of different builds do not understand each other.",
            remedy="Pull one on all, and name it by its digest: --image NAME@sha256:….",
            command=f"{planned.engine} pull {planned.image}",
            cause="--image",
        )
    absent = _having(ABSENT, nodes, values)
    if absent:
        # What is pulled now may be another image than the others have.
        moves = bool(there) and "@sha256:" not in planned.image
        yield Finding(
            code="NODE_IMAGE",
            severity="warn" if moves else "note",
            what=f"{planned.image} is not on {', '.join(absent)}: {planned.engine} would pull it",
            why="Its tag may stand for another image by then."
            if moves
            else "Some ten gigabytes, before the server starts.",
            command=f"{planned.engine} pull {planned.image}",
            cause="--image",
        )
    asked = f", as a user whom {planned.engine} answers"
    yield from _unread("NODE_IMAGE", "image", nodes, values, asked)


_REMEDIES = {
    "NODE_GPUS": "Plan for the nodes that are alike, or limit all to what the smallest has.",
    "NODE_DRIVER": "Bring all to one version.",
    "NODE_VLLM": "Install one version on all, or run one image: --runtime docker.",
    "NODE_RDMA": "Bring the devices up, or leave those out that not all have: -e NCCL_IB_HCA=….",
    "NODE_NETWORK": "Leave $IFACE_NAME out: each node then takes its own route to the head.",
}


def _network(nodes: Sequence[Node]) -> Iterator[Finding]:
    """A network that all have an address in."""
    each = [set(networks(node.facts)) for node in nodes if node.facts.interfaces is not None]
    if len(each) < 2 or set.intersection(*each):
        return
    yield Finding(
        code="NODE_NETWORK",
        severity="warn",
        what="there is no network that every node has an address in",
        why="They reach each other by a router alone, or not at all.",
        remedy="See that each reaches the head, and that --endpoint names its address there.",
    )
