"""CPUs as a place to serve on: only where that is asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.host import machines
from vllm_launch.host import cpu, memory
from vllm_launch.model.host import HostFacts, NumaNode
from vllm_launch.model.taxonomy import HardwareProfile
from vllm_launch.resolve.cpus import xeon_of
from vllm_launch.resolve.match import match_cpu, match_profile

PROFILES = {
    name: HardwareProfile(
        id=name, brand="Intel", generation="cpu", gpu_count=4, vram_gb=1024, restricted=True
    )
    for name in ("xeon5", "xeon6")
}
GIB = 1 << 30


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("INTEL(R) XEON(R) PLATINUM 8592+", "xeon5"),
        ("INTEL(R) XEON(R) PLATINUM 8570", "xeon5"),
        ("INTEL(R) XEON(R) GOLD 6548Y+", "xeon5"),
        ("Intel(R) Xeon(R) Platinum 8581C CPU @ 2.30GHz", "xeon5"),
        ("INTEL(R) XEON(R) SILVER 4510", "xeon5"),
        ("Intel(R) Xeon(R) 6980P", "xeon6"),
        ("Intel(R) Xeon(R) 6975P-C", "xeon6"),
        ("INTEL(R) XEON(R) 6 6787P", "xeon6"),
        ("Intel(R) Xeon(R) 6740E", "xeon6"),
        ("Intel(R) Xeon(R) Platinum 8480+", None),
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", None),
        ("Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", None),
        ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", None),
        ("Intel(R) Xeon(R) CPU X5650 @ 2.67GHz", None),
        ("Intel(R) Xeon(R) Processor @ 2.70GHz", None),
        ("Intel(R) Xeon(R) w9-3595X", None),
        ("AMD EPYC 9575F 64-Core Processor", None),
        ("Intel(R) Core(TM) i9-14900K", None),
        ("Arm Neoverse-V2", None),
        ("", None),
    ],
)
def test_xeons_by_their_number(model: str, expected: str | None) -> None:
    assert xeon_of(model) == expected


def host(tree: machines.Files, files: Callable[[dict[str, str]], str]) -> HostFacts:
    root = files(dict(tree))
    return cpu.read(root).replace(memory_bytes=memory.read(root)[0])


@pytest.mark.parametrize(
    ("tree", "expected", "nodes", "gigabytes"),
    [
        pytest.param(machines.XEON, "xeon5", 2, 2199.0, id="Xeon"),
        pytest.param(machines.EPYC, None, 2, 1649.3, id="EPYC"),
        pytest.param(machines.DESKTOP, None, 1, 103.1, id="desktop"),
        pytest.param(machines.GRACE, None, 1, 269.0, id="GPU memory is no CPU's"),
    ],
)
def test_a_host(
    files: Callable[[dict[str, str]], str],
    tree: machines.Files,
    expected: str | None,
    nodes: int,
    gigabytes: float,
) -> None:
    facts = host(tree, files)
    match = match_cpu(facts, PROFILES)
    assert match.profile_id == expected
    assert match.gpus == ()
    assert match.profile is not None
    assert (match.profile.gpu_count, match.profile.vram_gb) == (nodes, gigabytes)
    assert match.profile.generation == "cpu"
    assert (facts.cpu_model or "") in match.reason
    if expected is None:
        assert match.profile.id == f"generic_cpu_{facts.cpu_arch}"
        assert "no recipe was verified" in match.notes[-1]


def test_cpus_are_never_matched_unasked(files: Callable[[dict[str, str]], str]) -> None:
    facts = host(machines.XEON, files)
    assert match_profile(facts.gpus, PROFILES).profile is None


@pytest.mark.parametrize(
    ("facts", "profile", "note"),
    [
        pytest.param(
            HostFacts(cpu_model="Xeon", cpu_arch="x86_64", cpu_flags=("avx2",), memory_bytes=GIB),
            "generic_cpu_x86_64",
            "no AVX-512",
            id="AVX2 alone",
        ),
        pytest.param(
            HostFacts(cpu_arch="x86_64", memory_bytes=GIB),
            "generic_cpu_x86_64",
            "neither AVX-512 nor AVX2",
            id="neither",
        ),
        pytest.param(HostFacts(memory_bytes=GIB), "generic_cpu_unknown", "", id="nothing known"),
    ],
)
def test_a_poor_cpu(facts: HostFacts, profile: str, note: str) -> None:
    match = match_cpu(facts, PROFILES)
    assert match.profile is not None
    assert (match.profile.id, match.profile.gpu_count) == (profile, 1)
    assert note in match.notes[0]


def test_no_memory_no_profile() -> None:
    match = match_cpu(HostFacts(numa_nodes=(NumaNode(node=0, cpus=8),)), PROFILES)
    assert (match.profile, match.reason) == (None, "the host's memory could not be read")


def test_recipes_without_the_xeon(files: Callable[[dict[str, str]], str]) -> None:
    match = match_cpu(host(machines.XEON, files), {})
    assert match.profile_id is None
    assert "these recipes have no profile xeon5" in match.reason
    assert match.profile is not None
    assert (match.profile.brand, match.profile.compute_arch) == ("Intel", "amx_bf16")
