"""Host memory, shared memory, limits, NUMA."""

from __future__ import annotations

import pytest

from tests.preflight.build import (
    GIB,
    MIB,
    NIXL,
    Case,
    connector,
    only,
    situation,
    told,
    transfer,
    unread,
)
from vllm_launch.model.deployment import KvStorePlan
from vllm_launch.model.host import HostFacts, NumaNode
from vllm_launch.model.system import Cgroup, Filesystem
from vllm_launch.preflight.memory import pinned
from vllm_launch.preflight.units import as_bytes, size

SIMPLE = "-tp 4 " + transfer(
    **connector("SimpleCPUOffloadConnector", cpu_bytes_to_use_per_rank=220 * GIB)
)
OFFLOADING = "-tp 4 " + transfer(**connector("OffloadingConnector", cpu_bytes_to_use=512 * GIB))
STORE = "-tp 4 " + transfer(**connector("MooncakeStoreConnector"))
EMBEDDED = KvStorePlan(
    instances=1,
    master="mooncake_master -rpc_port=50051",
    mooncake_config={"global_segment_size": "100GB", "local_buffer_size": "4GB"},
    store_config=None,
)
TP2 = "--tensor-parallel-size 2"


def group(limit: int, used: int = 0) -> Cgroup:
    return Cgroup(version=2, memory_limit=limit, memory_used=used)


def shm(free: int) -> Filesystem:
    return Filesystem(path="/dev/shm", size=64 * GIB, free=free)


XEON = HostFacts(numa_nodes=tuple(NumaNode(node=n, cpus=8, memory_bytes=64 * GIB) for n in (0, 1)))

CASES = [
    Case(
        "CPU_MEMORY",
        "found",
        "vLLM's default of both nodes",
        situation(TP2, hardware="xeon6", facts=XEON, memory_available_bytes=100 * GIB),
        ["fail: 117.8 GiB of memory asked for (0.92 of 2 NUMA nodes), 100 GiB available"],
    ),
    Case(
        "CPU_MEMORY",
        "pass",
        "less of them",
        situation(
            f"{TP2} --gpu-memory-utilization 0.5",
            hardware="xeon6",
            facts=XEON,
            memory_available_bytes=100 * GIB,
        ),
        [],
    ),
    Case("CPU_MEMORY", "pass", "GPUs have their own", situation(TP2), None),
    Case(
        "CPU_MEMORY",
        "unknown",
        "not readable",
        situation(
            TP2,
            hardware="xeon6",
            facts=XEON,
            **unread("memory_available_bytes", reason="not readable"),
        ),
        ["note: what is available is not known: not readable"],
    ),
    Case("KV_HOST_RAM", "pass", "room for it", situation(SIMPLE), []),
    Case("KV_HOST_RAM", "pass", "nothing kept there", situation(TP2), None),
    Case(
        "KV_HOST_RAM",
        "pass",
        "a container of ours has its own group",
        situation(SIMPLE, runtime="docker", cgroup=group(GIB)),
        [],
    ),
    Case(
        "KV_HOST_RAM",
        "found",
        "too little",
        situation(SIMPLE, memory_available_bytes=800 * GIB),
        ["fail: 880 GiB of host memory needed, 800 GiB available"],
    ),
    Case(
        "KV_HOST_RAM",
        "found",
        "just enough",
        situation(SIMPLE, memory_available_bytes=900 * GIB),
        ["warn: 880 GiB of host memory needed, 900 GiB available"],
    ),
    Case(
        "KV_HOST_RAM",
        "found",
        "the group's limit",
        situation(SIMPLE, cgroup=group(1000 * GIB, used=200 * GIB)),
        ["fail: 880 GiB of host memory needed, 800 GiB left in the control group"],
    ),
    Case(
        "KV_HOST_RAM",
        "unknown",
        "no meminfo",
        situation(SIMPLE, **unread("memory_available_bytes", reason="not readable")),
        [
            "note: 880 GiB of host memory needed, what is available is not known: not readable",
        ],
    ),
    Case("SHM", "pass", "large", situation(TP2), []),
    Case("SHM", "pass", "one rank needs none", situation("", shm=shm(0)), None),
    Case(
        "SHM",
        "found",
        "docker's default",
        situation(TP2, shm=shm(64 * MIB)),
        ["fail: /dev/shm has 64 MiB free, 240 MiB needed for message queues"],
    ),
    Case(
        "SHM",
        "found",
        "small",
        situation(TP2, shm=shm(512 * MIB)),
        ["warn: /dev/shm has 512 MiB free, 1 GiB needed for message queues and NCCL"],
    ),
    Case(
        "SHM",
        "found",
        "KV cache in it",
        situation(OFFLOADING, shm=shm(500 * GIB)),
        ["fail: /dev/shm has 500 GiB free, 512 GiB needed for OffloadingConnector"],
    ),
    Case(
        "SHM",
        "found",
        "KV cache of one rank in it",
        situation(OFFLOADING.replace("-tp 4", "-tp 1"), shm=shm(500 * GIB)),
        ["fail: /dev/shm has 500 GiB free, 512 GiB needed for OffloadingConnector"],
    ),
    Case(
        "SHM",
        "pass",
        "KV cache of AMD ranks is in their own memory",
        situation(OFFLOADING, hardware="mi355x", shm=shm(500 * GIB)),
        [],
    ),
    Case(
        "SHM",
        "unknown",
        "not measured",
        situation(TP2, **unread("shm", reason="no answer in 4.2 s")),
        ["note: /dev/shm was not measured: no answer in 4.2 s"],
    ),
    Case("MEMLOCK", "pass", "root", situation(NIXL, memlock=8 * MIB), []),
    Case("MEMLOCK", "pass", "unlimited", situation(NIXL, capabilities=()), []),
    Case("MEMLOCK", "pass", "nothing is registered", situation(SIMPLE, memlock=0), None),
    Case(
        "MEMLOCK",
        "pass",
        "no RDMA",
        situation(NIXL, capabilities=(), memlock=0, rdma_devices=()),
        None,
    ),
    Case(
        "MEMLOCK",
        "pass",
        "as much as is registered",
        situation(STORE, store=EMBEDDED, capabilities=(), memlock=500 * GIB),
        [],
    ),
    Case(
        "MEMLOCK",
        "found",
        "NIXL",
        situation(NIXL, capabilities=(), memlock=8 * MIB),
        ["warn: ulimit -l is 8 MiB, unlimited needed by NixlConnector"],
    ),
    Case(
        "MEMLOCK",
        "found",
        "Mooncake's segment",
        situation(STORE, store=EMBEDDED, capabilities=(), memlock=8 * MIB),
        ["fail: ulimit -l is 8 MiB, 416 GiB needed by MooncakeStoreConnector"],
    ),
    Case(
        "MEMLOCK",
        "unknown",
        "not read",
        situation(NIXL, capabilities=None, memlock=None, unknown=(("memlock", "refused"),)),
        ["note: ulimit -l was not read: refused"],
    ),
    Case("NOFILE", "pass", "many", situation(""), []),
    Case("NOFILE", "pass", "unlimited", situation("", nofile=-1), []),
    Case("NOFILE", "pass", "in a container", situation("", runtime="docker"), None),
    Case(
        "NOFILE",
        "found",
        "few",
        situation("", nofile=1024),
        ["warn: 1024 open files allowed, 4096 needed at least"],
    ),
    Case(
        "NOFILE",
        "unknown",
        "not read",
        situation("", **unread("nofile")),
        ["note: ulimit -n was not read: permission denied"],
    ),
    Case("NUMA", "pass", "all is there", situation("--numa-bind"), []),
    Case("NUMA", "pass", "not asked for", situation("", numactl=False), None),
    Case(
        "NUMA", "pass", "switched off", situation("--numa-bind --no-numa-bind", numactl=False), None
    ),
    Case(
        "NUMA",
        "pass",
        "nodes are named",
        situation("--numa-bind --numa-bind-nodes 0", numa_nodes=(0,), cpus_restricted=True),
        [],
    ),
    Case(
        "NUMA",
        "found",
        "one node",
        situation("--numa-bind", numa_nodes=(0,)),
        ["fail: --numa-bind is given, and this machine has one NUMA node"],
    ),
    Case(
        "NUMA",
        "found",
        "bound already",
        situation("--numa-bind", cpus_restricted=True),
        ["fail: --numa-bind is given, and this process may run on some CPUs only"],
    ),
    Case(
        "NUMA",
        "found",
        "no numactl, no leave",
        situation("--numa-bind", numactl=False, memory_policy=False),
        [
            "fail: --numa-bind is given, and numactl is not on PATH",
            "warn: --numa-bind is given, and no memory policy may be set here",
        ],
    ),
    Case(
        "NUMA",
        "unknown",
        "not read",
        situation("--numa-bind", **unread("numa_nodes", "memory_policy")),
        [
            "note: NUMA nodes were not read: permission denied",
            "note: no memory policy was tried: permission denied",
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


@pytest.mark.parametrize(
    ("command", "total"),
    [
        (SIMPLE, 880 * GIB),
        (OFFLOADING, 512 * GIB),
        (f"--data-parallel-size 2 {OFFLOADING}", 1024 * GIB),
        ("-tp 4 --kv-offloading-size 100", 100 * GIB),
        ("-tp 4 --kv-offloading-size 100 --kv-offloading-backend lmcache", 0),
        ("-tp 4 --cpu-offload-gb 8", 32 * GIB),
        (f"--cpu-offload-gb 1 {SIMPLE}", 884 * GIB),
        ("-tp 4 " + transfer(**connector("SimpleCPUOffloadConnector")), 8 * GIB),
        (f"-tp 16 --nnodes 2 {OFFLOADING.removeprefix('-tp 4 ')}", 256 * GIB),
        ("-tp 4 " + transfer(**connector("OffloadingConnector")), 0),
        ("--cpu-offload-gb much", 0),
        (NIXL, 0),
    ],
)  # fmt: skip
def test_bytes_on_this_node(command: str, total: int) -> None:
    assert sum(part.total for part in pinned(situation(command))) == total


def test_a_store_lends_memory_of_each_gpu() -> None:
    (part,) = pinned(situation(STORE, store=EMBEDDED))
    assert (part.total, part.locked) == (4 * 104 * GIB, True)
    standalone = EMBEDDED.replace(mooncake_config={"global_segment_size": 0})
    assert pinned(situation(STORE, store=standalone)) == []
    assert pinned(situation(STORE)) == []


def test_who_takes_the_memory() -> None:
    plan = situation(f"--cpu-offload-gb 1 {SIMPLE}", memory_available_bytes=GIB)
    one = only(plan, "KV_HOST_RAM")
    assert one.why.startswith(
        "The plan keeps in host memory: 880 GiB for SimpleCPUOffloadConnector, 4 GiB for weights "
    )
    assert one.cause == "--kv-transfer-config"


def test_how_to_enlarge_shared_memory() -> None:
    one = only(situation(OFFLOADING, shm=shm(GIB)), "SHM")
    assert one.command == "sudo mount -o remount,size=513G /dev/shm"
    assert "--shm-size 513g" in one.remedy


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (5, 5),
        (5.5, 5),
        ("5", 5),
        ("1K", 1024),
        ("1k", 1000),
        ("1KB", 1024),
        ("1KiB", 1024),
        ("1.5G", 3 * GIB // 2),
        ("100GB", 100 * GIB),
        ("80g", 80 * 10**9),
        ("", None),
        ("many", None),
        ("G", None),
        (None, None),
        (True, None),
    ],
)
def test_bytes_as_written(text: object, number: int | None) -> None:
    assert as_bytes(text) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (5 * MIB, "5 MiB"),
        (601295421440, "560 GiB"),
        (2240 * GIB, "2240 GiB"),
    ],
)
def test_bytes_as_told(number: int, text: str) -> None:
    assert size(number) == text
