"""HugeTLB pages: of a tree of files, and of this very kernel."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.preflight.build import connector, situation, told, transfer
from tests.system.conftest import Tree
from vllm_launch.host.system import read_system
from vllm_launch.host.system.memory import huge_pools
from vllm_launch.model.system import HugePool, SystemFacts, Wanted

POOLS = Path("/sys/kernel/mm/hugepages")
MIB, GIB = 1 << 20, 1 << 30
WANTED = Wanted(huge_pages=True, memory=False)
MAP_HUGETLB, HUGE_SHIFT = 0x40000, 26


def pool(kilobytes: int, total: int, free: int, **more: int) -> dict[str, str]:
    """One pool's files, all of it on node 0."""
    name = f"hugepages-{kilobytes}kB"
    node = f"sys/devices/system/node/node0/hugepages/{name}"
    values = {"nr_hugepages": total, "free_hugepages": free, **more}
    return {
        **{f"sys/kernel/mm/hugepages/{name}/{key}": f"{value}\n" for key, value in values.items()},
        f"{node}/nr_hugepages": f"{total}\n",
        f"{node}/free_hugepages": f"{free}\n",
    }


def test_pools_of_a_tree(tree: Tree) -> None:
    root = tree(
        {
            **pool(1048576, 4, 3, resv_hugepages=1),
            **pool(2048, 10, 10, nr_overcommit_hugepages=8, surplus_hugepages=3),
        }
    )
    assert huge_pools(root)["huge_pools"] == (
        HugePool(size=GIB, total=4, free=3, reserved=1, nodes=((0, 4, 3),)),
        HugePool(size=2 * MIB, total=10, free=10, overcommit=5, nodes=((0, 10, 10),)),
    )
    assert read_system(WANTED, root).huge_pools == huge_pools(root)["huge_pools"]


def test_a_kernel_without_huge_pages(tree: Tree) -> None:
    assert read_system(WANTED, tree({"sys/kernel/mm/": ""})).huge_pools == ()


def test_no_sysfs(tree: Tree) -> None:
    facts = read_system(WANTED, tree({"proc/": ""}))
    assert facts.huge_pools is None
    assert facts.why_unknown("huge_pools") == "/sys/kernel/mm is not there"


def test_a_pool_that_cannot_be_read(tree: Tree) -> None:
    facts = read_system(WANTED, tree({"sys/kernel/mm/hugepages/hugepages-2048kB/": ""}))
    assert facts.huge_pools is None
    assert facts.why_unknown("huge_pools").endswith("hugepages-2048kB cannot be read")


def plan(page: int, pages: int, facts: SystemFacts) -> list[str] | None:
    """What the check says of a plan for so many pages."""
    config = connector(
        "SimpleCPUOffloadConnector",
        cpu_bytes_to_use_per_rank=pages * page,
        cpu_hugepage_block_size=page,
    )
    return told(situation(transfer(**config), system=facts), "HUGETLB")


def shown(page: int) -> str:
    return "1 GiB" if page == GIB else "2 MiB"


Reserve = Callable[[int, int], int]


@pytest.fixture
def reserve() -> Iterator[Reserve]:
    """Ask the kernel for pages; what it gives is counted, and what was there is put back."""
    before: dict[Path, int] = {}

    def ask(page: int, pages: int) -> int:
        file = POOLS / f"hugepages-{page // 1024}kB" / "nr_hugepages"
        there = int(file.read_text())
        file.write_text(str(there + pages))
        before.setdefault(file, there)  # to be put back, now that it may be changed
        return int(file.read_text()) - there

    with _turn():
        yield ask
        for file, pages in before.items():
            file.write_text(str(pages))
            assert int(file.read_text()) == pages


@contextmanager
def _turn() -> Iterator[None]:
    """Have the machine's pages for oneself, whatever other tests run on it."""
    if not POOLS.exists():
        yield
        return
    pools = os.open(POOLS, os.O_RDONLY)
    try:
        fcntl.flock(pools, fcntl.LOCK_EX)
        yield
    finally:
        os.close(pools)


def of_size(facts: SystemFacts, page: int) -> HugePool:
    assert facts.huge_pools is not None
    return next(one for one in facts.huge_pools if one.size == page)


PAGES = [(2 * MIB, 3), (GIB, 1)]
IDS = ["2MiB", "1GiB"]


def supports(page: int) -> bool:
    return (POOLS / f"hugepages-{page // 1024}kB").is_dir()


@pytest.mark.parametrize(("page", "wanted"), PAGES, ids=IDS)
def test_this_kernel(page: int, wanted: int, reserve: Reserve) -> None:
    """Fail, reserve, pass, give back, fail: or, where the kernel refuses, say so."""
    start = read_system(WANTED)
    if not supports(page):
        _refused_size(start, page)
        return
    there = of_size(start, page).available
    needed = there + wanted
    short = f"fail: {needed} pages of {shown(page)} needed (1 rank × {needed}), {there} available"
    if of_size(start, page).overcommit < wanted:
        assert plan(page, needed, start) == [short]
    try:
        given = reserve(page, wanted)
    except PermissionError:
        assert os.geteuid() != 0 or not os.access(POOLS, os.W_OK)
        assert of_size(read_system(WANTED), page).total == of_size(start, page).total
        return
    after = read_system(WANTED)
    assert of_size(after, page).total == of_size(start, page).total + given
    assert of_size(after, page).available == there + given
    if given == wanted:
        assert plan(page, needed, after) == []
    else:  # memory is too short or too fragmented: what was refused is what is told
        assert plan(page, needed, after) == [
            short.replace(f"{there} available", f"{there + given} available")
        ]


def _refused_size(facts: SystemFacts, page: int) -> None:
    """A kernel or a CPU without pages of this size: the check names those that there are."""
    config = connector("SimpleCPUOffloadConnector", cpu_hugepage_block_size=page)
    (line,) = told(situation(transfer(**config), system=facts), "HUGETLB_SIZE") or [""]
    assert line.startswith(f"fail: pages of {shown(page)} needed, this kernel has ")


def test_pages_that_are_promised_are_not_available(reserve: Reserve) -> None:
    """A mapping that nobody has touched yet leaves its pages free, and reserved."""
    page = 2 * MIB
    if not supports(page):
        _refused_size(read_system(WANTED), page)
        return
    try:
        given = reserve(page, 2)
    except PermissionError:
        assert os.geteuid() != 0
        return
    before = of_size(read_system(WANTED), page)
    if not given:
        assert before.available == 0
        return
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB | (21 << HUGE_SHIFT)
    with mmap.mmap(-1, page, flags=flags) as mapping:
        promised = of_size(read_system(WANTED), page)
        assert (promised.free, promised.reserved) == (before.free, before.reserved + 1)
        assert promised.available == before.available - 1
        mapping[0] = 1
        taken = of_size(read_system(WANTED), page)
        assert (taken.free, taken.reserved) == (before.free - 1, before.reserved)
        assert taken.available == before.available - 1
    assert of_size(read_system(WANTED), page).available == before.available
