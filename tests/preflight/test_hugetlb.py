"""HugeTLB pages: how many, of which size, where, and what may use them."""

from __future__ import annotations

import pytest

from tests.preflight.build import (
    GIB,
    MIB,
    Case,
    amd_gpu,
    amd_host,
    connector,
    only,
    process,
    situation,
    told,
    transfer,
    unread,
)
from vllm_launch.model.system import Cgroup, HugePool
from vllm_launch.preflight.hugepages import demands
from vllm_launch.preflight.units import page_size

PER_RANK = 601295421440  # 560 GiB


def offload(page: str | int = "1GB", per_rank: int = PER_RANK) -> str:
    """The prefill node's connectors of MiniMax-M3.1-Flash on MI355X."""
    simple = connector(
        "SimpleCPUOffloadConnector",
        cpu_bytes_to_use_per_rank=per_rank,
        cpu_hugepage_block_size=page,
        lazy_offload=False,
    )
    nixl = connector("NixlConnector", "kv_producer", num_threads=4)
    multi = connector("MultiConnector", connectors=[nixl, simple])
    return f"--tensor-parallel-size 4 {transfer(**multi)}"


def pool(free: int, size: int = GIB, **fields: int) -> HugePool:
    """A pool on two NUMA nodes, all of it on the first."""
    total = fields.pop("total", free)
    nodes = ((0, total, free), (1, 0, 0))
    return HugePool(size=size, total=total, free=free, nodes=nodes, **fields)


def pools(free: int, **fields: int) -> tuple[HugePool, ...]:
    return (pool(free, **fields), HugePool(size=2 * MIB, total=0, free=0))


def limited(limit: int, used: int = 0) -> Cgroup:
    return Cgroup(version=2, hugetlb=((GIB, limit, used),), path="/sys/fs/cgroup/job")


SPLIT = (HugePool(size=GIB, total=2240, free=2240, nodes=((0, 1680, 1680), (1, 560, 560))),)
EVEN = (HugePool(size=GIB, total=2240, free=2240, nodes=((0, 1120, 1120), (1, 1120, 1120))),)
ON_TWO_NODES = amd_host(*(amd_gpu(i, numa_node=i // 2) for i in range(4)))
BOUND = f"--numa-bind {offload()}"

CASES = [
    Case("HUGETLB", "pass", "enough", situation(offload(), huge_pools=pools(2240)), []),
    Case("HUGETLB", "pass", "nothing asked for", situation("--port 8000"), None),
    Case(
        "HUGETLB",
        "found",
        "none",
        situation(offload(), huge_pools=pools(0)),
        ["fail: 2240 pages of 1 GiB needed (4 ranks × 560), 0 available"],
    ),
    Case(
        "HUGETLB",
        "found",
        "one short",
        situation(offload(), huge_pools=pools(2239)),
        ["fail: 2240 pages of 1 GiB needed (4 ranks × 560), 2239 available"],
    ),
    Case(
        "HUGETLB",
        "found",
        "free but promised",
        situation(offload(), huge_pools=pools(2300, reserved=100)),
        ["fail: 2240 pages of 1 GiB needed (4 ranks × 560), 2200 available (100 reserved)"],
    ),
    Case(
        "HUGETLB",
        "found",
        "the kernel may add some",
        situation(
            offload("2MB", 3 * MIB),
            huge_pools=(HugePool(size=2 * MIB, total=1, free=1, overcommit=100),),
        ),
        [
            "warn: 8 pages of 2 MiB needed (4 ranks × 2), 1 available, and the kernel may add 100",
        ],
    ),
    Case(
        "HUGETLB",
        "unknown",
        "no sysfs",
        situation(offload(), **unread("huge_pools", reason="/sys/kernel/mm is not there")),
        ["note: HugeTLB pages could not be counted: /sys/kernel/mm is not there"],
    ),
    Case("HUGETLB_SIZE", "pass", "there", situation(offload()), []),
    Case(
        "HUGETLB_SIZE",
        "found",
        "not of this kernel",
        situation(offload("512MB")),
        ["fail: pages of 512 MiB needed, this kernel has 1 GiB, 2 MiB"],
    ),
    Case(
        "HUGETLB_SIZE",
        "found",
        "no size at all",
        situation(offload("huge")),
        ['fail: cpu_hugepage_block_size "huge" is no page size'],
    ),
    Case(
        "HUGETLB_SIZE",
        "found",
        "kernel without any",
        situation(offload(), huge_pools=()),
        ["fail: pages of 1 GiB needed, this kernel has none"],
    ),
    Case("HUGETLB_SIZE", "unknown", "no sysfs", situation(offload(), huge_pools=None), None),
    Case("HUGETLB_LIMIT", "pass", "no limit", situation(offload()), []),
    Case("HUGETLB_LIMIT", "pass", "large", situation(offload(), cgroup=limited(2240 * GIB)), []),
    Case(
        "HUGETLB_LIMIT",
        "pass",
        "a container of ours has its own group",
        situation(offload(), runtime="docker", cgroup=limited(0)),
        None,
    ),
    Case(
        "HUGETLB_LIMIT",
        "found",
        "too low",
        situation(offload(), cgroup=limited(2240 * GIB, used=GIB)),
        [
            (
                "fail: 2240 GiB of HugeTLB pages needed, the control group allows 2240 GiB and "
                "uses 1 GiB"
            ),
        ],
    ),
    Case(
        "HUGETLB_LIMIT",
        "unknown",
        "no control groups",
        situation(offload(), **unread("cgroup")),
        ["note: the control group's hugetlb limit could not be read: permission denied"],
    ),
    Case(
        "HUGETLB_NUMA",
        "pass",
        "where the ranks are",
        situation(BOUND, hardware="mi355x", facts=ON_TWO_NODES, huge_pools=EVEN),
        [],
    ),
    Case("HUGETLB_NUMA", "pass", "not bound", situation(offload(), huge_pools=SPLIT), None),
    Case(
        "HUGETLB_NUMA",
        "found",
        "on the wrong node",
        situation(BOUND, hardware="mi355x", facts=ON_TWO_NODES, huge_pools=SPLIT),
        ["fail: pages of 1 GiB on the wrong NUMA node: node 1: 1120 needed, 560 free"],
    ),
    Case(
        "HUGETLB_NUMA",
        "unknown",
        "GPUs whose node is not known",
        situation(BOUND, huge_pools=SPLIT),
        [
            (
                "note: pages of each NUMA node could not be compared: the GPUs' NUMA nodes are not "
                "known"
            ),
        ],
    ),
    Case(
        "HUGETLB_MEMORY",
        "pass",
        "fits",
        situation(offload(), huge_pools=pools(0), memory_available_bytes=2300 * GIB),
        [],
    ),
    Case(
        "HUGETLB_MEMORY",
        "pass",
        "all reserved",
        situation(offload(), memory_available_bytes=GIB),
        [],
    ),
    Case(
        "HUGETLB_MEMORY",
        "found",
        "too little",
        situation(offload(), huge_pools=pools(240), memory_available_bytes=1500 * GIB),
        ["fail: 2000 GiB more in HugeTLB pages needed, 1500 GiB of memory available"],
    ),
    Case(
        "HUGETLB_MEMORY",
        "unknown",
        "no meminfo",
        situation(offload(), huge_pools=pools(240), **unread("memory_available_bytes")),
        [
            (
                "note: room for 2000 GiB more in HugeTLB pages could not be measured: "
                "permission denied"
            ),
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


def test_the_line_that_reserves_them() -> None:
    one = only(situation(offload(), huge_pools=(HugePool(size=GIB, total=0, free=0),)), "HUGETLB")
    path = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"
    assert one.command == f"echo 2240 | sudo tee {path}"
    assert one.cause == "--kv-transfer-config"
    assert str(one.source) == "recipe.yaml:7  model.base_args"
    assert one.why == (
        "SimpleCPUOffloadConnector maps 560 GiB a rank in HugeTLB pages "
        '(cpu_hugepage_block_size "1GB"); without them the server stops while it starts.'
    )
    assert one.remedy == (
        "Reserve them on the host, and read the number back: the kernel gives what it can. "
        "Where memory is too fragmented for that, boot with hugepagesz=1G hugepages=2240."
    )


def test_pages_of_others_stay_theirs() -> None:
    used = HugePool(size=GIB, total=500, free=100, reserved=40)
    assert only(situation(offload(), huge_pools=(used,)), "HUGETLB").command.startswith(
        "echo 2680 | "
    )


def test_two_nodes_get_half_each() -> None:
    remedy = only(situation(offload(), huge_pools=pools(0)), "HUGETLB").remedy
    path = "/sys/devices/system/node/node{}/hugepages/hugepages-1048576kB/nr_hugepages"
    lines = "; ".join(f"echo 1120 | sudo tee {path.format(node)}" for node in (0, 1))
    assert remedy.endswith(f"Split over the NUMA nodes: {lines}.")


def test_bound_ranks_get_them_on_their_own_node() -> None:
    there = (HugePool(size=GIB, total=100, free=0, nodes=((0, 100, 0), (1, 0, 0))),)
    first = amd_host(*(amd_gpu(i, numa_node=1) for i in range(4)))
    plan = situation(BOUND, hardware="mi355x", facts=first, huge_pools=there)
    path = "/sys/devices/system/node/node{}/hugepages/hugepages-1048576kB/nr_hugepages"
    assert only(plan, "HUGETLB").command.splitlines() == [
        f"echo 100 | sudo tee {path.format(0)}",
        f"echo 2240 | sudo tee {path.format(1)}",
    ]


def test_nodes_that_are_named_are_those_that_count() -> None:
    bound = f"--numa-bind --numa-bind-nodes 0 0 0 1 {offload()}"
    assert told(situation(bound, huge_pools=SPLIT), "HUGETLB_NUMA") == []
    assert told(situation(bound, huge_pools=EVEN), "HUGETLB_NUMA") == [
        "fail: pages of 1 GiB on the wrong NUMA node: node 0: 1680 needed, 1120 free"
    ]


def test_inside_a_container_the_host_is_meant() -> None:
    plan = situation(offload(), huge_pools=pools(0), in_container=True)
    assert only(plan, "HUGETLB").remedy.startswith(
        "Reserve them on the host, not in this container, and"
    )


def test_a_container_of_ours_needs_its_limit() -> None:
    plan = situation(offload(), huge_pools=pools(0), runtime="docker")
    assert only(plan, "HUGETLB").remedy.endswith(
        "The container's hugetlb limit, where one is set, must allow as much."
    )


def test_the_limits_file() -> None:
    one = only(situation(offload(), cgroup=limited(GIB)), "HUGETLB_LIMIT")
    assert one.command == "echo 2405181685760 | sudo tee /sys/fs/cgroup/job/hugetlb.1GB.max"
    old = Cgroup(version=1, hugetlb=((2 * MIB, MIB, 0),), path="/sys/fs/cgroup/hugetlb/job")
    one = only(situation(offload("2MB", 2 * MIB), cgroup=old), "HUGETLB_LIMIT")
    assert one.command == (
        "echo 8388608 | sudo tee /sys/fs/cgroup/hugetlb/job/hugetlb.2MB.limit_in_bytes"
    )


@pytest.mark.parametrize(
    ("command", "pages", "ranks"),
    [
        ("--tensor-parallel-size 4", 560, 4),
        ("-tp 4", 560, 4),
        ("-tp=4", 560, 4),
        ("--tensor-parallel-size=4 --pipeline-parallel-size=2", 560, 8),
        ("--data-parallel-size 16 --data-parallel-size-local 8", 560, 8),
        ("--data-parallel-size 4 -tp 2", 560, 8),
        ("--data-parallel-size 4 --data-parallel-rank 1 -tp 2", 560, 2),
        ("--tensor-parallel-size 16 --nnodes 2 --node-rank 1", 560, 8),
        ("", 560, 1),
    ],
)
def test_ranks_on_this_node(command: str, pages: int, ranks: int) -> None:
    simple = offload().removeprefix("--tensor-parallel-size 4 ")
    (demand,) = demands(situation(f"{command} {simple}"))
    assert (demand.pages_per_rank, demand.ranks) == (pages, ranks)


@pytest.mark.parametrize(
    ("extra", "per_rank"),
    [
        ({"cpu_bytes_to_use": 8 * GIB}, 2 * GIB),  # for all ranks together
        ({}, 2 * GIB),  # the connector's default
        ({"cpu_bytes_to_use": GIB, "cpu_bytes_to_use_per_rank": 3 * GIB}, 3 * GIB),
        ({"cpu_bytes_to_use_per_rank": "3G"}, 3 * GIB),
    ],
)
def test_bytes_of_a_rank(extra: dict[str, object], per_rank: int) -> None:
    config = connector("SimpleCPUOffloadConnector", cpu_hugepage_block_size="1GB", **extra)
    (demand,) = demands(situation(f"-tp 4 {transfer(**config)}"))
    assert demand.bytes_per_rank == per_rank


def test_each_mapping_takes_whole_pages() -> None:
    (demand,) = demands(situation(offload("1GB", GIB + 1)))
    assert (demand.pages_per_rank, demand.pages) == (2, 8)


def test_numbers_as_vllm_writes_them() -> None:
    text = (
        '{"kv_connector":"SimpleCPUOffloadConnector","kv_connector_extra_config":'
        '{"cpu_bytes_to_use_per_rank":4G,"cpu_hugepage_block_size":"2MB"}}'
    )
    plan = situation(["--kv-transfer-config", text])
    assert [(d.bytes_per_rank, d.pages) for d in demands(plan)] == [(4 * GIB, 2048)]


def test_keys_given_one_by_one() -> None:
    flag = "--kv-transfer-config"
    extra = f"{flag}.kv_connector_extra_config"
    plan = situation(
        f"{flag}.kv_connector SimpleCPUOffloadConnector "
        f"{extra}.cpu_bytes_to_use_per_rank 4294967296 {extra}.cpu_hugepage_block_size 1GB"
    )
    assert [(d.connector, d.pages) for d in demands(plan)] == [("SimpleCPUOffloadConnector", 4)]


def test_broken_json_demands_nothing() -> None:
    assert demands(situation(["--kv-transfer-config", '{"kv_connector":'])) == []
    assert demands(situation(["--kv-transfer-config", "[" * 100_000])) == []


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1GB", GIB),
        ("1G", GIB),
        ("1GiB", GIB),
        ("1 GB", GIB),
        ("1gb", GIB),
        ("1048576kB", GIB),
        ("2MB", 2 * MIB),
        ("2mib", 2 * MIB),
        ("512M", 512 * MIB),
        ("16GB", 16 * GIB),
        ("64kB", 64 << 10),
        ("2097152", 2 * MIB),
        (2097152, 2 * MIB),
        ("", None),
        ("GB", None),
        ("0GB", None),
        ("-1GB", None),
        ("1.5GB", None),
        ("huge", None),
        (True, None),
        (None, None),
        (0, None),
    ],
)
def test_page_sizes(text: object, size: int | None) -> None:
    assert page_size(text) == size


def test_other_processes_of_the_deployment_do_not_count() -> None:
    decode = process(offload(), role="decode")
    plan = situation("--port 8100", role="prefill", deploy_type="pd_cluster", others=[decode])
    assert demands(plan) == []
