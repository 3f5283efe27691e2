"""Drivers, generations, NVSwitch, AMD's device files."""

from __future__ import annotations

import pytest

from tests.preflight.build import (
    Case,
    amd_gpu,
    amd_host,
    gpu,
    host,
    only,
    recipe,
    situation,
    told,
    unread,
)
from vllm_launch.model.system import Fabric, Image, Vllm

TP2 = "--tensor-parallel-size 2"
OLD = host(nvidia_driver="570.86.15", cuda_driver="12.8")
NEEDS = recipe(
    prerequisites={
        "min_compute_capability": "9.0",
        "min_nvidia_driver": "580",
        "min_rocm": "7.2",
    }
)
AMPERE = host(*(gpu(i, name="NVIDIA A100", compute_capability="8.0") for i in range(2)))
WAITING = host(*(gpu(i, fabric_state="in progress") for i in range(2)))
NO_FABRIC = host(*(gpu(i, fabric_state=None) for i in range(2)))


def image(cuda: str) -> Image:
    return Image(reference="org/image:tag", local=True, entrypoint=("vllm", "serve"), cuda=cuda)


CASES = [
    Case("DRIVER_CUDA", "pass", "13 on 13", situation("", facts=host()), []),
    Case("DRIVER_CUDA", "pass", "not NVIDIA", situation("", hardware="mi355x"), None),
    Case(
        "DRIVER_CUDA",
        "found",
        "the wheel is too new",
        situation("", facts=OLD),
        [
            (
                "fail: CUDA 13.0 needed by the installed vLLM (driver 580 or newer), driver "
                "570.86.15 serves CUDA 12"
            ),
        ],
    ),
    Case(
        "DRIVER_CUDA",
        "found",
        "the image's tag",
        situation("", facts=OLD, runtime="docker", image="vllm/vllm-openai:v0.33.0-cu130").replace(
            system=situation("").system.replace(image=None)
        ),
        [
            (
                "fail: CUDA 13.0 needed by the image vllm/vllm-openai:v0.33.0-cu130 (driver 580 or "
                "newer), driver 570.86.15 serves CUDA 12"
            ),
        ],
    ),
    Case(
        "DRIVER_CUDA",
        "found",
        "the image itself",
        situation("", facts=OLD, runtime="docker", image=image("13.0.1").reference).replace(
            system=situation("").system.replace(image=image("13.0.1"))
        ),
        [
            (
                "fail: CUDA 13.0.1 needed by the image org/image:tag (driver 580 or newer), driver "
                "570.86.15 serves CUDA 12"
            ),
        ],
    ),
    Case(
        "DRIVER_CUDA",
        "found",
        "compatibility libraries may help",
        situation("", {"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"}, facts=OLD),
        [
            (
                "warn: CUDA 13.0 needed by the installed vLLM (driver 580 or newer), driver "
                "570.86.15 serves CUDA 12"
            ),
        ],
    ),
    Case(
        "DRIVER_CUDA",
        "unknown",
        "no driver to be seen",
        situation("", facts=host(nvidia_driver=None, cuda_driver=None)),
        ["note: CUDA 13.0 needed by the installed vLLM, the driver is not known"],
    ),
    Case("DRIVER_OLD", "pass", "new enough", situation("", facts=host(), of=NEEDS), []),
    Case("DRIVER_OLD", "pass", "nothing asked for", situation("", facts=OLD), None),
    Case(
        "DRIVER_OLD",
        "found",
        "older",
        situation("", facts=OLD, of=NEEDS),
        ["fail: NVIDIA driver 580 or newer needed by the recipe, 570.86.15 is installed"],
    ),
    Case(
        "DRIVER_OLD",
        "found",
        "older, and a wheel that it serves",
        situation("", facts=OLD, of=NEEDS).replace(
            system=situation("").system.replace(
                vllm=Vllm(path="/venv/bin/vllm", version="0.33.0", cuda="12.9")
            )
        ),
        ["warn: NVIDIA driver 580 or newer needed by the recipe, 570.86.15 is installed"],
    ),
    Case(
        "DRIVER_OLD",
        "found",
        "older, and an image of its own",
        situation("", facts=OLD, of=NEEDS, runtime="docker"),
        ["warn: NVIDIA driver 580 or newer needed by the recipe, 570.86.15 is installed"],
    ),
    Case(
        "DRIVER_OLD",
        "unknown",
        "no driver to be seen",
        situation("", facts=host(nvidia_driver=None), of=NEEDS),
        None,
    ),
    Case("HARDWARE_FIT", "pass", "new enough", situation(TP2, facts=host(), of=NEEDS), []),
    Case(
        "HARDWARE_FIT",
        "pass",
        "listed",
        situation(TP2, facts=host(), of=recipe(hardware={"h200": "verified"})),
        [],
    ),
    Case(
        "HARDWARE_FIT",
        "found",
        "an older generation",
        situation(TP2, facts=AMPERE, of=NEEDS),
        ["fail: GPUs 0, 1: compute capability 8.0, 9.0 needed"],
    ),
    Case(
        "HARDWARE_FIT",
        "found",
        "not listed",
        situation(TP2, of=recipe(hardware={"b200": "verified", "b300": "verified"})),
        ["note: h200 is not among what the recipe lists: b200, b300"],
    ),
    Case(
        "HARDWARE_FIT",
        "unknown",
        "not read",
        situation("", facts=host(gpu(0, compute_capability=None)), of=NEEDS),
        [],
    ),
    Case("FABRIC_802", "pass", "completed", situation(TP2, facts=host()), []),
    Case("FABRIC_802", "pass", "one GPU needs none", situation("", facts=WAITING), None),
    Case(
        "FABRIC_802",
        "pass",
        "no switches",
        situation(TP2, facts=NO_FABRIC, fabric=Fabric(switches=0)),
        [],
    ),
    Case(
        "FABRIC_802",
        "found",
        "in progress",
        situation(TP2, facts=WAITING),
        ["fail: GPUs 0, 1: NVLink fabric in progress"],
    ),
    Case(
        "FABRIC_802",
        "found",
        "the manager does not run",
        situation(TP2, facts=NO_FABRIC, fabric=Fabric(switches=4, manager=False)),
        ["fail: the fabric manager does not run, and this host has NVSwitches"],
    ),
    Case(
        "FABRIC_802",
        "found",
        "another version",
        situation(TP2, facts=host(), fabric=Fabric(switches=4, manager=True, version="575.57.08")),
        ["fail: fabric manager 575.57.08 does not match driver 580.65.06"],
    ),
    Case(
        "FABRIC_802",
        "unknown",
        "inside a container",
        situation(TP2, facts=NO_FABRIC, fabric=Fabric(switches=4, manager=None)),
        [],
    ),
    Case("AMD_DEVICES", "pass", "usable", situation("", hardware="mi355x"), []),
    Case("AMD_DEVICES", "pass", "not AMD", situation(""), None),
    Case(
        "AMD_DEVICES",
        "pass",
        "docker opens them itself",
        situation(
            "",
            hardware="mi355x",
            runtime="docker",
            amd_devices=(("/dev/kfd", "permission denied"),),
        ),
        [],
    ),
    Case(
        "AMD_DEVICES",
        "found",
        "no leave",
        situation(
            "",
            hardware="mi355x",
            amd_devices=(
                ("/dev/kfd", "permission denied"),
                ("/dev/dri/renderD128", "permission denied"),
            ),
        ),
        ["fail: /dev/kfd: permission denied, and 1 more"],
    ),
    Case(
        "AMD_DEVICES",
        "found",
        "not there",
        situation(
            "", hardware="mi355x", runtime="docker", amd_devices=(("/dev/kfd", "not there"),)
        ),
        ["fail: /dev/kfd: not there"],
    ),
    Case(
        "AMD_DEVICES",
        "unknown",
        "not read",
        situation("", hardware="mi355x", **unread("amd_devices", reason="no answer in 4.2 s")),
        ["note: AMD device files were not checked: no answer in 4.2 s"],
    ),
    Case("AMD_PARTITION", "pass", "whole", situation("", hardware="mi355x", facts=amd_host()), []),
    Case(
        "AMD_PARTITION",
        "found",
        "CPX",
        situation(
            TP2,
            hardware="mi355x",
            facts=amd_host(*(amd_gpu(i, compute_partition="CPX") for i in range(2))),
        ),
        ["fail: GPUs 0, 1: partitioned as CPX/NPS1, SPX/NPS1 needed"],
    ),
    Case(
        "AMD_PARTITION",
        "unknown",
        "not read",
        situation(
            "",
            hardware="mi355x",
            facts=amd_host(amd_gpu(0, compute_partition=None, memory_partition=None)),
        ),
        [],
    ),
    Case(
        "ROCM_OLD",
        "pass",
        "new enough",
        situation("", hardware="mi355x", facts=amd_host(), of=NEEDS),
        [],
    ),
    Case(
        "ROCM_OLD",
        "pass",
        "the image has its own",
        situation("", hardware="mi355x", facts=amd_host(rocm="6.4.1"), of=NEEDS, runtime="docker"),
        None,
    ),
    Case(
        "ROCM_OLD",
        "found",
        "older",
        situation("", hardware="mi355x", facts=amd_host(rocm="6.4.1"), of=NEEDS),
        ["fail: ROCm 7.2 or newer needed by the recipe, 6.4.1 is installed"],
    ),
    Case(
        "ROCM_OLD",
        "unknown",
        "not read",
        situation("", hardware="mi355x", facts=amd_host(rocm=None), of=NEEDS),
        ["note: ROCm 7.2 or newer needed, the installed version is not known"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


@pytest.mark.parametrize(
    ("cuda", "driver", "wheel", "fails"),
    [
        ("13.0", "580.65.06", "13.0", False),
        ("13.1", "590.10", "13.0", False),
        ("13.0", "580.65.06", "12.9", False),
        ("12.8", "570.86.15", "12.9", False),  # versions of one major serve each other
        ("12.8", "570.86.15", "13.0", True),
        (None, "580.65.06", "13.0", False),
        (None, "575.57.08", "13.0", True),
        (None, "525.60.13", "12.9", False),
        (None, "470.82.01", "12.9", True),
    ],
)
def test_cuda_and_drivers(cuda: str | None, driver: str, wheel: str, fails: bool) -> None:
    vllm = Vllm(path="/venv/bin/vllm", version="0.33.0", cuda=wheel)
    plan = situation("", facts=host(cuda_driver=cuda, nvidia_driver=driver))
    plan = plan.replace(system=plan.system.replace(vllm=vllm))
    assert bool(told(plan, "DRIVER_CUDA")) is fails


def test_groups_are_joined_by_number() -> None:
    refused = (("/dev/kfd", "permission denied"),)
    plan = situation("", hardware="mi355x", facts=amd_host(), amd_devices=refused)
    assert only(plan, "AMD_DEVICES").command == (
        'sudo usermod -aG "$(getent group 44 | cut -d: -f1)","$(getent group 109 | cut -d: -f1)" '
        '"$USER"'
    )
    assert only(plan.replace(facts=None), "AMD_DEVICES").command == (
        'sudo usermod -aG video,render "$USER"'
    )
