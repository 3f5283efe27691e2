"""What ``detect`` shows, beyond the machines' golden files."""

from __future__ import annotations

from typing import Any

import pytest

from vllm_launch.model.host import Gpu, GpuProcess, HostFacts
from vllm_launch.render.detection import detection
from vllm_launch.resolve.masks import visible
from vllm_launch.resolve.match import match_profile

GIB = 1 << 30


def shown(*gpus: Gpu, environ: dict[str, str] | None = None, **host: Any) -> str:
    facts = HostFacts(gpus=gpus, **host)
    seen = visible(gpus, environ) if environ is not None else None
    text = detection(facts, match_profile(seen.gpus if seen else gpus, {}), seen)
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())
    return text


def gpu(index: int = 0, **more: Any) -> Gpu:
    values: dict[str, Any] = {"memory_bytes": 100 * GIB, "memory_used_bytes": 0, **more}
    return Gpu(index=index, vendor="NVIDIA", name="NVIDIA H200", **values)


@pytest.mark.parametrize(
    ("used", "bar"),
    [
        (0, "[..........]   0.0 of 100.0 GiB"),
        (GIB // 2, "[..........]   0.5 of 100.0 GiB"),
        (50 * GIB, "[#####.....]  50.0 of 100.0 GiB"),
        (100 * GIB - 1, "[#########.] 100.0 of 100.0 GiB"),
        (100 * GIB, "[##########] 100.0 of 100.0 GiB"),
        (200 * GIB, "[##########] 200.0 of 100.0 GiB"),
        (None, "[??????????]     ? of 100.0 GiB"),
    ],
)
def test_the_bar(used: int | None, bar: str) -> None:
    assert bar in shown(gpu(memory_used_bytes=used))


def test_masks() -> None:
    text = shown(gpu(0), gpu(1), environ={"CUDA_VISIBLE_DEVICES": "1,7"})
    assert "\nvisible    GPU 1\n" in text
    assert "\nnote       CUDA_VISIBLE_DEVICES=1,7: '7' names no GPU here" in text
    text = shown(gpu(0), environ={"CUDA_VISIBLE_DEVICES": "0,0"})
    assert "\nvisible    no GPU\n" in text
    assert "\nproblem    CUDA_VISIBLE_DEVICES=0,0 names GPU 0 twice" in text
    assert "visible" not in shown(gpu(0), environ={})


def test_processes() -> None:
    text = shown(
        gpu(processes=(GpuProcess(pid=7, name="python3", memory_bytes=GIB), GpuProcess(pid=8)))
    )
    assert "in use\n       process 7  python3  1.0 GiB\n       process 8  (name unknown)\n" in text


def test_what_is_wrong_with_a_gpu() -> None:
    text = shown(gpu(0, fault="GPU is lost", ecc_pending=True), gpu(1, persistence_mode=False))
    assert "FAULTY" in text
    assert "\nfaulty     NVIDIA GPU 0: GPU is lost\n" in text
    assert "\nerrors     GPU 0: bad memory is mapped out at the next reset\n" in text
    assert "\ndriver     persistence mode is off, so that it starts slowly (GPU 1)\n" in text


def test_unknown_fields_are_told_once_for_all_gpus() -> None:
    unknown = (("memory_bytes", "no"), ("memory_used_bytes", "no"), ("numa_node", "Not Found"))
    text = shown(gpu(0, unknown=unknown), gpu(1, unknown=unknown), gpu(2))
    assert "\nunknown    GPUs 0-1: memory (no); numa node (Not Found)\n" in text


def test_device_files_that_cannot_be_opened() -> None:
    access = (("/dev/kfd", "Permission denied"), ("/dev/dri/renderD128", "read and write"))
    text = shown(device_access=access)
    assert "\ndevice     /dev/kfd: Permission denied\n" in text
    assert "renderD128" not in text


def test_what_was_looked_for_is_of_interest_where_nothing_was_found() -> None:
    looked_for = (
        ("NVIDIA driver", "2 GPUs, driver 580"),
        ("amd-smi command", "not found"),
        ("AMD GPUs", "no answer in 4.5 s: the driver hangs"),
        ("AMD GPU at 0000:0e:00.0", "left out: 0.5 GiB of memory"),
    )
    text = shown(gpu(0), looked_for=looked_for)
    assert "driver 580" not in text
    assert "amd-smi" not in text
    assert "looked for AMD GPUs: no answer" in text
    assert "looked for AMD GPU at 0000:0e:00.0: left out" in text
    assert shown(looked_for=looked_for).count("looked for ") == 4


def test_a_long_name_does_not_widen_the_table() -> None:
    name = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
    text = shown(gpu(0, nvlink_active=18, numa_node=127).replace(name=name))
    assert f"1 x {name}\n" in text
