"""HugeTLB pages for KV cache in host memory: whether they are there, and may be used."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .hugepages import (
    KEY,
    Demand,
    by_node,
    command,
    demands,
    limit_file,
    node_lines,
    pool_of,
    rank_nodes,
    remedy,
    sized,
)
from .layout import KV_FLAG
from .plan import is_on
from .units import counted, quoted, size
from .unread import not_saved, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.system import HugePool
    from .situation import Situation


def _finding(demand: Demand, severity: str, what: str, **rest: str) -> Finding:
    return Finding(severity=severity, what=what, cause=KV_FLAG, source=demand.source, **rest)


def pages_there(situation: Situation) -> Iterable[Finding] | None:
    """Free pages, those that are promised to others left out."""
    found = sized(situation)
    if found is None:
        return None
    if situation.system.huge_pools is None:
        what = "HugeTLB pages could not be counted"
        return unread(situation, "huge_pools", what, cause=KV_FLAG, source=found[0].source)
    return [
        _short(situation, demand, pool)
        for demand in found
        if (pool := pool_of(situation, demand)) is not None and pool.available < demand.pages
    ]


def _short(situation: Situation, demand: Demand, pool: HugePool) -> Finding:
    page = size(pool.size)
    count = f"{counted(demand.ranks, 'rank')} × {demand.pages_per_rank}"
    there = f"{pool.available} available" + (f" ({pool.reserved} reserved)" * (pool.reserved > 0))
    grows = pool.available + pool.overcommit >= demand.pages
    return _finding(
        demand,
        "warn" if grows else "fail",
        f"{demand.pages} pages of {page} needed ({count}), {there}"
        + (f", and the kernel may add {pool.overcommit}" if grows else ""),
        why=f"{demand.connector} maps {size(demand.bytes_per_rank)} a rank in HugeTLB pages "
        f'({KEY} "{demand.asked}"); without them the server stops while it starts.',
        remedy=remedy(situation, demand, pool),
        command=command(situation, demand, pool),
    )


def page_size_supported(situation: Situation) -> Iterable[Finding] | None:
    """Page sizes that the kernel has."""
    found = demands(situation)
    if not found:
        return None
    pools = situation.system.huge_pools
    if pools is None:
        return not_saved(situation, "huge_pools")
    sizes = ", ".join(size(pool.size) for pool in pools) or "none"
    invalid = [_invalid(demand, sizes) for demand in found if demand.page is None]
    absent = [
        _absent(demand, demand.page, sizes)
        for demand in found
        if demand.page is not None and pool_of(situation, demand) is None
    ]
    return [*invalid, *absent]


def _invalid(demand: Demand, sizes: str) -> Finding:
    return _finding(
        demand,
        "fail",
        f'{KEY} "{demand.asked}" is no page size',
        why="The server cannot map its KV cache.",
        remedy=f"Write a size that this kernel has: {sizes}.",
    )


def _absent(demand: Demand, page: int, sizes: str) -> Finding:
    return _finding(
        demand,
        "fail",
        f"pages of {size(page)} needed, this kernel has {sizes}",
        why=f'{demand.connector} asks for them with {KEY} "{demand.asked}".',
        remedy="Pages of 1 GiB need a CPU with pdpe1gb (in a virtual machine, its host has to "
        "show it), other sizes a kernel that is built for them. Or write a size that is there.",
    )


def group_allows(situation: Situation) -> Iterable[Finding] | None:
    """The control group's limit, which a container or a scheduler sets."""
    found = sized(situation)
    if not found or not situation.native:
        return None
    group = situation.system.cgroup
    if group is None:
        what = "the control group's hugetlb limit could not be read"
        return unread(situation, "cgroup", what, cause=KV_FLAG, source=found[0].source)
    limits = {page: (limit, used) for page, limit, used in group.hugetlb}
    return [
        _finding(
            demand,
            "fail",
            f"{size(demand.pages * demand.page)} of HugeTLB pages needed, "
            f"the control group allows {size(limits[demand.page][0])} "
            f"and uses {size(limits[demand.page][1])}",
            why="The kernel refuses the mapping, however many pages are free.",
            remedy="Raise the limit from outside: hugepages-1Gi under resources.limits of a pod, "
            "the hugetlb limit of a container or a job.",
            command=f"echo {demand.pages * demand.page} | sudo tee "
            + quoted(limit_file(group.path, group.version, demand.page)),
        )
        for demand in found
        if demand.page in limits
        and demand.pages * demand.page > limits[demand.page][0] - limits[demand.page][1]
    ]


def nodes_have_them(situation: Situation) -> Iterable[Finding] | None:
    """Pages on each NUMA node, where ranks are bound to nodes."""
    found = sized(situation)
    if not found or not is_on(situation.process, "--numa-bind"):
        return None
    if situation.system.huge_pools is None:
        return not_saved(situation, "huge_pools")
    short = []
    for demand in found:
        pool = pool_of(situation, demand)
        if pool is None or len(pool.nodes) < 2 or pool.available < demand.pages:
            continue
        if rank_nodes(situation, demand.ranks) is None:
            short.append(
                _finding(
                    demand,
                    "note",
                    "pages of each NUMA node could not be compared: "
                    "the GPUs' NUMA nodes are not known",
                )
            )
            continue
        share = by_node(situation, demand, pool)
        lacking = [
            (n, share.get(n, 0), free) for n, _, free in pool.nodes if share.get(n, 0) > free
        ]
        if lacking:
            short.append(_unbalanced(situation, demand, pool, lacking))
    return short


def _unbalanced(
    situation: Situation, demand: Demand, pool: HugePool, lacking: list[tuple[int, int, int]]
) -> Finding:
    each = "; ".join(f"node {node}: {needed} needed, {free} free" for node, needed, free in lacking)
    return _finding(
        demand,
        "fail",
        f"pages of {size(pool.size)} on the wrong NUMA node: {each}",
        why="--numa-bind ties each rank to the memory of its GPU's node.",
        remedy="Reserve them on those nodes.",
        command="\n".join(node_lines(situation, demand, pool)),
    )


def memory_left(situation: Situation) -> Iterable[Finding] | None:
    """Whether pages that are still to be reserved fit into what is available."""
    found = sized(situation)
    if not found:
        return None
    if situation.system.huge_pools is None:
        return not_saved(situation, "huge_pools")
    available = situation.system.memory_available_bytes
    missing = sum(
        max(0, demand.pages - pool.available) * pool.size
        for demand in found
        if (pool := pool_of(situation, demand)) is not None
    )
    if not missing:
        return []
    if available is None:
        what = f"room for {size(missing)} more in HugeTLB pages could not be measured"
        field = "memory_available_bytes"
        return unread(situation, field, what, cause=KV_FLAG, source=found[0].source)
    if missing <= available:
        return []
    return [
        _finding(
            found[0],
            "fail",
            f"{size(missing)} more in HugeTLB pages needed, {size(available)} of memory available",
            why="Pages that memory has no room for cannot be reserved.",
            remedy="Free memory, take a host with more, or lower cpu_bytes_to_use_per_rank in "
            "--kv-transfer-config.",
        )
    ]


CHECKS = (
    Check(
        code="HUGETLB",
        subject="HugeTLB",
        about="free HugeTLB pages of the size that --kv-transfer-config asks for",
        run=pages_there,
    ),
    Check(
        code="HUGETLB_SIZE",
        subject="HugeTLB",
        about="the kernel has pages of the size asked for",
        run=page_size_supported,
    ),
    Check(
        code="HUGETLB_LIMIT",
        subject="HugeTLB",
        about="the control group's hugetlb limit",
        run=group_allows,
    ),
    Check(
        code="HUGETLB_NUMA",
        subject="HugeTLB",
        about="pages on each NUMA node, with --numa-bind",
        run=nodes_have_them,
    ),
    Check(
        code="HUGETLB_MEMORY",
        subject="HugeTLB",
        about="memory for the pages that are still to be reserved",
        run=memory_left,
    ),
)
