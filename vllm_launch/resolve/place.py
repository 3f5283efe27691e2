"""Where a launcher's process stands in a deployment: its node, and the other nodes' addresses."""

from __future__ import annotations

from ..errors import UsageError
from ..model.part import SERVERS
from ..model.record import Record
from .placeholders import address_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.cluster import ClusterView, Said
    from ..model.part import Part

_POOLS = ("prefill", "decode")
_SHOWN = 4  # addresses that are said one by one


class Place(Record):
    """What a launcher's variables say of a deployment."""

    parts: tuple[Part, ...] | None = None  # this node's; None: it does not say which node this is
    addresses: Mapping[str, str] = {}  # by placeholder
    address_by: Mapping[str, str] = {}  # the variable that says so, in words
    numbers: Mapping[str, int] = {}  # the launcher's of every server's node, by the part's name
    machines: Mapping[str, str] = {}  # every server's address that is known, by the part's name
    said: tuple[str, ...] = ()  # what was taken
    notes: tuple[str, ...] = ()  # what was not, and why


def place(
    view: ClusterView, all_parts: Sequence[Part], role: str | None, *, rank: bool, strict: bool
) -> Place:
    """What a launcher's view of its nodes makes of a deployment.

    ``rank``: whether to be told by it which node this is. ``strict``: whether a view that does
    not go with the deployment is an error, as it is where something is to be started; otherwise
    it is a note, and nothing is taken from it. Raises UsageError.
    """
    numbers = _numbers(view, all_parts, role)
    needed = 1 + max(numbers.values(), default=0)
    size = int(view.size.value) if view.size is not None else None
    wrong = _contradiction(view, size, needed, rank=rank and needed > 1)
    if wrong is not None:
        if strict and rank:
            raise wrong
        return Place(notes=(f"{wrong.message}: nothing is taken from it",))
    notes = _too_many(view, size, needed)
    found = _addresses(view, all_parts, numbers)
    if not rank or view.rank is None or needed == 1:
        return found.replace(notes=notes)
    node = int(view.rank.value)
    here = tuple(
        part for part in all_parts
        if numbers.get(part.name) == node and role in (None, part.role)
    )  # fmt: skip
    if not here:
        raise UsageError(
            f"node {node} ({view.rank.by}) has no {role or 'process'} to run: the plan is for "
            f"{needed} nodes",
            hint=f"start it on {needed} nodes, or say which node this is: --node-rank, --role",
        )
    said = (f"node rank {node}: {view.rank.by}",)
    return found.replace(parts=here, said=(*said, *found.said), notes=notes)


def _numbers(view: ClusterView, all_parts: Sequence[Part], role: str | None) -> dict[str, int]:
    """The launcher's number of each part's node: of all nodes, or of one pool's alone.

    A pool may have been started by itself, on as many nodes as it has.
    """
    servers = [part for part in all_parts if part.role in SERVERS]
    whole = {part.name: part.node for part in servers}
    pool = {part.name: part.rank for part in servers if part.role == role and role in _POOLS}
    size = int(view.size.value) if view.size is not None else None
    if pool and size is not None and 1 + max(pool.values()) <= size < 1 + max(whole.values()):
        return pool
    return whole


def _contradiction(
    view: ClusterView, size: int | None, needed: int, *, rank: bool
) -> UsageError | None:
    if size is not None and size < needed and view.size is not None:
        return UsageError(
            f"the plan is for {needed} nodes, and {view.launcher} has started {size} "
            f"({view.size.by})",
            hint=f"start it on {needed} nodes, or say which node this is with --node-rank and "
            "--endpoint",
        )
    if rank and view.local_rank is not None and view.local_rank.value != "0":
        return UsageError(
            f"{view.launcher} has started several processes on this node, and this is number "
            f"{view.local_rank.value} ({view.local_rank.by})",
            hint="start one a node",
        )
    return None


def _too_many(view: ClusterView, size: int | None, needed: int) -> tuple[str, ...]:
    if size is None or size <= needed or view.size is None:
        return ()
    uses = "one" if needed == 1 else f"the first {needed}"
    return (f"{view.launcher} has {size} nodes ({view.size.by}), and the plan uses {uses}",)


def _addresses(view: ClusterView, all_parts: Sequence[Part], numbers: Mapping[str, int]) -> Place:
    """The addresses of the parts whose nodes are known."""
    nodes = view.nodes or ((view.head.value,) if view.head is not None else ())
    machines = {name: nodes[number] for name, number in numbers.items() if number < len(nodes)}
    found: dict[str, str] = {}
    by: dict[str, str] = {}
    for name, part in address_parts(all_parts).items():
        number = numbers.get(part.name) if part.role in SERVERS else part.node
        if number is not None and number < len(nodes):
            found[name] = nodes[number]
            by[name] = _of_list(view, number)
    return Place(addresses=found, address_by=by, numbers=numbers, machines=machines)


def _of_list(view: ClusterView, number: int) -> str:
    """The variable that says an address, in words."""
    head: Said | None = view.head
    if head is not None and number == 0 and head.by != view.nodes_by:
        return head.by
    if view.launcher == "LeaderWorkerSet":
        return view.nodes_by if number == 0 else f"worker {number} of {view.nodes_by}"
    return f"{'first' if number == 0 else f'number {number + 1}'} of {view.nodes_by}"


def shown(values: Mapping[str, str], by: Mapping[str, str]) -> tuple[str, ...]:
    """Values with their sources as lines; of very many just how many."""
    lines = [f"${name} = {value or '(empty)'}: {by[name]}" for name, value in values.items()]
    if len(lines) <= 2 * _SHOWN:
        return tuple(lines)
    return (*lines[:_SHOWN], f"… and {len(lines) - _SHOWN} more")
