"""Limits of control groups, as trees of files."""

from __future__ import annotations

import pytest

from tests.preflight.build import connector, situation, told, transfer
from tests.system.conftest import Tree
from vllm_launch.host.system import read_system
from vllm_launch.model.system import Cgroup, Wanted

GIB, MIB = 1 << 30, 1 << 20
V2 = {"sys/fs/cgroup/cgroup.controllers": "cpu memory hugetlb\n"}
JOB = "sys/fs/cgroup/system.slice/job"
NO_LIMIT_V1 = "9223372036854771712\n"


def read(root: str) -> Cgroup | None:
    return read_system(Wanted(), root).cgroup


def test_version_2_the_tightest_counts(tree: Tree) -> None:
    root = tree(
        {
            **V2,
            "proc/self/cgroup": "0::/system.slice/job\n",
            f"{JOB}/memory.max": "max\n",
            f"{JOB}/memory.current": f"{3 * GIB}\n",
            f"{JOB}/hugetlb.1GB.max": f"{8 * GIB}\n",
            f"{JOB}/hugetlb.1GB.current": "0\n",
            f"{JOB}/hugetlb.1GB.rsvd.max": f"{6 * GIB}\n",
            f"{JOB}/hugetlb.1GB.rsvd.current": f"{GIB}\n",
            f"{JOB}/hugetlb.2MB.max": "max\n",
            "sys/fs/cgroup/system.slice/memory.max": f"{20 * GIB}\n",
            "sys/fs/cgroup/system.slice/memory.current": f"{10 * GIB}\n",
            "sys/fs/cgroup/system.slice/memory.stat": f"anon 5\ninactive_file {4 * GIB}\n",
            "sys/fs/cgroup/system.slice/hugetlb.1GB.max": "max\n",
        }
    )
    assert read(root) == Cgroup(
        version=2,
        memory_limit=20 * GIB,
        memory_used=6 * GIB,
        hugetlb=((GIB, 6 * GIB, GIB),),
        path="/sys/fs/cgroup/system.slice/job",
    )


def test_version_2_inside_a_container(tree: Tree) -> None:
    """The path is the host's, and only the mount is there."""
    root = tree(
        {
            **V2,
            "proc/self/cgroup": "0::/../../kubepods/pod1\n",
            "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
            "sys/fs/cgroup/memory.current": f"{GIB}\n",
            "sys/fs/cgroup/hugetlb.1GB.max": "0\n",
            "sys/fs/cgroup/hugetlb.1GB.current": "0\n",
        }
    )
    assert read(root) == Cgroup(
        version=2,
        memory_limit=4 * GIB,
        memory_used=GIB,
        hugetlb=((GIB, 0, 0),),
        path="/sys/fs/cgroup",
    )


def test_version_1(tree: Tree) -> None:
    memory, huge = "sys/fs/cgroup/memory/job", "sys/fs/cgroup/hugetlb/job"
    root = tree(
        {
            "proc/self/cgroup": "9:name=systemd:/\n5:hugetlb:/job\n4:cpu,memory:/job\n0::/\n",
            f"{memory}/memory.limit_in_bytes": f"{8 * GIB}\n",
            f"{memory}/memory.usage_in_bytes": f"{3 * GIB}\n",
            f"{memory}/memory.stat": f"cache 1\ntotal_inactive_file {GIB}\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": NO_LIMIT_V1,
            f"{huge}/hugetlb.1GB.limit_in_bytes": f"{2 * GIB}\n",
            f"{huge}/hugetlb.1GB.usage_in_bytes": f"{GIB}\n",
            f"{huge}/hugetlb.2MB.limit_in_bytes": NO_LIMIT_V1,
            f"{huge}/hugetlb.2MB.rsvd.limit_in_bytes": f"{GIB}\n",
            f"{huge}/hugetlb.2MB.rsvd.usage_in_bytes": f"{MIB}\n",
        }
    )
    assert read(root) == Cgroup(
        version=1,
        memory_limit=8 * GIB,
        memory_used=2 * GIB,
        hugetlb=((2 * MIB, GIB, MIB), (GIB, 2 * GIB, GIB)),
        path="/sys/fs/cgroup/hugetlb/job",
    )


def test_no_limit_at_all(tree: Tree) -> None:
    root = tree({**V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.stat": "anon 1\n"})
    assert read(root) == Cgroup(version=2, path="/sys/fs/cgroup")


@pytest.mark.parametrize("files", [{}, {"proc/self/cgroup": "0::/\n"}])
def test_none_mounted(tree: Tree, files: dict[str, str]) -> None:
    facts = read_system(Wanted(), tree(files))
    assert facts.cgroup is None
    assert facts.why_unknown("cgroup") == "no control groups are mounted under /sys/fs/cgroup"


def test_this_machine() -> None:
    facts = read_system(Wanted())
    assert facts.cgroup is not None or facts.why_unknown("cgroup")


def test_a_limit_stops_the_plan(tree: Tree) -> None:
    """From files to finding: 2 GiB allowed, 4 GiB of pages planned."""
    root = tree(
        {
            **V2,
            "proc/self/cgroup": "0::/job\n",
            "sys/fs/cgroup/job/hugetlb.1GB.max": f"{2 * GIB}\n",
            "sys/fs/cgroup/job/hugetlb.1GB.current": "0\n",
        }
    )
    config = connector(
        "SimpleCPUOffloadConnector",
        cpu_bytes_to_use_per_rank=4 * GIB,
        cpu_hugepage_block_size="1GB",
    )
    plan = situation(transfer(**config), system=read_system(Wanted(huge_pages=True), root))
    assert told(plan, "HUGETLB_LIMIT") == [
        "fail: 4 GiB of HugeTLB pages needed, the control group allows 2 GiB and uses 0 bytes"
    ]
