"""Checks of several machines together, by their saved facts."""

from __future__ import annotations

from ..model.finding import Finding
from .nodes import ALIKE, NOT_READ, Compared, addresses, networks, uuids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .nodes import Node

# What each code is about, for --list.
ACROSS = (
    ("NODE_COUNT", "several --host-facts: as many as the plan has nodes"),
    ("NODE_TWICE", "several --host-facts: machines that can be told apart"),
    ("NODE_GPUS", "several --host-facts: equal GPUs, by model, number and memory"),
    ("NODE_DRIVER", "several --host-facts: one driver, CUDA or ROCm version"),
    ("NODE_VLLM", "several --host-facts: one vLLM version"),
    ("NODE_KERNEL", "several --host-facts: one kernel"),
    ("NODE_NETWORK", "several --host-facts: a common network, interfaces and their speed"),
    ("NODE_RDMA", "several --host-facts: equal RDMA devices"),
)


def across(nodes: Sequence[Node], needed: int) -> tuple[Finding, ...]:
    """What is wrong with these machines together, failures first."""
    found = [
        *_enough(nodes, needed), *_apart(nodes), *_differing(nodes), *_network(nodes),
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


def _apart(nodes: Sequence[Node]) -> Iterator[Finding]:
    """Each machine once: by its GPUs' UUIDs, then by its addresses."""
    for what, read in (("GPU", uuids), ("address", addresses)):
        seen: dict[str, str] = {}
        told: set[tuple[str, str]] = set()
        for node in nodes:
            for value in read(node.facts):
                other = seen.setdefault(value, node.name)
                if other is not node.name and (other, node.name) not in told:
                    told.add((other, node.name))
                    yield Finding(
                        code="NODE_TWICE",
                        severity="fail",
                        what=f"{other} and {node.name} have the same {what}, {value}",
                        why="They are one machine, or two that cannot be told apart.",
                        remedy="Give the facts of different machines, each with its own address.",
                        cause="--host-facts",
                    )


def _differing(nodes: Sequence[Node]) -> Iterator[Finding]:
    for one in ALIKE:
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
        unread = [node.name for node, value in zip(nodes, values, strict=True) if value == NOT_READ]
        if unread and len(unread) < len(nodes):
            yield Finding(
                code=one.code,
                severity="note",
                what=f"{one.what} of {', '.join(unread)} is not known",
                remedy="Write its facts again with this version: vllm-launch detect --save FILE.",
            )


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
