"""Two readers of the line, one table: the small one and Typer give the same answers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.launcher import B300, Operator
from vllm_launch.__main__ import main
from vllm_launch.cli import _app, _read
from vllm_launch.commandline import Invocation, parse, split
from vllm_launch.errors import UsageError
from vllm_launch.options import COMMANDS, GLOBAL, Command, Option

WORDS = st.one_of(
    st.sampled_from(
        ["a", "b300", "0", "-", "=", "a=b", "a b", "é", "~/x", "serve", "list", "\udcff"]
    ),
    st.text(alphabet="ab-=, :$\n", max_size=4),
)
STRANGE = st.sampled_from(
    ["--no-such", "--no-such=1", "-x", "-", "-ftext_only", "-f=a", "-e", "--help", "--version",
     "extra", "", "--dry-run=1", "--hardwar", "-fe", "-h"]
)  # fmt: skip
QUICK = settings(max_examples=100)


def written(option: Option) -> st.SearchStrategy[list[str]]:
    """An option as somebody may write it."""
    flag = st.sampled_from(option.flags)
    if option.kind == "flag":
        return flag.map(lambda flag: [flag])
    value = st.one_of(WORDS, st.sampled_from(option.choices)) if option.choices else WORDS
    apart = st.tuples(flag, value).map(list)
    joined = st.tuples(flag, value).map(lambda pair: ["=".join(pair)])
    return st.one_of(apart, joined)


def some_of(options: tuple[Option, ...], at_most: int) -> st.SearchStrategy[list[list[str]]]:
    if not options:
        return st.just([])
    return st.lists(st.sampled_from(options).flatmap(written), max_size=at_most)


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command line made of the table; with luck, one that makes sense."""
    command = draw(st.sampled_from(COMMANDS))
    parts = draw(some_of(command.options, 6))
    if command.argument:
        parts += draw(st.lists(WORDS.map(lambda word: [word]), min_size=0, max_size=2))
    parts += draw(st.lists(STRANGE.map(lambda word: [word]), max_size=1)) * draw(st.booleans())
    before = draw(some_of(GLOBAL, 3))
    after = draw(st.permutations(parts))
    return [w for p in before for w in p] + command.name.split() + [w for p in after for w in p]


@st.composite
def sensible_lines(draw: st.DrawFn) -> list[str]:
    """A command line that makes sense."""
    command = draw(st.sampled_from(COMMANDS))
    value = st.sampled_from(["a", "b300", "0", "-", "=", "a=b", "a b", "é", "~/x", "\udcff"])

    def write(option: Option) -> st.SearchStrategy[list[str]]:
        flag = st.sampled_from(option.flags)
        if option.kind == "flag":
            return flag.map(lambda flag: [flag])
        long = st.sampled_from([flag for flag in option.flags if flag.startswith("--")])
        return st.one_of(
            st.tuples(flag, value).map(list),
            st.tuples(long, st.one_of(value, WORDS)).map(lambda pair: ["=".join(pair)]),
        )

    def several(options: tuple[Option, ...]) -> list[list[str]]:
        if not options:
            return []
        return draw(st.lists(st.sampled_from(options).flatmap(write), max_size=6))

    parts = several(command.options) + ([[draw(value)]] if command.argument else [])
    before, after = several(GLOBAL), draw(st.permutations(parts))
    return [w for p in before for w in p] + command.name.split() + [w for p in after for w in p]


def by_typer(words: list[str]) -> Invocation | None:
    """What Typer makes of a line; None for one that it answers itself."""
    read: list[Invocation] = []
    _read(_app(read.append), words)
    return read[0] if read else None


@QUICK
@given(lines())
def test_what_the_small_reader_understands_typer_understands_alike(words: list[str]) -> None:
    understood = parse(words)
    if understood is not None:
        assert by_typer(words) == understood


@QUICK
@given(sensible_lines())
def test_what_makes_sense_is_never_left_to_typer(words: list[str]) -> None:
    understood = parse(words)
    assert understood is not None
    assert by_typer(words) == understood


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([], id="nothing"),
        pytest.param(["serve"], id="no MODEL"),
        pytest.param(["serve", "a", "b"], id="two models"),
        pytest.param(["recipes"], id="half a command"),
        pytest.param(["list"], id="the other half"),
        pytest.param(["serve", "a", "--no-such"], id="unknown option"),
        pytest.param(["serve", "a", "--hardware"], id="no value"),
        pytest.param(["serve", "a", "--hardware", "--dry-run"], id="an option for a value"),
        pytest.param(["serve", "a", "--dry-run=1"], id="a value for a flag"),
        pytest.param(["serve", "a", "-ftext_only"], id="a value without a blank"),
        pytest.param(["serve", "a", "--recipes-dir", "b"], id="behind the command"),
        pytest.param(["--hardware", "b", "serve", "a"], id="before the command"),
        pytest.param(["serve", "a", "--help"], id="help"),
        pytest.param(["--version"], id="version"),
    ],
)
def test_the_small_reader_leaves_alone_what_it_does_not_know(words: list[str]) -> None:
    assert parse(words) is None


def test_a_line_taken_apart() -> None:
    line = ["--recipes-dir=a", "--debug", "--recipes-dir", "b", "serve", "-f", "x", "M",
            "--tp=2", "--feature=y=z", "--tp", "4", "--dry-run"]  # fmt: skip
    read = parse(line)
    assert read is not None
    assert (read.command.name, read.argument) == ("serve", "M")
    assert read.given == {
        "recipes_dir": ["a", "b"], "debug": True, "feature": ["x", "y=z"], "tp": "4",
        "dry_run": True,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "own", "passed"),
    [
        (["serve", "a"], ["serve", "a"], None),
        (["serve", "a", "--"], ["serve", "a"], []),
        (["serve", "--", "a", "--", "b"], ["serve"], ["a", "--", "b"]),
        (["--"], [], []),
    ],
)
def test_the_first_two_dashes_divide_the_line(
    argv: list[str], own: list[str], passed: list[str] | None
) -> None:
    assert split(argv) == (own, passed)


@pytest.mark.parametrize("words", [["serve", "a", "--no-such"], ["serve"], ["no-such"]])
def test_typers_complaints_are_usage_errors(words: list[str]) -> None:
    with pytest.raises(UsageError):
        by_typer(words)


# Help.


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    for command in COMMANDS:
        assert f"\n  {command.name.split()[0]} " in text
    for option in GLOBAL:
        assert option.flags[0] in text


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_help_of_a_command_has_every_option(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.name.split(), "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"Usage: vllm-launch {command.name} [OPTIONS]" in text
    assert command.help.rstrip(".") in text
    for option in command.options:
        head = ", ".join(sorted(option.flags, key=len))
        assert f"{head} {option.metavar}".rstrip() + " " in text
        told = option.help.partition(": ")[2] or option.help  # a heading says the target
        told = told if option.help in text else told[:1].upper() + told[1:]
        assert told.split(".")[0].split("-")[0] in text
        for choice in option.choices:
            assert choice in text
    for example in command.examples:
        assert example in text


def test_every_option_has_a_name_of_its_own_in_each_command() -> None:
    for command in COMMANDS:
        options = (*GLOBAL, *command.options)
        flags = [flag for option in options for flag in option.flags]
        assert len(flags) == len(set(flags))
        assert len({option.name for option in options}) == len(options)
        assert all(f"--{option.name.replace('_', '-')}" in option.flags for option in options)


# Start-up.

SLOW = {
    "rich", "pydantic", "typer", "click", "yaml", "pynvml", "amdsmi", "psutil", "json", "re",
    "dataclasses", "typing", "enum", "inspect", "functools", "contextlib", "pathlib", "subprocess",
    "socket", "ssl", "http", "urllib", "hashlib",
    "difflib", "traceback", "shutil", "tempfile", "logging", "asyncio", "ctypes",
}  # fmt: skip
IMPORTED = """
import sys
before = set(sys.modules)
from vllm_launch.__main__ import main
assert main(sys.argv[1:]) == 0
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


@pytest.mark.parametrize("form", [[], ["--output", "env"]], ids=["shell", "env"])
def test_a_dry_run_imports_nothing_slow(operator: Operator, form: list[str]) -> None:
    line = ["-c", IMPORTED, *B300, "--dry-run", *form]
    env = {"PYTHONPATH": str(Path(__file__).parents[2])}
    first = operator.execute([sys.executable, *line], env=env)
    assert first.status == 0  # the recipes are in the cache now
    ran = operator.execute([sys.executable, "-S", *line], env=env)
    assert (ran.status, ran.out) == (0, first.out)
    imported = set(ran.err.splitlines()[-1].split())
    assert "vllm_launch.commands.serve" in imported
    assert imported & SLOW == set()
