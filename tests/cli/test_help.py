"""--help of each command: the first line, examples that work, options by subject, at 80 columns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.launcher import Operator
from vllm_launch.options import COMMANDS, Command

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "bin" / "vllm-launch"
BY_NAME = {command.name: command for command in COMMANDS}
EACH = pytest.mark.parametrize(
    "command", [pytest.param(command, id=command.name) for command in COMMANDS]
)


def help_of(operator: Operator, command: Command) -> list[str]:
    ran = operator.run(*command.name.split(), "--help", env={"COLUMNS": "80"})
    assert (ran.status, ran.err) == (0, "")
    return ran.out.splitlines()


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        ("serve", "serve [OPTIONS] MODEL [-- VLLM ARGS]"),
        ("check", "check [OPTIONS] [MODEL] [-- VLLM ARGS]"),
        ("fit", "fit [OPTIONS] MODEL"),
        ("recipes search", "recipes search [OPTIONS] WORDS…"),
        ("recipes lint", "recipes lint [OPTIONS] [PATH]…"),
        ("recipes diff", "recipes diff [OPTIONS] A B [MODEL]…"),
        ("detect", "detect [OPTIONS]"),
    ],
)
def test_the_first_line_says_what_to_type(operator: Operator, name: str, usage: str) -> None:
    assert help_of(operator, BY_NAME[name])[0] == f"Usage: vllm-launch {usage}"


@EACH
def test_examples_stand_in_one_line_each(operator: Operator, command: Command) -> None:
    lines = help_of(operator, command)
    at = lines.index("Examples:") + 1
    assert lines[at : at + len(command.examples)] == [f"  {line}" for line in command.examples]


@EACH
def test_every_option_is_shown_once(operator: Operator, command: Command) -> None:
    shown = help_of(operator, command)
    rows = [line[2:].split("  ")[0] for line in shown if line.startswith("  -")]
    flags = [word.rstrip(",") for row in rows for word in row.split()]
    there = [flag for option in command.options for flag in option.flags]
    assert sorted(flag for flag in flags if flag.startswith("-")) == sorted([*there, "--help"])


@EACH
def test_help_fits_a_terminal_of_80_columns(operator: Operator, command: Command) -> None:
    lines = help_of(operator, command)
    assert [line for line in lines if len(line) > 80 and line.strip() not in command.examples] == []


def test_options_of_serve_are_in_groups(operator: Operator) -> None:
    titles = [line for line in help_of(operator, BY_NAME["serve"]) if line.endswith(":")]
    assert titles == [
        "Examples:", "Arguments:", "Options:", "Choice:", "Several nodes, pools and stores:",
        "Runtime:", "Checks:", "Lock:", "Waiting and background:",
    ]  # fmt: skip


def test_a_target_of_export_is_named_once(operator: Operator) -> None:
    lines = help_of(operator, BY_NAME["export"])
    at = lines.index("For slurm:")
    assert lines[at + 3] == "  --partition NAME       The partition."


def test_few_options_need_no_groups(operator: Operator) -> None:
    titles = [line for line in help_of(operator, BY_NAME["fit"]) if line.endswith(":")]
    assert titles == ["Examples:", "Arguments:", "Options:"]


def test_every_command_is_told_in_whole_sentences(operator: Operator) -> None:
    for words in ((), ("recipes",)):
        ran = operator.run(*words, "--help", env={"COLUMNS": "80"})
        assert "..." not in ran.out.partition("Commands:")[2]


def test_an_interrupt_while_it_is_loaded_is_an_interrupt(operator: Operator) -> None:
    package = operator.cwd / "vllm_launch"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    ran = operator.execute([sys.executable, SCRIPT, "--version"], {"PYTHONPATH": str(operator.cwd)})
    assert (ran.status, ran.out, ran.err) == (130, "", "")
