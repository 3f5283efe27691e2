"""Drivers that hang, crash and print cost little, and take nothing along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.children import children
from tests.host import nvml_stub
from tests.host.conftest import timed
from tests.host.machines import MACHINES, Machine
from vllm_launch.host import amd, child, drivers, facts, nvidia
from vllm_launch.host.deadline import Late, call_within, run_all
from vllm_launch.model.host import Gpu, HostFacts

MOST_SECONDS = 60.0  # of a driver that hangs for good


def healthy(root: str, seconds: float) -> HostFacts:
    return HostFacts(gpus=(Gpu(index=0, vendor="NVIDIA", name="NVIDIA H200"),))


def hangs(root: str, seconds: float) -> HostFacts:
    while True:
        signal.pause()


def crashes(root: str, seconds: float) -> HostFacts:
    os.kill(os.getpid(), signal.SIGKILL)
    return HostFacts()


def raises(root: str, seconds: float) -> HostFacts:
    raise RuntimeError("no such luck")


def prints(root: str, seconds: float) -> HostFacts:
    sys.stdout.write("noise")
    os.write(1, b"noise")
    os.write(2, b"noise")
    return healthy(root, seconds)


def says_much(root: str, seconds: float) -> HostFacts:
    return HostFacts(looked_for=(("much", "x" * 1_000_000),))


def answers(
    reads: dict[str, drivers.Read], root: str, seconds: float = child.SECONDS
) -> list[HostFacts]:
    return drivers.finish(drivers.begin(reads, root, seconds), seconds)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        pytest.param(healthy, healthy("", 0), id="answers"),
        pytest.param(prints, healthy("", 0), id="prints"),
        pytest.param(says_much, says_much("", 0), id="more than a pipe holds"),
        pytest.param(
            raises,
            HostFacts(looked_for=(("GPUs", "failed: RuntimeError: no such luck"),)),
            id="raises",
        ),
        pytest.param(
            crashes,
            HostFacts(looked_for=(("GPUs", "the driver's library crashed (signal 9)"),)),
            id="crashes",
        ),
    ],
)
def test_a_read_in_a_child(
    capfd: pytest.CaptureFixture[str], read: drivers.Read, expected: HostFacts
) -> None:
    before = children()
    assert answers({"GPUs": read}, "/") == [expected]
    assert capfd.readouterr() == ("", "")
    assert children() <= before


def test_one_that_hangs_holds_nobody_up() -> None:
    before, started = children(), time.monotonic()
    reads = {"one": hangs, "two": healthy, "three": hangs}
    one, two, three = answers(reads, "/", 2.5)
    assert time.monotonic() - started < MOST_SECONDS
    assert one.looked_for == (("one", "no answer in 2.5 s: the driver hangs"),)
    assert two == healthy("", 0)
    assert three.looked_for == (("three", "no answer in 2.5 s: the driver hangs"),)
    assert children() <= before  # killed, and gone


def test_without_another_process_it_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError("no process to be had")

    monkeypatch.setattr(os, "fork", refuse)
    one, two = answers({"one": healthy, "two": raises}, "/")
    assert one == healthy("", 0)
    assert two.looked_for == (("two", "failed: RuntimeError: no such luck"),)


def test_an_interrupt_leaves_no_child_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(children: list[child.Child], seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(child, "_receive", interrupted)
    before = children()
    with pytest.raises(KeyboardInterrupt):
        answers({"one": hangs}, "/")
    assert children() <= before


def test_where_children_are_reaped_by_the_system() -> None:
    script = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from vllm_launch.host import facts; facts.read_host('/none')"
    )
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": root}
    subprocess.run([sys.executable, "-c", script], env=env, check=True)


def test_within_and_together() -> None:
    release: list[int] = []

    def never() -> None:
        while not release:
            time.sleep(0.001)

    assert call_within(5, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        call_within(5, lambda: 1 / 0)
    with pytest.raises(Late, match=r"no answer in 0\.05 s"):
        call_within(0.05, never)
    done: list[int] = []
    run_all([never, lambda: done.append(1)], 1)
    assert done == [1]
    release.append(1)


def test_what_a_wedged_gpu_said_before_is_kept(nvml: Path, amdsmi: Path) -> None:
    machine = Machine("one_hangs", "no_rocm")
    _, host = timed(machine.env(nvml, amdsmi), "/none", 4.5)
    gpu = host.gpus[3]
    assert (gpu.name, gpu.compute_capability) == ("NVIDIA H200", "9.0")
    assert gpu.fault == "no answer in 4 s"
    assert dict(gpu.unknown)["memory_bytes"] == "no answer in 4 s"
    assert ("NVIDIA GPU 3", "no answer in 4 s") in host.looked_for
    assert [one.unknown for one in host.gpus if one is not gpu] == [()] * 7


def test_a_driver_that_crashes_leaves_the_other_vendor(nvml: Path, amdsmi: Path) -> None:
    machine = Machine("crashes", "mi300x_8x")
    _, host = timed(machine.env(nvml, amdsmi), "/none")
    assert ("NVIDIA GPUs", "the driver's library crashed (signal 9)") in host.looked_for
    assert [gpu.vendor for gpu in host.gpus] == ["AMD"] * 8


def test_a_hanging_amd_driver_leaves_the_kernels_files(
    nvml: Path, amdsmi: Path, tmp_path: Path
) -> None:
    machine = Machine("no_driver", "hangs", MACHINES["mi300x_8x"].files)
    took, host = timed(machine.env(nvml, amdsmi), machine.install(tmp_path), 2.5)
    assert took < MOST_SECONDS
    looked_for = dict(host.looked_for)
    assert looked_for[amd.LIBRARY] == "no answer in 1 s"
    assert looked_for["amd-smi command"].startswith("not asked")
    assert len(host.gpus) == 8


def test_no_driver_is_left_loaded(nvml: Path) -> None:
    script = (
        "from vllm_launch.host import facts; assert facts.read_host('/none').gpus\n"
        "import sys; print('pynvml' in sys.modules)\n"
        "print('libnvidia-ml' in open('/proc/self/maps').read())"
    )
    env = nvml_stub.env("h200_8x", nvml)
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"False"]


def test_reading_in_this_process_gives_the_same(nvml: Path, amdsmi: Path) -> None:
    env = Machine("h200_8x", "no_rocm").env(nvml, amdsmi)
    _, apart_from_us = timed(env, "/none")
    _, here = timed(env, "/none", call="nvidia.read")
    assert apart_from_us.gpus == here.gpus
    assert here == facts.from_dict(facts.to_dict(here))
    assert nvidia.DRIVER in dict(here.looked_for)
