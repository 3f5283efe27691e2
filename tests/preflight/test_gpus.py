"""GPUs of the plan: there, healthy, alike, with free memory."""

from __future__ import annotations

import pytest

from tests.preflight.build import (
    GIB,
    OPERATOR,
    Case,
    amd_host,
    gpu,
    host,
    only,
    recipe,
    situation,
    told,
)
from vllm_launch.model.host import Gpu, GpuProcess
from vllm_launch.model.kv_cache import KvCache
from vllm_launch.preflight import Shape

TP4, TP8 = "--tensor-parallel-size 4", "--tensor-parallel-size 8"
LOST = gpu(3, fault="GPU is lost", name="unknown", memory_bytes=None, memory_free_bytes=None)


def eight(**changed: Gpu) -> tuple[Gpu, ...]:
    """Eight H200 but for those that are named, "g3"."""
    return tuple(changed.get(f"g{i}", gpu(i)) for i in range(8))


def held(index: int, free: int = 10, **fields: object) -> Gpu:
    """A GPU that another process holds."""
    values = {
        "memory_used_bytes": (141 - free) * GIB,
        "memory_free_bytes": free * GIB,
        "processes": (GpuProcess(pid=4711, name="python", memory_bytes=(141 - free) * GIB),),
    }
    return gpu(index, **{**values, **fields})


UNIFIED = host(
    gpu(
        0,
        name="NVIDIA GB10",
        memory_bytes=120 * GIB,
        memory_used_bytes=None,
        memory_free_bytes=None,
        unified_memory=True,
    ),
    memory_available_bytes=60 * GIB,
)
KIN = eight(g6=gpu(6, name="NVIDIA A10"), g7=gpu(7, name="NVIDIA A10"))
BIG = recipe(vram=700)

CASES = [
    Case("HOST_FACTS", "pass", "this host", situation(TP8, facts=host()), []),
    Case("HOST_FACTS", "pass", "no GPUs to check", situation(TP8, hardware="ironwood"), None),
    Case(
        "HOST_FACTS",
        "found",
        "a profile",
        situation(TP8),
        ["note: GPUs were not checked: the plan is for the profile h200, not this host"],
    ),
    Case("HOST_FACTS", "unknown", "a host with nothing read", situation(facts=host(gpu(0))), []),
    Case("GPU_MISSING", "pass", "eight of eight", situation(TP8, facts=host()), []),
    Case(
        "GPU_MISSING",
        "pass",
        "a MIG instance is no GPU by number",
        situation("", {"CUDA_VISIBLE_DEVICES": "MIG-1234"}, facts=host()),
        [],
    ),
    Case(
        "GPU_MISSING",
        "found",
        "four of eight",
        situation(TP8, facts=host(*eight()[:4])),
        ["fail: 8 NVIDIA GPUs needed, 4 there"],
    ),
    Case(
        "GPU_MISSING",
        "found",
        "masked",
        situation(TP4, facts=host(), variables=(("CUDA_VISIBLE_DEVICES", "0,1"),)),
        ["fail: 4 GPUs needed, 2 visible of 8 (mask 0,1)"],
    ),
    Case(
        "GPU_MISSING",
        "found",
        "of the other vendor",
        situation(TP4, facts=amd_host()),
        ["fail: 4 NVIDIA GPUs needed, 0 there"],
    ),
    Case("GPU_MISSING", "unknown", "planned for a profile", situation(TP8), None),
    Case("GPU_LOST", "pass", "all answer", situation(TP8, facts=host()), []),
    Case(
        "GPU_LOST",
        "found",
        "one of the plan's",
        situation(TP8, facts=host(*eight(g3=LOST))),
        ["fail: GPU 3 does not answer: GPU is lost"],
    ),
    Case(
        "GPU_LOST",
        "found",
        "one that is not used",
        situation("-tp 2", facts=host(*eight(g3=LOST))),
        ["warn: GPU 3 does not answer: GPU is lost"],
    ),
    Case("GPU_LOST", "unknown", "planned for a profile", situation(TP8), None),
    Case("GPU_ECC", "pass", "none", situation(TP8, facts=host()), []),
    Case(
        "GPU_ECC",
        "pass",
        "on a GPU that is not used",
        situation("-tp 2", facts=host(*eight(g3=gpu(3, ecc_uncorrected=2)))),
        [],
    ),
    Case(
        "GPU_ECC",
        "found",
        "errors and a pending row",
        situation(
            TP8, facts=host(*eight(g1=gpu(1, ecc_uncorrected=1), g2=gpu(2, ecc_pending=True)))
        ),
        [
            "warn: GPU 1 has had 1 uncorrected ECC error since its driver was loaded",
            "warn: GPU 2 has bad memory that waits to be mapped out",
        ],
    ),
    Case(
        "GPU_ECC",
        "unknown",
        "not read",
        situation("", facts=host(gpu(0, ecc_uncorrected=None, ecc_pending=None))),
        [],
    ),
    Case("MIXED_GPUS", "pass", "one kind", situation(TP8, facts=host()), []),
    Case(
        "MIXED_GPUS",
        "pass",
        "numbered by bus",
        situation(TP4, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, facts=host(*KIN)),
        [],
    ),
    Case(
        "MIXED_GPUS",
        "found",
        "ranks on two kinds",
        situation(TP8, facts=host(*KIN)),
        ["warn: GPUs 0, 1, 2, 3, 4, 5, 6, 7 are of 2 kinds: NVIDIA H200, NVIDIA A10"],
    ),
    Case(
        "MIXED_GPUS",
        "found",
        "numbers that CUDA takes otherwise",
        situation(TP4, facts=host(*KIN)),
        ["warn: this host has 2 kinds of GPU, and CUDA numbers the fastest first"],
    ),
    Case("MIXED_GPUS", "unknown", "planned for a profile", situation(TP8), None),
    Case("GPU_MIG", "pass", "whole", situation(TP8, facts=host()), []),
    Case(
        "GPU_MIG",
        "found",
        "cut",
        situation(TP4, facts=host(*eight(g2=gpu(2, mig_enabled=True)))),
        ["fail: GPU 2: MIG is on, whole GPUs needed"],
    ),
    Case(
        "GPU_MIG",
        "unknown",
        "not read",
        situation(TP4, facts=host(*eight(g2=gpu(2, mig_enabled=None)))),
        [],
    ),
    Case("GPU_BUSY", "pass", "idle", situation(TP8, facts=host()), []),
    Case(
        "GPU_BUSY",
        "pass",
        "another GPU is busy",
        situation(TP4, facts=host(*eight(g7=held(7)))),
        [],
    ),
    Case(
        "GPU_BUSY",
        "pass",
        "less is asked for",
        situation("--gpu-memory-utilization 0.05", facts=host(held(0))),
        [],
    ),
    Case(
        "GPU_BUSY",
        "pass",
        "unified memory that is free",
        situation("--gpu-memory-utilization 0.4", facts=UNIFIED),
        [],
    ),
    Case(
        "GPU_BUSY",
        "found",
        "two are held",
        situation(TP8, facts=host(*eight(g0=held(0), g1=held(1, free=20)))),
        ["fail: GPUs 0, 1: 10 GiB of memory free, 126.9 GiB needed (90 % of 141 GiB)"],
    ),
    Case(
        "GPU_BUSY",
        "found",
        "unified memory",
        situation("", facts=UNIFIED),
        ["fail: GPU 0: 60 GiB of unified memory free, 108 GiB needed (90 % of 120 GiB)"],
    ),
    Case(
        "GPU_BUSY",
        "unknown",
        "not read",
        situation(
            "",
            facts=host(
                gpu(
                    0,
                    memory_bytes=None,
                    memory_free_bytes=None,
                    unknown=(("memory_bytes", "No permission"),),
                )
            ),
        ),
        ["note: GPU 0: free memory is not known: No permission"],
    ),
    Case("GPU_MEMORY", "pass", "fits", situation(TP8, facts=host(), of=BIG), []),
    Case(
        "GPU_MEMORY",
        "pass",
        "shared with other nodes",
        situation(f"{TP4} --pipeline-parallel-size 2 --nnodes 2", facts=host(), of=BIG),
        [],
    ),
    Case(
        "GPU_MEMORY",
        "found",
        "does not fit",
        situation(TP4, facts=host(), of=recipe(vram=900)),
        ["fail: 900 GB needed for variant default, 4 GPUs have 605.6 GB"],
    ),
    Case(
        "GPU_MEMORY",
        "found",
        "may fit",
        situation(TP4, facts=host(), of=recipe(vram=620)),
        ["warn: 620 GB needed for variant default, 4 GPUs have 605.6 GB"],
    ),
    Case(
        "GPU_MEMORY",
        "found",
        "does not fit the profile",
        situation(TP4, of=recipe(vram=900)),
        ["fail: 900 GB needed for variant default, 4 GPUs have 564 GB"],
    ),
    Case("GPU_MEMORY", "pass", "fits the profile", situation(TP8, of=recipe(vram=900)), []),
    Case(
        "GPU_MEMORY",
        "unknown",
        "not read",
        situation("", facts=host(gpu(0, memory_bytes=None)), of=BIG),
        None,
    ),
    Case(
        "CONTEXT_TOO_LONG",
        "pass",
        "short",
        situation(
            f"{TP8} --max-model-len 32768",
            facts=host(),
            shape=Shape(kv_cache=KvCache(per_token=50_000), weight_bytes=200 * GIB),
        ),
        [],
    ),
    Case(
        "CONTEXT_TOO_LONG",
        "found",
        "long",
        situation(
            "--max-model-len 1048576",
            facts=host(),
            shape=Shape(kv_cache=KvCache(per_token=400_000), weight_bytes=100 * GIB),
        ),
        ["note: estimate: room for 66840 tokens of KV cache, a context of 1048576 asked for"],
    ),
    Case("CONTEXT_TOO_LONG", "unknown", "no config", situation(TP8, facts=host()), None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


def test_who_holds_a_gpu_and_what_would_do() -> None:
    one = only(situation(TP4, facts=host(*eight(g1=held(1, free=80)))), "GPU_BUSY")
    assert one.why == (
        "The server takes its share at once and stops where less is free. "
        "It is held by python (4711, 61 GiB)."
    )
    assert one.remedy == (
        "Stop what holds it, or take idle ones with --gpus 0,2,3,4, "
        "or pass --gpu-memory-utilization 0.55 behind --."
    )


def test_what_would_do_does() -> None:
    """The share that is offered passes the very check that offers it."""
    facts = host(*eight(g1=held(1, free=80)))
    assert told(situation(f"{TP4} --gpu-memory-utilization 0.55", facts=facts), "GPU_BUSY") == []
    masked = situation(TP4, {"CUDA_VISIBLE_DEVICES": "0,2,3,4"}, facts=facts)
    assert told(masked, "GPU_BUSY") == []


@pytest.mark.parametrize(
    ("weights", "remedy"),
    [
        (100, "If it refuses, pass --max-model-len 66560 behind --."),
        (124.9, "If it refuses, use more GPUs or a smaller variant."),
    ],
)
def test_what_to_do_where_a_context_is_too_long(weights: float, remedy: str) -> None:
    shape = Shape(kv_cache=KvCache(per_token=400_000), weight_bytes=int(weights * GIB))
    plan = situation("--max-model-len 1048576", facts=host(), shape=shape)
    assert only(plan, "CONTEXT_TOO_LONG").remedy == remedy


def test_bytes_of_kv_cache_replace_the_share() -> None:
    plan = situation("--kv-cache-memory-bytes 1G", facts=host(held(0)))
    assert told(plan, "GPU_BUSY") is None


def test_what_was_looked_for_is_told() -> None:
    looked = (("NVIDIA driver (libnvidia-ml.so.1)", "not found"),)
    one = only(situation(TP4, facts=amd_host(looked_for=looked)), "GPU_MISSING")
    assert one.why.endswith("Looked for: NVIDIA driver (libnvidia-ml.so.1): not found.")


def test_gpus_by_uuid() -> None:
    masked = {"CUDA_VISIBLE_DEVICES": "GPU-00000002,GPU-00000003"}
    plan = situation("-tp 2", masked, facts=host(*eight(g2=held(2))), source=OPERATOR)
    assert told(plan, "GPU_MISSING") == []
    assert told(plan, "GPU_BUSY") == [
        "fail: GPU 2: 10 GiB of memory free, 126.9 GiB needed (90 % of 141 GiB)"
    ]


def test_a_container_does_not_see_the_mask_around_it() -> None:
    around = (("CUDA_VISIBLE_DEVICES", "0"),)
    plan = situation(TP4, facts=host(), runtime="docker", variables=around)
    assert told(plan, "GPU_MISSING") == []
