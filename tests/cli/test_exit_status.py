"""Exit statuses are a contract: scripts and units of systemd decide by them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import vllm_launch.commands
from tests.cli.launcher import B300, FLASH, M3, Host, Operator
from vllm_launch.__main__ import main
from vllm_launch.errors import (
    CheckFailed,
    LaunchError,
    MissingProgram,
    NothingFits,
    RecipeError,
    UsageError,
)

NO_AMD = pytest.mark.skipif(os.path.exists("/sys/class/kfd"), reason="this machine is an AMD host")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError, 2),
        (RecipeError, 2),
        (NothingFits, 3),
        (CheckFailed, 4),
        (MissingProgram, 5),
    ],
)
def test_each_kind_of_error_has_its_status(error: type[LaunchError], status: int) -> None:
    assert error.exit_status == status


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("--help",),
        ("serve", "--help"),
        ("recipes", "--help"),
        ("recipes", "list"),
        ("recipes", "show", M3),
        ("explain", M3, "--hardware", "b300"),
        ("detect",),
        (*B300, "--dry-run"),
        (*B300, "--output", "json"),
    ],
    ids=" ".join,
)
def test_0_done(operator: Operator, words: tuple[str, ...]) -> None:
    ran = operator.run(*words)
    assert ran.status == 0
    assert ran.out


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("recipes",),
        ("no-such-command",),
        ("serve",),
        ("serve", FLASH, "--no-such-option"),
        ("serve", "no/such-recipe", "--hardware", "b300"),
        (*B300, "--tp", "many"),
        ("resolve",),
        ("detect", "--save", "/no/such/folder/facts.json"),
    ],
    ids=lambda words: " ".join(words) or "nothing at all",
)
def test_2_usage(operator: Operator, words: tuple[str, ...]) -> None:
    ran = operator.run(*words)
    assert ran.status == 2
    assert "\nerror: " in f"\n{ran.error}"


def test_2_bad_recipe(operator: Operator, tmp_path: Path) -> None:
    recipe = tmp_path / "broken.yaml"
    recipe.write_text("model: {model_id: [no, text]}\n")
    ran = operator.run("serve", recipe, "--hardware", "b300")
    assert ran.status == 2
    assert f"{recipe}:1:19: model.model_id: " in ran.error


@NO_AMD
def test_3_no_gpu(operator: Operator, host: Host) -> None:
    ran = operator.run("serve", FLASH, env=host("no_driver"))
    assert ran.status == 3
    assert ran.error.startswith("error: no GPU found on this host (NVIDIA driver (libnvidia-ml.")
    assert "amd-smi command: not found" in ran.err
    assert "give --hardware ID (as in --hardware b300 --dry-run) or --host-facts FILE" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param((FLASH, "--hardware", "h200", "--variant", "default"), id="precision"),
        pytest.param((FLASH, "--hardware", "b300", "--tp", "16"), id="more GPUs than there are"),
        pytest.param((FLASH, "--hardware", "b300", "-f", "mono_decode"), id="feature"),
        pytest.param((FLASH, "--hardware", "rtx_5090_2x"), id="hardware"),
    ],
)
def test_3_nothing_fits(operator: Operator, words: tuple[str, ...]) -> None:
    ran = operator.run("serve", *words, "--dry-run")
    assert ran.status == 3
    message, hint = ran.error.splitlines()
    assert message.startswith("error: ")
    assert hint.startswith("  ")


@pytest.mark.parametrize("runtime", ["native", "docker", "podman"])
def test_5_a_program_is_missing(operator: Operator, runtime: str) -> None:
    assert operator.run(*B300, "--runtime", runtime).status == 5


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        pytest.param("", 0o644, "vllm is not on PATH", id="not executable"),
        pytest.param("\0\0", 0o755, "Exec format error", id="no program"),
        pytest.param("#!/no/such/interpreter\n", 0o755, "No such file or directory", id="no shell"),
    ],
)
def test_5_a_program_that_cannot_be_started(
    operator: Operator, content: str, mode: int, reason: str
) -> None:
    operator.script("vllm", content).chmod(mode)
    ran = operator.run(*B300)
    assert ran.status == 5
    assert reason in ran.err.splitlines()[-2 if "not on PATH" in reason else -1]


def test_5_a_folder_of_its_name_is_no_program(operator: Operator) -> None:
    (operator.bin / "vllm").mkdir()
    assert operator.run(*B300).status == 5


def test_130_interrupted_in_the_middle_of_a_batch(operator: Operator) -> None:
    with operator.start(
        "resolve", "--batch", "-",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        case = json.dumps({"recipe": M3, "input": {"hardware": "b300"}}) + "\n"
        process.stdin.write(case.encode() * 20)
        process.stdin.flush()
        assert process.stdout.read(1) == b"{"  # it answers, and waits for more
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == b""


# 1: a bug.


def break_everything(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def broken(_: object) -> int:
        raise error

    monkeypatch.setattr(vllm_launch.commands, "run", broken)


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("division by zero"),
        OSError(5, "Input/output error", "somewhere"),
        RecursionError("too deep"),
        UnicodeEncodeError("ascii", "é", 0, 1, "no"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("line", [["recipes", "list"], ["serve", FLASH, "-ftext_only"]])
def test_1_a_bug_is_told_in_two_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    line: list[str],
) -> None:
    break_everything(monkeypatch, error)
    assert main(line) == 1
    told = capsys.readouterr()
    assert told.out == ""
    first, second = told.err.splitlines()
    assert first.startswith("error: a bug in vllm-launch ")
    assert first.endswith(f": {type(error).__name__}: {error}")
    assert second == "  run it again with --debug before the command, and report what it prints"


def test_1_a_bug_has_its_traceback_with_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_everything(monkeypatch, ZeroDivisionError("division by zero"))
    assert main(["--debug", "recipes", "list"]) == 1
    told = capsys.readouterr().err
    assert "error: a bug in vllm-launch" in told
    assert "Traceback (most recent call last)" in told
    assert told.endswith("ZeroDivisionError: division by zero\n")


def test_130_interrupted_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    break_everything(monkeypatch, KeyboardInterrupt())
    assert main(["recipes", "list"]) == 130
    assert main(["serve", FLASH, "-ftext_only"]) == 130  # a line that only Typer reads


def test_1_a_broken_installation_is_a_bug_and_no_traceback(
    operator: Operator, tmp_path: Path
) -> None:
    (tmp_path / "yaml.py").write_text("raise RuntimeError('half an installation')")
    env = {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "empty")}
    ran = operator.run(*B300, "--dry-run", env=env)
    assert ran.status == 1
    assert "RuntimeError: half an installation" in ran.error


# --debug.


@pytest.mark.parametrize(
    ("before", "env", "settings"),
    [
        pytest.param(("--debug",), {}, "", id="option"),
        pytest.param((), {"VLLM_LAUNCH_DEBUG": "1"}, "", id="variable"),
        pytest.param((), {}, "debug: true\n", id="settings file"),
        pytest.param(("--debug",), {}, "no: mapping of ours\n", id="option, broken settings file"),
    ],
)
def test_debug_adds_the_traceback_and_keeps_the_status(
    operator: Operator, before: tuple[str, ...], env: dict[str, str], settings: str
) -> None:
    operator.configure(settings)
    ran = operator.run(*before, "serve", FLASH, "--hardware", "none", env=env)
    assert ran.status == 2
    assert ran.err.startswith("error: ")
    assert "Traceback (most recent call last)" in ran.err


@pytest.mark.parametrize("value", ["0", "false", "no", ""])
def test_debug_can_be_switched_off(operator: Operator, value: str) -> None:
    env = {"VLLM_LAUNCH_DEBUG": value}
    ran = operator.run("serve", FLASH, "--hardware", "none", env=env)
    assert "Traceback" not in ran.err


def test_debug_changes_nothing_where_all_is_well(operator: Operator) -> None:
    plain, debug = operator.run(*B300, "--dry-run"), operator.run("--debug", *B300, "--dry-run")
    assert (debug.status, debug.out, debug.err) == (plain.status, plain.out, plain.err)
