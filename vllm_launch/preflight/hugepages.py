"""HugeTLB pages for KV cache in host memory: how many, of which size, and what reserves them."""

from __future__ import annotations

from ..model.record import Record
from .devices import chosen
from .layout import connectors, layout
from .plan import is_on, last
from .units import GIB, as_bytes, page_size, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.source import Source
    from ..model.system import HugePool
    from .situation import Situation

KEY = "cpu_hugepage_block_size"
_PAGES = "/sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages"
_NODE_PAGES = "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages"
_DEFAULT_BYTES = 8 * GIB  # of SimpleCPUOffloadConnector, all ranks together


class Demand(Record):
    """The pages that a connector maps on this node."""

    connector: str
    asked: str  # the page size as written
    page: int | None  # bytes; None: what is written is no size
    bytes_per_rank: int
    ranks: int
    source: Source | None

    @property
    def pages_per_rank(self) -> int:
        """Whole pages: each rank has a mapping of its own."""
        return -(-self.bytes_per_rank // (self.page or 1))

    @property
    def pages(self) -> int:
        """Pages of all ranks here."""
        return self.pages_per_rank * self.ranks


def demands(situation: Situation) -> list[Demand]:
    """What the process's connectors map in huge pages."""
    at = layout(situation.process)
    found = []
    for connector in connectors(situation.process):
        asked = connector.extra.get(KEY)
        if not asked:
            continue
        per_rank = as_bytes(connector.extra.get("cpu_bytes_to_use_per_rank"))
        if per_rank is None:
            total = as_bytes(connector.extra.get("cpu_bytes_to_use"))
            per_rank = (_DEFAULT_BYTES if total is None else total) // at.world
        found.append(
            Demand(
                connector=connector.name,
                asked=str(asked),
                page=page_size(asked),
                bytes_per_rank=per_rank,
                ranks=at.ranks,
                source=connector.source,
            )
        )
    return found


def sized(situation: Situation) -> list[Demand] | None:
    """The demands whose page size can be read; None where there is no demand at all."""
    found = demands(situation)
    return [demand for demand in found if demand.page] if found else None


def pool_of(situation: Situation, demand: Demand) -> HugePool | None:
    """The pool of the size asked for."""
    pools = situation.system.huge_pools or ()
    return next((pool for pool in pools if pool.size == demand.page), None)


def _wanted_total(demand: Demand, pool: HugePool) -> int:
    """What the pool must hold so that enough of it is available."""
    return pool.total + demand.pages - pool.available


def command(situation: Situation, demand: Demand, pool: HugePool) -> str:
    """Shell text that reserves what lacks."""
    if is_on(situation.process, "--numa-bind") and len(pool.nodes) > 1:
        return "\n".join(node_lines(situation, demand, pool))
    path = _PAGES.format(pool.size // 1024)
    return f"echo {_wanted_total(demand, pool)} | sudo tee {path}"


def remedy(situation: Situation, demand: Demand, pool: HugePool) -> str:
    """The ways to have the pages."""
    where = "on the host, not in this container" if situation.system.in_container else "on the host"
    words = [f"Reserve them {where}, and read the number back: the kernel gives what it can."]
    if pool.size >= GIB:
        boot = f"hugepagesz={pool.size // GIB}G hugepages={_wanted_total(demand, pool)}"
        words.append(f"Where memory is too fragmented for that, boot with {boot}.")
    if len(pool.nodes) > 1 and not is_on(situation.process, "--numa-bind"):
        lines = "; ".join(node_lines(situation, demand, pool))
        words.append(f"Split over the NUMA nodes: {lines}.")
    if not situation.native:
        words.append("The container's hugetlb limit, where one is set, must allow as much.")
    return " ".join(words)


def node_lines(situation: Situation, demand: Demand, pool: HugePool) -> list[str]:
    """One line for each NUMA node, by where the ranks are."""
    share = by_node(situation, demand, pool)
    return [
        f"echo {total + max(0, share.get(node, 0) - free)} | sudo tee "
        + _NODE_PAGES.format(node, pool.size // 1024)
        for node, total, free in pool.nodes
    ]


def by_node(situation: Situation, demand: Demand, pool: HugePool) -> dict[int, int]:
    """Pages that each NUMA node should have: by its ranks where bound, else evenly."""
    nodes = rank_nodes(situation, demand.ranks)
    if nodes is not None and set(nodes) <= {node for node, _, _ in pool.nodes}:
        return {node: nodes.count(node) * demand.pages_per_rank for node in set(nodes)}
    count = len(pool.nodes)
    return {
        node: demand.pages // count + (place < demand.pages % count)
        for place, (node, _, _) in enumerate(pool.nodes)
    }


def rank_nodes(situation: Situation, ranks: int) -> list[int] | None:
    """The NUMA node of each rank, where ranks are bound to nodes and both are known."""
    if not is_on(situation.process, "--numa-bind"):
        return None
    given = last(situation.process, "--numa-bind-nodes")
    if given is not None:
        nodes = [int(word) for word in given.values if word.isdecimal()]
    else:
        nodes = [gpu.numa_node for gpu in chosen(situation) if gpu.numa_node is not None]
    return nodes[:ranks] if len(nodes) >= ranks else None


def limit_file(path: str, version: int, page: int) -> str:
    """The control file of a limit."""
    name = size(page).replace(" GiB", "GB").replace(" MiB", "MB").replace(" KiB", "KB")
    return f"{path}/hugetlb.{name}.{'max' if version == 2 else 'limit_in_bytes'}"
