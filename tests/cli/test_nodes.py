"""check with the saved facts of several nodes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.launcher import M3, Operator
from tests.cli.terminal import on_terminal
from tests.preflight.build import amd_gpu, amd_host, gpu, host
from vllm_launch.catalog.library import bundled
from vllm_launch.host import facts_file
from vllm_launch.model.host import HostFacts, LocalImage, NetworkInterface, NumaNode, RdmaDevice

PLAN = ("check", M3, "--strategy", "multi_node_tp", "--nodes", "2", "--skip", "CONTEXT_TOO_LONG")


def machine(number: int, gpus: int = 8, **fields: Any) -> HostFacts:
    """One of several equal machines, each with its own UUIDs and addresses."""
    values: dict[str, Any] = {
        "vllm": "0.33.0",
        "kernel": "6.8.0-60-generic",
        "interfaces": (
            NetworkInterface(
                name="eth0", up=True, speed_mbps=25000, addresses=(f"10.0.0.{number}/24",)
            ),
        ),
        "rdma_devices": tuple(
            RdmaDevice(name=f"mlx5_{i}", state="ACTIVE", rate="400 Gb/sec") for i in range(8)
        ),
    }
    kinds = tuple(gpu(i, uuid=f"GPU-{number}-{i}") for i in range(gpus))
    return host(*kinds, **{**values, **fields})


def check(operator: Operator, *machines: HostFacts, words: tuple[str, ...] = ()) -> Any:
    """What the launcher says of these machines."""
    given: list[str] = []
    for number, facts in enumerate(machines, 1):
        path = operator.cwd / f"n{number}.json"
        facts_file.save(facts, str(path))
        given += ["--host-facts", path.name]
    return operator.run(*PLAN, *given, *words)


def told(ran: Any) -> list[str]:
    """The findings across the nodes in short, and their count."""
    body = json.loads(ran.out)["nodes"]
    return [f"{one['severity']} {one['code']}: {one['what']}" for one in body["findings"]]


def test_equal_nodes_pass(operator: Operator) -> None:
    ran = check(operator, machine(1), machine(2))
    assert ran.status == 0, ran.out + ran.err
    assert ran.out.partition("\nn1: head 0\n")[0] == (
        "GPUs         8 × NVIDIA H200   all\n"
        "GPU memory   141 GiB           all\n"
        "driver       580.65.06         all\n"
        "CUDA         13.0              all\n"
        "vLLM         0.33.0            all\n"
        "kernel       6.8.0-60-generic  all\n"
        "interfaces   eth0              all\n"
        "speed        25 Gb/s           all\n"
        "RDMA         8 × 400 Gb/sec    all\n"
        "addresses    10.0.0.1          n1\n"
        "             10.0.0.2          n2\n"
        "\n"
        "2 nodes: alike"
    )


DIFFERENT = {
    "GPUs": (
        {"gpus": 4},
        4,
        ["fail NODE_GPUS: GPUs: 4 × NVIDIA H200 on n3; 8 × NVIDIA H200 on the other nodes"],
    ),
    "driver": (
        {"nvidia_driver": "581.15"},
        0,
        ["warn NODE_DRIVER: driver: 581.15 on n3; 580.65.06 on the other nodes"],
    ),
    "CUDA": (
        {"cuda_driver": "13.1"},
        0,
        ["warn NODE_DRIVER: CUDA: 13.1 on n3; 13.0 on the other nodes"],
    ),
    "vLLM": (
        {"vllm": "0.32.1"},
        4,
        ["fail NODE_VLLM: vLLM: 0.32.1 on n3; 0.33.0 on the other nodes"],
    ),
    "no vLLM": (
        {"vllm": ""},
        4,
        ["fail NODE_VLLM: vLLM: none on PATH on n3; 0.33.0 on the other nodes"],
    ),
    "vLLM not known": ({"vllm": None}, 0, ["note NODE_VLLM: vLLM of n3 is not known"]),
    "kernel": (
        {"kernel": "5.15.0"},
        0,
        ["note NODE_KERNEL: kernel: 5.15.0 on n3; 6.8.0-60-generic on the other nodes"],
    ),
    "RDMA": (
        {"rdma_devices": ()},
        0,
        ["warn NODE_RDMA: RDMA: none on n3; 8 × 400 Gb/sec on the other nodes"],
    ),
    "another network": (
        {"interfaces": (NetworkInterface(name="ens1", up=True, addresses=("10.9.0.3/24",)),)},
        0,
        [
            "warn NODE_NETWORK: there is no network that every node has an address in",
            "note NODE_NETWORK: interfaces: ens1 on n3; eth0 on the other nodes",
            "note NODE_NETWORK: speed of n3 is not known",
        ],
    ),
    "an address twice": (
        {"interfaces": machine(1).interfaces},
        4,
        ["fail NODE_TWICE: n1 and n3 have the same address, 10.0.0.1"],
    ),
}


@pytest.mark.parametrize(("fields", "status", "lines"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_is_found(
    operator: Operator, fields: dict[str, Any], status: int, lines: list[str]
) -> None:
    words = ("--nodes", "3", "--output", "json", "--skip", "GPU_MISSING", "--skip", "VERSION")
    words += ("--skip", "VLLM_MISSING", "--skip", "DRIVER_CUDA")
    ran = check(operator, machine(1), machine(2), machine(3, **fields), words=words)
    assert told(ran) == lines
    assert ran.status == status, ran.out


IMAGE = "vllm/vllm-openai:minimax-m3"


def image(letter: str, reference: str = IMAGE, **fields: Any) -> LocalImage:
    """An image that a docker has, its id and its digest of one letter."""
    values = {"engine": "docker", "id": f"sha256:{letter * 64}", "digest": f"sha256:{letter * 64}"}
    return LocalImage(reference=reference, **{**values, **fields})


A, B = f"sha256:{'a' * 12}", f"sha256:{'b' * 12}"
PULL = f"docker pull {IMAGE}"
IMAGES: dict[str, tuple[list[Any], int, list[str]]] = {
    "the same": ([(image("a"),), (image("a"),)], 0, []),
    "by docker's own name": ([(image("a"),), (image("a", f"docker.io/{IMAGE}"),)], 0, []),
    "another": (
        [(image("a"),), (image("b"),)],
        4,
        [f"fail NODE_IMAGE: {IMAGE} is {A} on n1, {B} on n2"],
    ),
    "the same content, once not from a registry": (
        [(image("a", digest=f"sha256:{'d' * 64}"),), (image("a", digest=None),)],
        0,
        [],
    ),
    "other content, once not from a registry": (
        [(image("a"),), (image("b", digest=None),)],
        4,
        [f"fail NODE_IMAGE: {IMAGE} is {A} on n1, {B} on n2"],
    ),
    "not there": (
        [(image("a"),), (image("b", "vllm/vllm-openai:latest"),)],
        0,
        [f"warn NODE_IMAGE: {IMAGE} is not on n2: docker would pull it"],
    ),
    "only the other engine's": (
        [(image("a"),), (image("a", engine="podman"),)],
        0,
        [f"warn NODE_IMAGE: {IMAGE} is not on n2: docker would pull it"],
    ),
    "nowhere": (
        [(), ()],
        0,
        [f"note NODE_IMAGE: {IMAGE} is not on n1, n2: docker would pull it"],
    ),
    "not known": ([(image("a"),), None], 0, ["note NODE_IMAGE: image of n2 is not known"]),
}


@pytest.mark.parametrize(("images", "status", "lines"), IMAGES.values(), ids=IMAGES)
def test_containers_are_of_one_image(
    operator: Operator, images: list[Any], status: int, lines: list[str]
) -> None:
    machines = [machine(number, images=each) for number, each in enumerate(images, 1)]
    ran = check(operator, *machines, words=("--runtime", "docker", "--output", "json"))
    assert told(ran) == lines
    assert ran.status == status, ran.out


def test_a_pinned_image_is_found_by_its_digest(operator: Operator) -> None:
    pinned = f"vllm/vllm-openai@sha256:{'a' * 64}"
    machines = (machine(1, images=(image("a"),)), machine(2, images=()))
    ran = check(operator, *machines,
                words=("--runtime", "docker", "--image", pinned, "--output", "json"))  # fmt: skip
    assert told(ran) == [f"note NODE_IMAGE: {pinned} is not on n2: docker would pull it"]


def test_in_containers_the_image_stands_for_the_vllm_on_path(operator: Operator) -> None:
    mine, other = (machine(1, images=(image("a"),)), machine(2, images=(image("b"),), vllm="0.1"))
    ran = check(operator, mine, other, words=("--runtime", "docker"))
    assert f"image        {A}  n1\n           * {B}  n2\n" in ran.out
    assert "vLLM  " not in ran.out
    assert "NODE_VLLM" not in ran.out
    native = check(operator, mine, other)
    assert f"image        {A}  n1\n             {B}  n2\n" in native.out, "it is told all the same"
    assert "NODE_IMAGE" not in native.out


def test_the_odd_one_is_marked(operator: Operator) -> None:
    ran = check(operator, machine(1), machine(2, nvidia_driver="575.1"))
    assert "driver       580.65.06         n1\n           * 575.1             n2\n" in ran.out
    ran = check(operator, machine(1), machine(2, nvidia_driver="575.1"),
                words=("--output", "json"))  # fmt: skip
    row = next(row for row in json.loads(ran.out)["nodes"]["compared"] if row["what"] == "driver")
    assert row == {
        "what": "driver",
        "values": ["580.65.06", "575.1"],
        "usual": "580.65.06",
        "differing": ["n2"],
    }


def test_one_machine_twice_is_found(operator: Operator) -> None:
    ran = check(operator, machine(1), machine(1), words=("--output", "json"))
    assert told(ran) == [
        "fail NODE_TWICE: n1 and n2 have the same GPU, GPU-1-0",
        "fail NODE_TWICE: n1 and n2 have the same address, 10.0.0.1",
    ]
    assert ran.status == 4


def test_too_few_and_too_many(operator: Operator) -> None:
    words = ("--nodes", "3", "--output", "json")
    few = check(operator, machine(1), machine(2), words=words)
    assert told(few) == ["fail NODE_COUNT: the plan is for 3 nodes, and there are the facts of 2"]
    assert few.status == 4
    many = check(operator, machine(1), machine(2), machine(3), words=("--output", "json"))
    assert told(many) == ["note NODE_COUNT: the plan is for 2 nodes, and there are the facts of 3"]
    assert many.status == 0


def test_each_node_is_checked_for_its_own_process(operator: Operator) -> None:
    ran = check(operator, machine(1), machine(2, 4), words=("--output", "json"))
    head, worker = json.loads(ran.out)["nodes"]["processes"]
    assert (head["name"], head["failed"]) == ("head 0", False)
    assert (worker["name"], worker["failed"]) == ("worker 1", True)
    assert "GPU_MISSING" in {found["code"] for found in worker["findings"]}


def test_other_gpus_altogether(operator: Operator) -> None:
    other = machine(2).replace(
        gpus=tuple(amd_gpu(i, uuid=f"a-{i}") for i in range(8)),
        nvidia_driver=None, cuda_driver=None, rocm="7.0", amd_driver="6.12",
    )  # fmt: skip
    lines = told(check(operator, machine(1), other, words=("--output", "json")))
    assert lines[0] == (
        "fail NODE_GPUS: GPUs: 8 × AMD Instinct MI355X on n2; 8 × NVIDIA H200 on the other nodes"
    )


def test_findings_may_be_left_out_or_made_strict(operator: Operator) -> None:
    twice = (machine(1), machine(1))
    assert check(operator, *twice, words=("--skip", "NODE_TWICE")).status == 0
    assert check(operator, machine(1), machine(2, kernel="5.15.0"), words=("--strict",)).status == 0
    other = machine(2, rdma_devices=())
    assert check(operator, machine(1), other, words=("--strict",)).status == 4


def test_a_machine_of_an_older_launcher_can_be_compared(operator: Operator) -> None:
    """Facts that were saved before there were these fields."""
    old = machine(2, vllm=None, kernel=None, interfaces=None, rdma_devices=None)
    path = operator.cwd / "n9.json"
    facts_file.save(old, str(path))
    content = json.loads(path.read_text())
    for key in ("vllm", "kernel", "interfaces", "rdma_devices"):
        del content[key]
    path.write_text(json.dumps(content))
    facts_file.save(machine(1), str(operator.cwd / "n1.json"))
    ran = operator.run(*PLAN, "--host-facts", "n1.json", "--host-facts", "n9.json")
    assert ran.status == 0, ran.out + ran.err
    assert "note NODE_VLLM: vLLM of n9 is not known" in ran.out


def test_a_hosts_name_is_used_where_it_was_saved(operator: Operator) -> None:
    ran = check(operator, machine(1, hostname="rack1-a"), machine(2, 4, hostname="rack1-b"))
    assert "4 × NVIDIA H200 on rack1-b" in " ".join(ran.out.split())


def test_a_file_that_is_no_facts_is_an_error(operator: Operator) -> None:
    (operator.cwd / "n2.json").write_text("{}")
    facts_file.save(machine(1), str(operator.cwd / "n1.json"))
    ran = operator.run(*PLAN, "--host-facts", "n1.json", "--host-facts", "n2.json")
    assert 'error: n2.json has no "format"' in ran.error


@pytest.mark.parametrize("how", ["", "--no-color", "NO_COLOR", "TERM"])
def test_a_terminal_gets_a_table_with_colour_where_it_takes_that(
    operator: Operator, how: str
) -> None:
    for number in (1, 2):
        facts_file.save(
            machine(number, kernel=f"6.{number}"), str(operator.cwd / f"n{number}.json")
        )
    if how in ("NO_COLOR", "TERM"):
        operator.env[how] = "dumb"
    first = (how,) if how.startswith("-") else ()
    shown = on_terminal(
        operator, *first, *PLAN, "--host-facts", "n1.json", "--host-facts", "n2.json"
    )
    assert ("\x1b[1;31m6.2" in shown) is (how == "")
    assert ("\x1b" in shown) is (how == "")
    assert "6.2" in shown


def test_detect_saves_what_is_compared(operator: Operator, host: Any, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    ran = operator.run("detect", "--save", str(path), env=host("h200_8x"))
    assert ran.status == 0, ran.err
    facts = facts_file.load(str(path))
    assert facts.kernel == os.uname().release
    assert facts.vllm == ""
    assert facts.interfaces is not None
    assert not [one for one in facts.interfaces if one.name == "lo"]
    assert facts.hostname is None
    assert facts.images == ()


def test_detect_saves_the_images_that_an_engine_lists(
    operator: Operator, host: Any, tmp_path: Path
) -> None:
    listed = f"{IMAGE.replace(':', ' ')} sha256:{'a' * 64} sha256:{'b' * 64}"
    operator.script("docker", f"#!/bin/sh\necho '{listed}'\n")
    path = tmp_path / "facts.json"
    ran = operator.run("detect", "--save", str(path), env=host("h200_8x"))
    assert ran.status == 0, ran.err
    assert facts_file.load(str(path)).images == (image("a", id=f"sha256:{'b' * 64}"),)


def test_hosts_of_one_name_go_by_their_files(operator: Operator) -> None:
    twins = (machine(1, hostname="vm"), machine(2, hostname="vm"))
    body = json.loads(check(operator, *twins, words=("-o", "json")).out)["nodes"]
    assert body["nodes"] == ["n1", "n2"]
    named = (machine(1, hostname="a"), machine(2, hostname="b"))
    body = json.loads(check(operator, *named, words=("-o", "json")).out)["nodes"]
    assert body["nodes"] == ["a", "b"]


def test_each_review_names_its_machine(operator: Operator) -> None:
    ran = check(operator, machine(1), machine(2), words=("-o", "json"))
    processes = json.loads(ran.out)["nodes"]["processes"]
    assert [(one["node"], one["name"]) for one in processes] == [
        ("n1", "head 0"), ("n2", "worker 1"),
    ]  # fmt: skip
    ran = check(
        operator, machine(1), machine(2), words=("--strategy", "single_node_tp", "--nodes", "1")
    )
    assert [line for line in ran.out.splitlines() if line.endswith("server 0")] == [
        "n1: server 0", "n2: server 0",
    ]  # fmt: skip


def test_facts_of_one_machine_are_not_mixed_with_this_one(operator: Operator) -> None:
    """No program, disk, device or port of the machine that the check is run on counts."""
    ran = check(operator, machine(1), words=("--nodes", "1", "--strategy", "single_node_tp"))
    assert ran.status == 0, ran.out
    assert not [line for line in ran.out.splitlines() if line.startswith(("fail", "warn"))]


FACTS: dict[str, tuple[HostFacts, tuple[str, ...], list[str]]] = {
    "memory": (
        machine(1, memory_bytes=64 << 30, memory_available_bytes=20 << 30),
        ("--kv-offload", "simple"),
        ["KV_HOST_RAM: 1760 GiB of host memory needed, 20 GiB available"],
    ),
    "device files": (
        amd_host(device_access=(("/dev/kfd", "Permission denied"),), vllm="0.33.0"),
        (),
        ["AMD_DEVICES: /dev/kfd: permission denied"],
    ),
    "no device file": (
        amd_host(device_access=(("/dev/kfd", "No such file or directory"),), vllm="0.33.0"),
        (),
        ["AMD_DEVICES: /dev/kfd: not there"],
    ),
    "no vLLM": (machine(1, vllm=""), (), ["VLLM_MISSING: vllm is not on PATH"]),
    "NUMA": (
        machine(1, numa_nodes=(NumaNode(node=0, cpus=8, memory_bytes=1 << 40),)),
        ("--", "--numa-bind"),
        ["NUMA: --numa-bind is given, and this machine has one NUMA node"],
    ),
    "all is well": (machine(1), (), []),
}
ONE = ("check", M3, "--strategy", "single_node_tp", "--host-facts", "n.json", "--output", "json",
       "--skip", "CONTEXT_TOO_LONG")  # fmt: skip


@pytest.mark.parametrize(("facts", "words", "failures"), FACTS.values(), ids=FACTS)
def test_what_saved_facts_answer_is_checked(
    operator: Operator, facts: HostFacts, words: tuple[str, ...], failures: list[str]
) -> None:
    facts_file.save(facts, str(operator.cwd / "n.json"))
    ran = operator.run(*ONE, *words)
    (one,) = ran.json["check"]
    assert failures == [
        f"{f['code']}: {f['what']}" for f in one["findings"] if f["severity"] == "fail"
    ]
    assert ran.status == (4 if failures else 0)


def test_checks_that_need_the_machine_itself_are_counted_and_named(operator: Operator) -> None:
    facts_file.save(machine(1), str(operator.cwd / "n.json"))
    one = operator.run(*ONE).json["check"][0]
    assert one["not_made"] == [
        "DRIVER_CUDA", "PYTHON", "SHM", "NOFILE", "PORT_BUSY", "DISK", "SUDO_HOME", "HF_OFFLINE",
        "HF_GATED",
    ]  # fmt: skip
    assert one["skipped"] == ["CONTEXT_TOO_LONG"]
    told = operator.run(*ONE, "--output", "text").out
    assert told.endswith(" passed, 1 skipped, 9 need the machine itself\n"), told


def test_causes_that_stand_in_a_recipe_have_their_line(operator: Operator) -> None:
    old = {"nvidia_driver": "470.82.01", "cuda_driver": "11.4", "vllm": "0.20.0"}
    gpus = tuple(gpu(i, compute_capability="8.9") for i in range(8))
    facts_file.save(machine(1, **old).replace(gpus=gpus), str(operator.cwd / "n.json"))
    found = operator.run(*ONE).json["check"][0]["findings"]
    lines = (Path(bundled().directory) / "models" / f"{M3}.yaml").read_text().splitlines()
    told = {one["cause"]: lines[one["line"] - 1].strip() for one in found if one["file"]}
    assert told["model.prerequisites.min_nvidia_driver"] == 'min_nvidia_driver: "580"'
    assert told["model.prerequisites.min_compute_capability"] == 'min_compute_capability: "9.0"'
    assert told["model.min_vllm_version"] == 'min_vllm_version: "0.24.0"'


def test_two_nodes_without_vllm_are_alike_and_cannot_serve(operator: Operator) -> None:
    ran = check(operator, machine(1, vllm=""), machine(2, vllm=""), words=("-o", "json"))
    assert told(ran) == []
    for one in json.loads(ran.out)["nodes"]["processes"]:
        assert [f["code"] for f in one["findings"] if f["severity"] == "fail"] == ["VLLM_MISSING"]
    assert ran.status == 4


def test_facts_of_one_machine_are_those_of_every_node(operator: Operator) -> None:
    ran = check(operator, machine(1, vllm="0.1.0"), words=("-o", "json"))
    processes = json.loads(ran.out)["check"]
    assert [one["name"] for one in processes] == ["head 0", "worker 1"]
    assert ran.status == 4
    for one in processes:
        assert "VERSION" in {found["code"] for found in one["findings"]}
