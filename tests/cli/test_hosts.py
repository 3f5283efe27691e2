"""Planning for the GPUs that are there: on stubbed hosts, and from their saved facts."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.launcher import FLASH, M3, Host, Operator
from tests.host.nvml_stub import H200, machine, write

DRY = ("serve", FLASH, "--dry-run")
NO_AMD = pytest.mark.skipif(os.path.exists("/sys/class/kfd"), reason="this machine is an AMD host")


def flags(printed: str) -> dict[str, str]:
    """The printed command's flags with their first values."""
    lines = printed.split("vllm serve ", 1)[-1].split(" \\\n")
    words = [shlex.split(line) for line in lines]
    return {line[0]: " ".join(line[1:2]) for line in words if line[0].startswith("-")}


def exports(printed: str) -> list[str]:
    return [line for line in printed.splitlines() if line.startswith("export ")]


@pytest.mark.parametrize(
    ("scenario", "variant", "tp", "kv"),
    [
        pytest.param("h200_8x", "fp8", "8", "fp8", id="8 H200"),
        pytest.param("b300_8x", "default", "8", "nvfp4", id="8 B300"),
        pytest.param("gb200_4x", "default", "4", "nvfp4", id="4 GB200"),
        pytest.param("h200_4x", "fp8", "4", "fp8", id="4 H200"),
    ],
)
def test_the_gpus_decide(
    operator: Operator, host: Host, scenario: str, variant: str, tp: str, kv: str
) -> None:
    ran = operator.run(*DRY, env=host(scenario))
    assert ran.status == 0, ran.err
    assert f"variant {variant}" in ran.err
    given = flags(ran.out)
    assert given["--tensor-parallel-size"] == tp
    assert given["--kv-cache-dtype"] == kv
    assert not [line for line in exports(ran.out) if "VISIBLE_DEVICES" in line]


def test_what_was_found_and_why_another_variant_was_taken_is_said(
    operator: Operator, host: Host
) -> None:
    ran = operator.run(*DRY, env=host("h200_8x"))
    lines = ran.err.splitlines()
    assert lines[0] == (
        f"# {FLASH}: h200 · single_node_tp · variant fp8 · features tool_calling, reasoning"
    )
    assert lines[1] == (
        "# hardware h200: 8 x NVIDIA H200 is profile h200 (by name NVIDIA H200 and compute "
        "capability 9.0)"
    )
    assert lines[2] == (
        "# variant fp8: variant default runs on b200, gb200, b300, gb300, mi355x only; the largest "
        "that runs there"
    )
    assert "# note: the feature spec_decoding is off: it does not run on h200" in lines


def test_the_usual_variant_needs_no_words(operator: Operator, host: Host) -> None:
    ran = operator.run(*DRY, env=host("b300_8x"))
    assert "# hardware b300: 8 x NVIDIA B300 SXM6 AC is profile b300" in ran.err
    assert "# variant" not in ran.err


def test_explain_says_why_too(operator: Operator, host: Host) -> None:
    ran = operator.run("explain", FLASH, "-o", "json", env=host("h200_8x"))
    reasons = {reason["subject"]: reason for reason in ran.json["deployment"]["reasons"]}
    assert reasons["hardware"]["picked"] == "h200"
    assert "8 x NVIDIA H200" in reasons["hardware"]["why"]
    assert reasons["variant"]["picked"] == "fp8"
    assert "default runs on" in reasons["variant"]["why"]


def test_the_server_is_started_on_what_was_found(operator: Operator, host: Host) -> None:
    operator.install("vllm")
    ran = operator.run("serve", FLASH, "--skip", "all", env=host("h200_8x"))
    assert ran.argv[:2] == ["serve", FLASH]
    assert "--moe-backend marlin" in " ".join(ran.argv)


@pytest.mark.parametrize("words", [("--hardware", "auto"), ()], ids=["auto", "left out"])
def test_auto_is_what_comes_without_hardware(
    operator: Operator, host: Host, words: tuple[str, ...]
) -> None:
    env = host("b300_8x")
    assert operator.run(*DRY, *words, env=env).out == operator.run(*DRY, env=env).out


def test_hardware_that_is_named_is_not_looked_for(operator: Operator, host: Host) -> None:
    ran = operator.run(*DRY, "--hardware", "b300", env=host("h200_8x"))
    assert "variant default" in ran.err


# Some of the GPUs.


@pytest.mark.parametrize(
    ("gpus", "mask"),
    [
        pytest.param("0,1,2,3", "0,1,2,3", id="the first four"),
        pytest.param("7,5", "7,5", id="in another order"),
        pytest.param("GPU-00000000-0000-4000-8000-000000000001,3", "1,3", id="by UUID"),
    ],
)
def test_gpus_limits_the_native_server(
    operator: Operator, host: Host, gpus: str, mask: str
) -> None:
    ran = operator.run(*DRY, "--gpus", gpus, env=host("b300_8x"))
    assert f"export CUDA_VISIBLE_DEVICES={mask}" in exports(ran.out)
    assert flags(ran.out)["--tensor-parallel-size"] == str(len(mask.split(",")))


@pytest.mark.parametrize(
    ("engine", "devices"),
    [
        ("docker", ["--gpus", '"device=0,1,2,3"']),
        ("podman", [word for n in range(4) for word in ("--device", f"nvidia.com/gpu={n}")]),
    ],
)
def test_gpus_limits_the_container(
    operator: Operator, host: Host, engine: str, devices: list[str]
) -> None:
    operator.install(engine)
    ran = operator.run(
        "serve",
        FLASH,
        "--gpus",
        "0,1,2,3",
        "--runtime",
        engine,
        "--skip",
        "all",
        env=host("h200_8x"),
    )
    assert ran.argv[1 : 1 + len(devices)] == devices
    assert "CUDA_VISIBLE_DEVICES" not in str(ran.argv)
    assert ran.argv[ran.argv.index("--tensor-parallel-size") + 1] == "4"


@pytest.mark.parametrize(
    ("gpus", "told"),
    [
        ("0,9", "'9' names no GPU; here are 0, 1, 2, 3, or a UUID such as GPU-1a2b…"),
        ("GPU-0", "'GPU-0' names 4 GPUs: give a UUID, or more of it"),
        ("1,1", "GPU 1 is named twice"),
        ("all", "'all' names no GPU; here are 0, 1, 2, 3, or a UUID such as GPU-1a2b…"),
    ],
    ids=["no such index", "several", "twice", "no index"],
)
def test_gpus_that_are_not_there(operator: Operator, host: Host, gpus: str, told: str) -> None:
    ran = operator.run(*DRY, "--gpus", gpus, env=host("h200_4x"))
    assert ran.status == 2
    assert ran.error == f"error: --gpus: {told}\n  see vllm-launch detect\n"


def test_of_seven_gpus_as_many_are_used_as_heads_divide_by(operator: Operator, host: Host) -> None:
    ran = operator.run(*DRY, env=host("h200_one_lost"))
    [mask] = [line for line in exports(ran.out) if "VISIBLE_DEVICES" in line]
    used = mask.partition("=")[2].split(",")
    assert len(used) == 4
    assert all(name.startswith("GPU-") for name in used), "numbers may be others without GPU 3"
    assert flags(ran.out)["--tensor-parallel-size"] == "4"
    assert "left out: NVIDIA GPU 3 does not answer: GPU is lost" in ran.err
    assert "4 of 7 GPUs, a number that most models' heads divide by" in ran.err


def test_a_size_that_is_asked_for_is_used_as_it_is(operator: Operator, host: Host) -> None:
    ran = operator.run(*DRY, "--tp", "7", env=host("h200_one_lost"))
    assert flags(ran.out)["--tensor-parallel-size"] == "7"


@pytest.mark.parametrize(
    ("mask", "gpus"),
    [
        pytest.param("0,1,2,3", "0,1,2,3", id="indices"),
        pytest.param(
            "GPU-00000000-0000-4000-8000-000000000006,GPU-00000000-0000-4000-8000-000000000004",
            "6,4",
            id="UUID",
        ),
    ],
)
def test_gpus_that_the_environment_hides_are_not_planned_with(
    operator: Operator, host: Host, mask: str, gpus: str
) -> None:
    env = host("b300_8x") | {"CUDA_VISIBLE_DEVICES": mask}
    ran = operator.run(*DRY, env=env)
    assert not [line for line in exports(ran.out) if "VISIBLE_DEVICES" in line], "it is there"
    assert flags(ran.out)["--tensor-parallel-size"] == str(len(gpus.split(",")))
    operator.install("docker")
    contained = operator.run("serve", FLASH, "--runtime", "docker", "--skip", "all", env=env)
    assert contained.argv[1:3] == ["--gpus", f'"device={gpus}"'], "where it would not be"


def test_gpus_beyond_the_mask_contradict_it(operator: Operator, host: Host) -> None:
    env = host("b300_8x") | {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}
    ran = operator.run(*DRY, "--gpus", "3,4", env=env)
    assert ran.status == 2
    assert ran.error == (
        "error: --gpus names GPU 4, hidden by CUDA_VISIBLE_DEVICES=0,1,2,3\n"
        "  see vllm-launch detect\n"
    )


@pytest.mark.parametrize("mask", ["", "-1", "NoDevFiles"])
def test_an_environment_that_hides_every_gpu(operator: Operator, host: Host, mask: str) -> None:
    ran = operator.run(*DRY, env=host("b300_8x") | {"CUDA_VISIBLE_DEVICES": mask})
    assert ran.status == 3
    assert ran.error == (
        f"error: every GPU of this host is hidden: CUDA_VISIBLE_DEVICES={mask} hides every "
        "NVIDIA GPU\n"
        "  unset it, or give --gpus 0,1,…\n"
    )


def test_an_environment_that_names_gpus_of_another_host(operator: Operator, host: Host) -> None:
    ran = operator.run(*DRY, env=host("h200_4x") | {"CUDA_VISIBLE_DEVICES": "6,7"})
    assert ran.status == 2
    assert ran.error.startswith("error: CUDA_VISIBLE_DEVICES=6,7: '6' names no GPU here (there ")


# Where nothing fits.


@pytest.mark.parametrize(
    ("scenario", "words", "told", "hint"),
    [
        pytest.param(
            "h200_8x", ("serve", FLASH, "--variant", "default"),
            "variant default runs on b200, gb200, b300, gb300, mi355x only",
            "on h200: --variant fp8", id="a variant for other GPUs",
        ),
        pytest.param(
            "h200_8x", ("serve", M3, "--preset", "mi355x_agentx", "--hardware", "auto"),
            "the preset mi355x_agentx is for mi355x, and this host is h200",
            "to plan for another machine, give --hardware mi355x", id="a preset for other GPUs",
        ),
        pytest.param(
            "rtx_5090_2x", ("serve", FLASH),
            f"rtx_5090_2x is for recipes that list it, and {FLASH} does not",
            "hardware that it runs on: h100, h200, b200, gb200, b300, gb300, mi355x",
            id="no server GPUs",
        ),
    ],
)  # fmt: skip
def test_nothing_fits_is_status_3_and_says_what_would(
    operator: Operator, host: Host, scenario: str, words: tuple[str, ...], told: str, hint: str
) -> None:
    ran = operator.run(*words, env=host(scenario))
    assert ran.status == 3
    assert ran.error == f"error: {told}\n  {hint}\n"


def test_weights_that_do_not_fit(operator: Operator, host: Host) -> None:
    ran = operator.run(*DRY, "--gpus", "0", env=host("h200_8x"))
    assert ran.status == 3
    assert "needs 257 GB, and 1 GPU of h200" in ran.error


def test_gpus_that_no_profile_names_are_planned_for_by_what_they_measure(
    operator: Operator, host: Host, nvml: Path
) -> None:
    write(nvml, "unknown", machine([{**H200, "name": "NVIDIA X999", "cc": "8.0"}] * 8))
    ran = operator.run("serve", M3, "--dry-run", env=host("unknown"))
    assert ran.status == 0, ran.error
    assert flags(ran.out)["--tensor-parallel-size"] == "8"
    assert "# hardware generic_nvidia_sm80: " in ran.err
    assert "no recipe was verified" in ran.err


NO_DRIVER = {
    "no_driver": "not found",
    "not_loaded": "the library is there, the kernel driver is not loaded",
    "mismatch": "library and kernel driver are of different versions: reload the driver, or reboot",
    "no_gpus": "no GPU, driver 580.95.05",
}


@NO_AMD
@pytest.mark.parametrize(("scenario", "outcome"), NO_DRIVER.items(), ids=NO_DRIVER)
def test_no_gpu_says_what_was_looked_for_and_how_to_plan_for_another_machine(
    operator: Operator, host: Host, scenario: str, outcome: str
) -> None:
    ran = operator.run(*DRY, env=host(scenario))
    assert ran.status == 3
    message, hint = ran.error.splitlines()
    assert message.startswith(
        f"error: no GPU found on this host (NVIDIA driver (libnvidia-ml.so.1): {outcome}; AMD SMI "
        "library (Python package amdsmi): "
    )
    for what in ("amd-smi command: not found", "AMD kernel driver (/sys/class/kfd"):
        assert what in message
    assert hint == (
        "  --hardware cpu plans for this machine's CPUs; to plan for another machine, give "
        "--hardware ID (as in --hardware b300 --dry-run) or --host-facts FILE"
    )


@NO_AMD
def test_gpus_of_a_host_without_any(operator: Operator, host: Host) -> None:
    ran = operator.run(*DRY, "--gpus", "0,1", env=host("no_driver"))
    assert ran.status == 3
    assert ran.error.startswith("error: no GPU found on this host (")


# detect.


def test_detect_names_the_gpus_their_profile_and_their_driver(
    operator: Operator, host: Host
) -> None:
    ran = operator.run("detect", env=host("h200_8x"))
    text = " ".join(ran.out.split())
    assert text.count("140.4 GiB") == 8
    assert "8 x NVIDIA H200 is profile h200 (by name NVIDIA H200 and compute capability " in text
    assert "580.95.05" in text
    assert "13.0" in text
    assert (ran.status, ran.err) == (0, "")


@NO_AMD
def test_detect_without_a_gpu_is_an_answer_too(operator: Operator, host: Host) -> None:
    ran = operator.run("detect", env=host("no_driver"))
    assert ran.status == 0
    assert ran.out.startswith("no GPU\n")
    assert "no GPU was found" in ran.out
    assert "looked for NVIDIA driver (libnvidia-ml.so.1): not found" in ran.out


def save(operator: Operator, host: Host, scenario: str) -> Path:
    path = operator.cwd / f"{scenario}.json"
    ran = operator.run("detect", "--save", path.name, env=host(scenario))
    assert ran.status == 0
    assert ran.err == f"wrote {path.name}\n"
    assert ran.out
    return path


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        pytest.param("h200_8x", (), id="8 H200"),
        pytest.param("b300_8x", ("--gpus", "0,1,2,4"), id="some of 8 B300"),
        pytest.param("h200_one_lost", (), id="one that does not answer"),
    ],
)
def test_saved_facts_give_the_same_plan_elsewhere(
    operator: Operator, host: Host, scenario: str, words: tuple[str, ...]
) -> None:
    path = save(operator, host, scenario)
    there = operator.run(*DRY, *words, env=host(scenario))
    here = operator.run(*DRY, *words, "--host-facts", path, env=host("no_driver"))
    assert there.status == 0
    assert (here.out, here.err) == (there.out, there.err)


def test_saved_facts_are_not_changed_by_the_masks_of_the_one_who_plans(
    operator: Operator, host: Host
) -> None:
    path = save(operator, host, "b300_8x")
    ran = operator.run(*DRY, "--host-facts", path, env={"CUDA_VISIBLE_DEVICES": "0"})
    assert flags(ran.out)["--tensor-parallel-size"] == "8"


def test_saved_facts_name_no_machine_and_no_person(operator: Operator, host: Host) -> None:
    text = save(operator, host, "h200_8x").read_text()
    for private in (os.uname().nodename, str(operator.home), str(operator.cwd)):
        assert f'"{private}"' not in text
    assert {"format", "version", "gpus"} <= json.loads(text).keys()


def test_facts_without_a_gpu_are_named_in_the_error(operator: Operator) -> None:
    file = operator.cwd / "node7.json"
    file.write_text('{"format": "vllm-launch host facts", "version": 1, "gpus": []}')
    ran = operator.run(*DRY, "--host-facts", "node7.json")
    assert ran.status == 3
    assert ran.error == ("error: no GPU found on node7.json\n  --hardware cpu plans for its CPUs\n")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="no JSON"),
        pytest.param("[]", id="no mapping"),
        pytest.param('{"format": "vllm-launch host facts", "version": 2, "gpus": []}', id="newer"),
        pytest.param('{"format": "vllm-launch host facts", "version": 1}', id="no GPUs"),
        pytest.param('{"format": "vllm-launch host facts", "version": 1, "gpus": [{}]}', id="gap"),
    ],
)
def test_what_are_no_host_facts(operator: Operator, content: str) -> None:
    (operator.cwd / "facts.json").write_text(content)
    ran = operator.run(*DRY, "--host-facts", "facts.json")
    assert ran.status == 2
    assert "facts.json" in ran.error


# amdsmi, which is there or not, and whole or not.

BROKEN = {
    "absent": "raise ModuleNotFoundError('No module named amdsmi')",
    "without ROCm": "print('Unable to find libamd_smi.so'); raise KeyError('ROCM_HOME')",
    "exiting": "print('noise'); raise SystemExit(1)",
    "no functions": "print('noise')",
    "failing": "import os; os.write(1, b'noise')\ndef amdsmi_init(): raise RuntimeError('no')",
    "not Python": "def (",
    "of another ABI": "raise ImportError('libamd_smi.so.26: cannot open shared object file')",
}


@pytest.mark.parametrize("code", BROKEN.values(), ids=BROKEN)
def test_a_broken_amdsmi_is_a_line_of_what_was_looked_for(
    operator: Operator, host: Host, tmp_path: Path, code: str
) -> None:
    (tmp_path / "amdsmi.py").write_text(code)
    env = host("h200_8x") | {"PYTHONPATH": str(tmp_path)}
    ran = operator.run("detect", "-o", "json", env=env)
    assert (ran.status, ran.err) == (0, "")
    body: dict[str, Any] = ran.json["host"]
    assert body["profile"] == "h200"
    [reason] = [why for what, why in body["facts"]["looked_for"] if "amdsmi" in what]
    assert reason
