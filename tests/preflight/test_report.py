"""Remedies as a script, and what has to be read for a plan."""

from __future__ import annotations

import subprocess

from tests.preflight.build import NIXL, connector, process, situation, transfer
from vllm_launch.model.finding import Finding
from vllm_launch.model.system import Wanted
from vllm_launch.preflight import script, wanted

PAGES = Finding(
    code="HUGETLB",
    severity="fail",
    what="2240 pages of 1 GiB needed",
    remedy="Reserve them.",
    command="echo 2240 | sudo tee /sys/x",
)
NO_COMMAND = Finding(code="DISK", severity="warn", what="20 GiB free", remedy="Free some\nspace.")
NOTE = Finding(code="HOST_FACTS", severity="note", what="not checked", command="true")


def test_each_remedy_under_what_it_mends() -> None:
    assert script([PAGES, NO_COMMAND, NOTE, PAGES]) == (
        "#!/bin/sh\n"
        "# Read before running: each command mends one finding of vllm-launch check.\n"
        "set -eu\n"
        "\n"
        "# HUGETLB: 2240 pages of 1 GiB needed\n"
        "# Reserve them.\n"
        "echo 2240 | sudo tee /sys/x\n"
        "\n"
        "# DISK: 20 GiB free\n"
        "# Free some space.\n"
    )


def test_nothing_to_mend() -> None:
    assert script([]) == script([NOTE]) == ""


def test_text_of_others_stays_a_comment() -> None:
    evil = Finding(code="X", severity="fail", what="a\nrm -rf /\r\nb", remedy="c\n$(id)")
    text = script([evil])
    assert [line for line in text.splitlines() if line and not line.startswith(("#", "set"))] == []


def test_every_script_is_one_that_a_shell_reads() -> None:
    from tests.preflight.test_registry import CASES
    from vllm_launch.preflight import run_checks

    texts = {script(run_checks(case.situation)) for case in CASES}
    done = subprocess.run(
        ["sh", "-n"], input="\n".join(texts), text=True, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_plain_plan_wants_little() -> None:
    assert wanted(situation("-tp 2 --port 8100")) == Wanted(
        ports=(("", 8100),), model="org/model", program="vllm", limits=True, fabric=True
    )


def test_a_container_is_asked_about_and_not_the_environment() -> None:
    plan = situation("", runtime="podman", image="vllm/vllm-openai:v0.33.0")
    assert wanted(plan) == Wanted(
        ports=(("", 8000),),
        model="org/model",
        engine="podman",
        image="vllm/vllm-openai:v0.33.0",
        variables=(("HF_HUB_OFFLINE", ""), ("TRANSFORMERS_OFFLINE", "")),
    )


def test_paths_of_a_container_are_not_this_hosts() -> None:
    env = {"HF_HOME": "/models", "HF_HUB_OFFLINE": "1"}
    assert wanted(situation("", env)).variables == tuple(env.items())
    assert wanted(situation("", env, runtime="docker")).variables == (
        ("HF_HUB_OFFLINE", "1"),
        ("TRANSFORMERS_OFFLINE", ""),
    )


def test_a_plan_over_nodes_wants_the_network() -> None:
    env = {"VLLM_NIXL_SIDE_CHANNEL_HOST": "10.0.0.1", "NCCL_MNNVL_ENABLE": "1"}
    plan = situation(
        f"--numa-bind -tp 2 {NIXL}",
        env,
        hardware="gb200",
        role="prefill",
        deploy_type="pd_cluster",
        others=[process("", role="decode")],
    )
    found = wanted(plan, ask_hub=True)
    assert found.names == ("10.0.0.1",)
    assert found.ports == (("", 8000), ("", 5600))
    assert (found.interfaces, found.rdma, found.imex, found.numa, found.ask_hub) == (True,) * 5
    assert not found.huge_pages


def test_pages_are_counted_where_json_asks_for_them() -> None:
    huge = connector("SimpleCPUOffloadConnector", cpu_hugepage_block_size="2MB")
    assert wanted(situation(transfer(**huge))).huge_pages
    assert not wanted(situation(transfer(**connector("SimpleCPUOffloadConnector")))).huge_pages


def test_amd_device_files_for_amd() -> None:
    assert wanted(situation("", hardware="mi355x")).amd
    assert not wanted(situation("")).amd
