"""The list of checks, and what runs them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.preflight import (
    test_arguments,
    test_asked,
    test_beside,
    test_container,
    test_driver,
    test_environment,
    test_gpus,
    test_hugetlb,
    test_memory,
    test_model,
    test_network,
    test_versions,
)
from tests.preflight.build import amd_host, host, situation
from vllm_launch.model.finding import Check, Finding
from vllm_launch.options import COMMANDS
from vllm_launch.preflight import CHECKS, Situation, registry, review, run_checks, unknown_codes
from vllm_launch.vllm_options import load

MODULES = (
    test_arguments,
    test_asked,
    test_beside,
    test_container,
    test_driver,
    test_environment,
    test_gpus,
    test_hugetlb,
    test_memory,
    test_model,
    test_network,
    test_versions,
)
CASES = [case for module in MODULES for case in module.CASES]
ROOM = Path(registry.__file__).parent
BAD = "--port http --api-key sk-1"


@pytest.mark.parametrize("kind", ["pass", "found", "unknown"])
@pytest.mark.parametrize("code", [check.code for check in CHECKS])
def test_every_check_is_seen_to_pass_to_find_and_not_to_know(code: str, kind: str) -> None:
    assert [case for case in CASES if (case.code, case.kind) == (code, kind)]


def test_cases_are_told_apart() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_kinds_are_what_they_say(case) -> None:  # type: ignore[no-untyped-def]
    """What passes says nothing; what is not known is never a failure."""
    told = case.told or []
    assert bool(told) is (case.kind == "found") or case.kind == "unknown"
    if case.kind == "unknown":
        assert not [line for line in told if line.startswith("fail")]


def test_codes_are_told_apart_and_stable() -> None:
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert all(code.replace("_", "").isalnum() and code == code.upper() for code in codes)


def test_every_check_says_what_it_is_about() -> None:
    assert all(check.subject and check.about for check in CHECKS)
    assert all(len(check.about) <= 75 and not check.about.endswith(".") for check in CHECKS)


def test_every_message_is_one_line() -> None:
    for case in CASES:
        for finding in run_checks(case.situation):
            assert "\n" not in finding.what
            assert finding.what == finding.what.strip()
            assert not finding.what.endswith((".", ":"))


def test_failures_and_warnings_say_why_and_what_to_do() -> None:
    for case in CASES:
        for finding in run_checks(case.situation):
            texts = (finding.why, finding.remedy)
            assert all(texts) or finding.severity == "note", finding.code
            assert not [text for text in texts if text and text[-1] not in ".…?"]


# Where the machine is to blame, what is installed or what is left out, not something given.
NOT_OF_THE_PLAN = {
    "AMD_DEVICES", "AMD_PARTITION", "DRIVER_CUDA", "FABRIC_802", "FLAG_VALUE", "GPU_ECC",
    "GPU_LOST", "GPU_MEMORY", "GPU_MIG", "HF_GATED", "MIXED_GPUS", "MODEL_INCOMPLETE", "NOFILE",
    "PARSER_REFUSES", "PARSER_SILENT", "SHM", "VLLM_MISSING",
}  # fmt: skip


def test_what_is_behind_a_finding_is_named() -> None:
    found = [finding for case in CASES for finding in run_checks(case.situation)]
    bare = {one.code for one in found if one.severity != "note" and not one.cause}
    assert bare == NOT_OF_THE_PLAN


# What is looked at in a plan of no features, on a machine whose facts are there.
ALWAYS = {
    "ARG_CONFLICT", "ARG_DEPRECATED", "BOOL_FALSE", "DISK", "FLAG_UNKNOWN", "FLAG_VALUE",
    "HARDWARE_FIT", "HF_GATED", "MASK", "PLACEHOLDER", "PORT_BUSY", "PORT_CLASH", "SUDO_HOME",
    "TILDE", "TOKEN_ARGV", "VERSION_UNLISTED",
}  # fmt: skip
ON_GPUS = {"GPU_BUSY", "GPU_ECC", "GPU_LOST", "GPU_MEMORY", "GPU_MISSING", "HOST_FACTS"}
NATIVE = {"NOFILE", "VLLM_MISSING"}
IN_A_CONTAINER = {"ENGINE", "ENTRYPOINT", "IMAGE_TAG", "TOOLKIT"}
OF_NVIDIA = {"DRIVER_CUDA", "GPU_MIG", "MIXED_GPUS"}


@pytest.mark.parametrize(
    ("plan", "applying"),
    [
        pytest.param(
            situation(facts=host()), ALWAYS | NATIVE | ON_GPUS | OF_NVIDIA, id="NVIDIA, native"
        ),
        pytest.param(
            situation(facts=host(), runtime="docker"),
            ALWAYS | IN_A_CONTAINER | ON_GPUS | OF_NVIDIA,
            id="NVIDIA, docker",
        ),
        pytest.param(
            situation(hardware="mi355x", facts=amd_host()),
            ALWAYS | NATIVE | ON_GPUS | {"AMD_DEVICES", "AMD_PARTITION"},
            id="AMD",
        ),
        pytest.param(situation(hardware="ironwood"), ALWAYS | NATIVE | {"GPU_MEMORY"}, id="TPU"),
        pytest.param(situation(hardware="xeon6"), ALWAYS | NATIVE | {"CPU_MEMORY"}, id="CPU"),
        pytest.param(
            situation(), ALWAYS | NATIVE | {"GPU_MEMORY", "HOST_FACTS"}, id="no facts of a host"
        ),
    ],
)
def test_which_checks_apply(plan: Situation, applying: set[str]) -> None:
    found = review(plan)
    assert {*found.passed, *(one.code for one in found.findings)} == applying


def test_remedies_name_options_that_there_are() -> None:
    known = {flag for command in COMMANDS for option in command.options for flag in option.flags}
    table = load()
    named = {
        flag
        for case in CASES
        for finding in run_checks(case.situation)
        for flag in re.findall(r"(?<![\w-])--?[a-z][\w-]*", finding.remedy)
    }
    own = {flag for flag in named if not table.having_flag(flag.replace("--no-", "--"))}
    assert own & known
    assert own - known == {"--cap-add", "--device", "--ipc", "--shm-size", "--ulimit"}  # engines'


def test_findings_carry_their_checks_code_failures_first() -> None:
    found = run_checks(situation(BAD, nofile=10))
    assert [(one.severity, one.code) for one in found] == [
        ("fail", "FLAG_VALUE"),
        ("fail", "TOKEN_ARGV"),
        ("warn", "NOFILE"),
        ("note", "HOST_FACTS"),
    ]


def test_what_passed_and_what_was_left_out() -> None:
    found = review(situation(BAD), skip={"TOKEN_ARGV"})
    assert found.skipped == ("TOKEN_ARGV",)
    assert found.failed
    assert "NOFILE" in found.passed
    assert "FLAG_VALUE" not in found.passed
    assert "HUGETLB" not in found.passed  # nothing of it is needed


def test_skip_all() -> None:
    found = review(situation(BAD), skip=("all",))
    assert (found.findings, found.passed, found.failed) == ((), (), False)
    assert found.skipped == tuple(check.code for check in CHECKS)


def test_codes_that_are_none() -> None:
    assert unknown_codes(["HUGETLB", "all", "HUGETBL"]) == ("HUGETBL",)


def test_a_check_that_breaks_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> list[Finding]:
        raise ValueError("no such thing")

    check = Check(code="BROKEN", subject="x", about="x", run=broken)
    monkeypatch.setattr(registry, "CHECKS", (check,))
    (one,) = run_checks(situation(""))
    assert (one.code, one.severity, one.what) == (
        "BROKEN",
        "note",
        "BROKEN could not be checked: ValueError: no such thing",
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_no_check_breaks(case) -> None:  # type: ignore[no-untyped-def]
    for check in CHECKS:
        check.run(case.situation)


def test_checks_do_not_change_what_they_look_at() -> None:
    plan = situation(BAD)
    before = repr(plan)
    assert run_checks(plan) == run_checks(plan)
    assert repr(plan) == before


def test_the_room_imports_nothing_but_records() -> None:
    """Neither the machine nor recipes: what checks look at is handed in."""
    allowed = {"model", "errors"}
    for path in ROOM.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                assert (node.module or "").split(".")[0] in allowed, path.name
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module != "vllm_launch", path.name


def test_files_stay_small() -> None:
    for path in ROOM.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 250, path.name
