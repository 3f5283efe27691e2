"""Hardware profiles of an operator's own, and what detect writes about a host."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.launcher import M3, Host, Operator
from tests.host.nvml_stub import H200, machine, write

LAB = """\
hardware_profiles:
  lab:
    brand: NVIDIA
    generation: ampere
    gpu_count: 4
    vram_gb: 320
    gpu_names: ["A100-SXM4-80GB"]
"""


@pytest.fixture
def lab(operator: Operator) -> Operator:
    directory = operator.home / ".config" / "vllm-launch"
    directory.mkdir(parents=True)
    (directory / "hardware.yaml").write_text(LAB, encoding="utf-8")
    return operator


def test_a_profile_of_ones_own_can_be_planned_for(lab: Operator) -> None:
    ran = lab.run("serve", M3, "--hardware", "lab", "--variant", "mxfp8", "--dry-run")
    assert ran.status == 0, ran.error
    assert "# MiniMaxAI/MiniMax-M3: lab × 2 nodes" in ran.err


def test_a_profile_of_ones_own_matches_the_gpus_that_it_names(
    lab: Operator, host: Host, nvml: object
) -> None:
    write(nvml, "a100", machine([{**H200, "name": "NVIDIA A100-SXM4-80GB", "cc": "8.0"}] * 4))  # type: ignore[arg-type]
    ran = lab.run("detect", "--output", "json", env=host("a100"))
    assert ran.json["host"]["profile"] == "lab"
    assert ran.json["host"]["gpus"] == [0, 1, 2, 3]


def test_a_fault_in_it_names_the_file(lab: Operator) -> None:
    path = lab.home / ".config" / "vllm-launch" / "hardware.yaml"
    path.write_text("hardware_profiles:\n  lab:\n    brand: NVIDIA\n", encoding="utf-8")
    ran = lab.run("serve", M3, "--hardware", "lab", "--dry-run")
    assert ran.status == 2
    assert f"{path}:3:5: hardware_profiles.lab: the key 'generation' is missing" in ran.err


@pytest.mark.parametrize("asked", [False, True], ids=["left out", "asked for"])
def test_the_hosts_name_is_written_only_where_it_is_asked_for(
    operator: Operator, host: Host, asked: bool
) -> None:
    words = ["detect", "--save", "facts.json", *(["--with-hostname"] if asked else [])]
    ran = operator.run(*words, env=host("h200_8x"))
    assert ran.status == 0, ran.error
    saved = json.loads((operator.cwd / "facts.json").read_text(encoding="utf-8"))
    assert (os.uname().nodename in json.dumps(saved)) is asked
