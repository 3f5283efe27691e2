"""check, as an operator runs it: what it prints, and the status that it ends with."""

from __future__ import annotations

import socket

import pytest

from tests.cli.launcher import B300, FLASH, M3, Host, Operator

PREFILL = (
    "check", FLASH, "--hardware", "mi355x", "--strategy", "pd_cluster", "--role", "prefill",
)  # fmt: skip
RESERVE = "echo 2240 | sudo tee /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"


def test_huge_pages_that_are_missing_are_counted_and_the_line_that_reserves_them_is_given(
    operator: Operator,
) -> None:
    ran = operator.run(*PREFILL)
    assert ran.status == 4
    assert "fail HUGETLB: 2240 pages of 1 GiB needed (4 ranks × 560), 0 available" in ran.out
    assert RESERVE in ran.out


def test_remedies_are_printed_as_a_script_and_not_run(operator: Operator) -> None:
    ran = operator.run(*PREFILL, "--fix")
    assert ran.out.startswith("#!/bin/sh\n")
    assert RESERVE in ran.out.splitlines()


def test_checks_that_are_skipped_stop_nothing(operator: Operator) -> None:
    ran = operator.run(*PREFILL, "--skip", "all")
    assert ran.status == 0
    assert "skipped" in ran.out
    one = operator.run(*PREFILL, "--skip", "HUGETLB")
    assert "fail HUGETLB:" not in one.out


def test_a_code_that_is_no_checks_is_refused(operator: Operator) -> None:
    ran = operator.run(*PREFILL, "--skip", "HUGE")
    assert ran.status == 2
    assert ran.error == ("error: --skip: no check is called HUGE\n  see vllm-launch check --list\n")
    printed = operator.run("serve", *PREFILL[1:], "--dry-run", "--skip", "HUGE")
    assert (printed.status, printed.error) == (2, ran.error)


def test_the_list_has_every_check(operator: Operator) -> None:
    from vllm_launch.preflight import CHECKS
    from vllm_launch.preflight.across import ACROSS

    ran = operator.run("check", "--list")
    assert ran.status == 0
    assert [line.split()[0] for line in ran.out.splitlines() if not line.startswith(" ")] == [
        *(check.code for check in CHECKS), *(code for code, _ in ACROSS),
    ]  # fmt: skip


def test_a_check_that_fails_stops_a_launch(operator: Operator, host: Host) -> None:
    operator.install("vllm")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ("serve", FLASH, "--port", port, "--host", "127.0.0.1")
        ran = operator.run(*words, env=host("h200_8x"))
        assert ran.status == 4
        assert ran.out == ""
        assert "fail PORT_BUSY: " in ran.err
        assert ran.error.endswith(
            "error: a check failed, and nothing was started\n"
            "  mend what is said above, or leave checks out: --skip CODE, --skip all\n"
        )
        left_out = operator.run(*words, "--skip", "all", env=host("h200_8x"))
        assert left_out.argv[:2] == ["serve", FLASH]


def test_hardware_that_is_named_is_checked_and_started_all_the_same(operator: Operator) -> None:
    operator.install("vllm")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = operator.run(*B300, "--port", port, "--host", "127.0.0.1")
        assert "fail PORT_BUSY: " in ran.err
        assert ran.argv[:2] == ["serve", FLASH]


def test_a_dry_run_checks_nothing(operator: Operator) -> None:
    ran = operator.run(*B300, "--dry-run")
    assert "passed" not in ran.err


def test_what_a_release_lacks_is_named_with_what_to_use_instead(operator: Operator) -> None:
    ran = operator.run("check", FLASH, "--hardware", "mi355x", "--output", "json")
    findings = [f for process in ran.json["check"] for f in process["findings"]]
    [key] = [f for f in findings if "indexer_decode_cp" in f["what"]]
    assert key["code"] == "CONFIG_KEY"
    assert "0.33.0" in key["what"] + (key["why"] or "")
    assert "nightly" in (key["remedy"] or "")


def test_a_model_is_needed(operator: Operator) -> None:
    ran = operator.run("check")
    assert ran.status == 2
    assert ran.error.startswith("error: check needs a MODEL\n")


def test_findings_for_programs(operator: Operator) -> None:
    ran = operator.run(*PREFILL, "--output", "json")
    assert ran.status == 4
    [process] = ran.json["check"]
    assert (process["role"], process["rank"], process["failed"]) == ("prefill", 0, True)
    [pages] = [each for each in process["findings"] if each["code"] == "HUGETLB"]
    assert pages["severity"] == "fail"
    assert pages["command"] == RESERVE
    assert pages["file"] == "recipes/models/MiniMaxAI/MiniMax-M3.1-Flash.yaml"


@pytest.mark.parametrize("flag", [(), ("--strict",)], ids=["usual", "strict"])
def test_warnings_fail_where_they_are_asked_to(operator: Operator, flag: tuple[str, ...]) -> None:
    words = ("check", M3, "--hardware", "b300", "--runtime", "docker", "--output", "json", *flag)
    first = operator.run(*words)
    [process] = first.json["check"]
    failing = sorted({f["code"] for f in process["findings"] if f["severity"] == "fail"})
    skips = [word for code in failing for word in ("--skip", code)]
    again = operator.run(*words, *skips)
    [process] = again.json["check"]
    severities = {finding["severity"] for finding in process["findings"]}
    assert "fail" not in severities
    assert again.status == (4 if flag and "warn" in severities else 0)
