"""Resource limits, really lowered; capabilities; shared memory; NUMA."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.preflight.build import NIXL, situation, told
from tests.system.conftest import Tree
from vllm_launch.host.system import read_system
from vllm_launch.host.system.numa import nodes
from vllm_launch.model.system import UNLIMITED, Wanted

LOWERED = """
import json, resource, sys
from vllm_launch.host.system import read_system
from vllm_launch.model.system import Wanted
for name, figure in json.loads(sys.argv[1]).items():
    resource.setrlimit(getattr(resource, name), (figure, figure))
facts = read_system(Wanted(limits=True))
print(json.dumps([facts.memlock, facts.nofile]))
"""
LIMITS = Wanted(limits=True, memory=False)


def lowered(**limits: int) -> list[int]:
    """What a process reads whose limits are these."""
    done = subprocess.run(
        [sys.executable, "-c", LOWERED, json.dumps(limits)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[int] = json.loads(done.stdout)
    return found


def test_limits_that_are_really_lowered() -> None:
    memlock, nofile = lowered(RLIMIT_MEMLOCK=65536, RLIMIT_NOFILE=256)
    assert (memlock, nofile) == (65536, 256)
    plan = situation(NIXL, capabilities=(), memlock=memlock, nofile=nofile)
    assert told(plan, "MEMLOCK") == ["warn: ulimit -l is 64 KiB, unlimited needed by NixlConnector"]
    assert told(plan, "NOFILE") == ["warn: 256 open files allowed, 4096 needed at least"]


def test_limits_of_this_process() -> None:
    import resource

    facts = read_system(LIMITS)
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert facts.memlock == (UNLIMITED if soft == resource.RLIM_INFINITY else soft)
    assert facts.nofile == (UNLIMITED if hard == resource.RLIM_INFINITY else hard)


@pytest.mark.parametrize(
    ("bits", "held"),
    [
        ("000001ffffffffff", ("IPC_LOCK", "SYS_NICE")),
        ("0000000000004000", ("IPC_LOCK",)),
        ("0000000000800000", ("SYS_NICE",)),
        ("0000000000000000", ()),
    ],
)
def test_capabilities(tree: Tree, bits: str, held: tuple[str, ...]) -> None:
    root = tree({"proc/self/status": f"Name:\tx\nCapEff:\t{bits}\n"})
    assert read_system(LIMITS, root).capabilities == held


def test_capabilities_of_this_process() -> None:
    held = read_system(LIMITS).capabilities
    assert held is not None
    line = next(
        one for one in Path("/proc/self/status").read_text().splitlines() if "CapEff" in one
    )
    assert ("IPC_LOCK" in held) is bool(int(line.split()[1], 16) >> 14 & 1)


def test_no_proc(tree: Tree) -> None:
    facts = read_system(LIMITS, tree({}))
    assert facts.capabilities is None
    assert facts.why_unknown("capabilities") == "/proc/self/status does not say CapEff"


@pytest.mark.parametrize(
    ("files", "environ", "inside"),
    [
        ({}, {}, False),
        ({".dockerenv": ""}, {}, True),
        ({"run/.containerenv": ""}, {}, True),
        ({"proc/1/cgroup": "0::/kubepods/pod1\n"}, {}, True),
        ({"proc/1/cgroup": "0::/init.scope\n"}, {}, False),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True),
    ],
)
def test_containers(
    tree: Tree, files: dict[str, str], environ: dict[str, str], inside: bool
) -> None:
    assert read_system(Wanted(memory=False), tree(files), environ).in_container is inside


def test_memory(tree: Tree) -> None:
    root = tree({"proc/meminfo": "MemTotal: 2048 kB\nMemAvailable: 1024 kB\n", "dev/shm/": ""})
    facts = read_system(Wanted(), root)
    assert (facts.memory_bytes, facts.memory_available_bytes) == (2 << 20, 1 << 20)
    figures = os.statvfs(root)
    assert facts.shm is not None
    assert (facts.shm.path, facts.shm.size) == ("/dev/shm", figures.f_blocks * figures.f_frsize)


def test_memory_that_cannot_be_read(tree: Tree) -> None:
    facts = read_system(Wanted(), tree({"proc/meminfo": "MemTotal: 2048 kB\n"}))
    assert facts.memory_available_bytes is None
    assert facts.why_unknown("memory_available_bytes") == "/proc/meminfo does not say MemAvailable"
    assert facts.why_unknown("shm") == "No such file or directory"


NUMA = Wanted(numa=True, memory=False)


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"sys/devices/system/node/has_memory": "0-1\n"}, (0, 1)),
        ({"sys/devices/system/node/has_memory": "0,2-3\n"}, (0, 2, 3)),
        ({"sys/devices/system/node/node0/": "", "sys/devices/system/node/node1/": ""}, (0, 1)),
        ({"sys/devices/system/node/has_memory": "0\n"}, (0,)),
    ],
)
def test_numa_nodes(tree: Tree, files: dict[str, str], found: tuple[int, ...]) -> None:
    assert nodes(tree(files)) == {"numa_nodes": found}


def test_binding_on_this_machine() -> None:
    """The policy is really set, in the child alone."""
    facts = read_system(NUMA)
    assert facts.memory_policy is not None or facts.why_unknown("memory_policy")
    assert facts.cpus_restricted is (os.sched_getaffinity(0) != set(range(os.cpu_count() or 1)))
    before = Path("/proc/self/numa_maps")
    if before.exists():
        assert "bind" not in before.read_text()


def test_numactl_is_looked_for_on_path(tree: Tree) -> None:
    root = tree({"opt/bin/numactl": "#!/bin/sh\n", "sys/devices/system/node/node0/": ""})
    assert read_system(NUMA, root, {"PATH": "/usr/bin:/opt/bin"}).numactl is True
    assert read_system(NUMA, root, {"PATH": "/usr/bin"}).numactl is False


def test_cpus_that_are_restricted() -> None:
    script = (
        "import os\n"
        "from vllm_launch.host.system import read_system\n"
        "from vllm_launch.model.system import Wanted\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "print(read_system(Wanted(numa=True)).cpus_restricted)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{(os.cpu_count() or 1) > 1}\n"
