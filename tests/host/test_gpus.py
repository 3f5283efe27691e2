"""Which GPUs are taken of those that are there."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.model.host import Gpu, GpuProcess
from vllm_launch.resolve.gpus import are_linked, choose_gpus, indices, is_idle

GIB = 1 << 30


def gpu(index: int, **more: Any) -> Gpu:
    values: dict[str, Any] = {
        "name": "NVIDIA H200",
        "pci_bus_id": f"00000000:{index:02X}:00.0",
        "memory_bytes": 140 * GIB,
        "memory_used_bytes": 0,
        "processes": (),
        **more,
    }
    return Gpu(index=index, vendor="NVIDIA", **values)


BUSY: dict[str, Any] = {"memory_used_bytes": 100 * GIB}


def pair(first: int, second: int) -> list[Gpu]:
    """Two with a bridge between them."""
    one, other = gpu(first), gpu(second)
    return [
        one.replace(nvlink_active=4, nvlink_peers=(other.pci_bus_id,)),
        other.replace(nvlink_active=4, nvlink_peers=(one.pci_bus_id,)),
    ]


@pytest.mark.parametrize(
    ("gpus", "count", "expected"),
    [
        pytest.param([gpu(i) for i in range(8)], 4, [0, 1, 2, 3], id="nothing tells them apart"),
        pytest.param(
            [gpu(i, **(BUSY if i < 4 else {})) for i in range(8)], 4, [4, 5, 6, 7], id="idle ones"
        ),
        pytest.param(
            [gpu(i, **(BUSY if i in (0, 2) else {})) for i in range(4)], 2, [1, 3], id="idle, apart"
        ),
        pytest.param(
            [gpu(i, **(BUSY if i != 2 else {})) for i in range(4)], 2, [0, 2], id="too few idle"
        ),
        pytest.param(
            [gpu(0, processes=(GpuProcess(pid=1),)), gpu(1)], 1, [1], id="a process without memory"
        ),
        pytest.param(
            [gpu(0, memory_used_bytes=None, processes=None), gpu(1)], 1, [1], id="idle over unknown"
        ),
        pytest.param(
            [gpu(0, **BUSY), gpu(1, memory_used_bytes=None, processes=None)],
            1,
            [1],
            id="unknown over busy",
        ),
        pytest.param(
            [*pair(0, 2), *pair(1, 3)], 2, [0, 2], id="a bridge between",
        ),
        pytest.param(
            [pair(0, 2)[0].replace(**BUSY), pair(0, 2)[1], *pair(1, 3)], 2, [1, 3],
            id="the idle pair",
        ),
        pytest.param(
            [gpu(i, fabric_cluster="c", fabric_clique=i % 2) for i in range(4)], 2, [0, 2],
            id="one clique",
        ),
        pytest.param(
            [gpu(i, nvlink_peers=("switch",) if i > 1 else ()) for i in range(4)], 2, [2, 3],
            id="one switch",
        ),
        pytest.param([gpu(i, numa_node=i % 2) for i in range(4)], 2, [0, 2], id="one NUMA node"),
        pytest.param(
            [gpu(i, numa_node=i // 2, **(BUSY if i == 0 else {})) for i in range(4)], 2, [2, 3],
            id="idle on one NUMA node",
        ),
        pytest.param([gpu(3), gpu(1), gpu(2)], 2, [1, 2], id="lowest indices"),
        pytest.param([gpu(1), gpu(0)], 2, [1, 0], id="all, as they were"),
        pytest.param([gpu(0)], 4, [0], id="more than there are"),
        pytest.param([gpu(0)], 0, [], id="none"),
        pytest.param([], 2, [], id="of none"),
    ],
)  # fmt: skip
def test_choice(gpus: list[Gpu], count: int, expected: list[int]) -> None:
    assert [one.index for one in choose_gpus(gpus, count)] == expected


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        pytest.param(gpu(0), True, id="nothing"),
        pytest.param(gpu(0, memory_used_bytes=GIB), True, id="under 2 % of a large one"),
        pytest.param(
            gpu(0, memory_bytes=24 * GIB, memory_used_bytes=GIB - 1), True, id="under 1 GiB"
        ),
        pytest.param(gpu(0, memory_bytes=24 * GIB, memory_used_bytes=GIB), False, id="1 GiB"),
        pytest.param(gpu(0, memory_used_bytes=3 * GIB), False, id="over 2 %"),
        pytest.param(gpu(0, memory_used_bytes=None), None, id="unknown"),
        pytest.param(
            gpu(0, unified_memory=True, memory_used_bytes=9 * GIB), True, id="the host's own use"
        ),
        pytest.param(gpu(0, unified_memory=True, processes=None), None, id="unified, unknown"),
    ],
)
def test_idle(device: Gpu, expected: bool | None) -> None:
    assert is_idle(device) is expected


def test_links() -> None:
    one, other = pair(0, 1)
    assert are_linked(one, other)
    assert are_linked(one, other.replace(nvlink_peers=()))  # one end is enough
    assert not are_linked(one, gpu(2))
    nameless = gpu(3, pci_bus_id=None)
    assert not are_linked(nameless, nameless.replace(index=4))
    rack = gpu(0, fabric_cluster="c", fabric_clique=1)
    assert are_linked(rack, rack.replace(index=1))
    assert not are_linked(rack, gpu(1, fabric_cluster="d", fabric_clique=1))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([3], "GPU 3"),
        ([0, 1, 2, 3], "GPUs 0-3"),
        ([7, 0, 1, 5], "GPUs 0-1, 5, 7"),
    ],
)
def test_indices(numbers: list[int], expected: str) -> None:
    assert indices([gpu(number) for number in numbers]) == expected


@given(
    st.lists(
        st.builds(
            gpu,
            st.integers(0, 99),
            memory_used_bytes=st.none() | st.integers(0, 140 * GIB),
            numa_node=st.none() | st.integers(0, 3),
            nvlink_peers=st.lists(st.sampled_from(["switch", "00000000:01:00.0", ""])).map(tuple),
            fabric_cluster=st.none() | st.just("c"),
            fabric_clique=st.none() | st.integers(0, 1),
        ),
        max_size=9,
        unique_by=lambda one: one.index,
    ),
    st.integers(-1, 12),
)
def test_any_choice_is_of_those_that_are_there(gpus: list[Gpu], count: int) -> None:
    chosen = choose_gpus(gpus, count)
    assert len(chosen) == max(0, min(count, len(gpus)))
    assert [one for one in gpus if one in chosen] == list(chosen)
    use = [is_idle(one) for one in gpus]
    if len(chosen) <= use.count(True):
        assert all(is_idle(one) for one in chosen)
