"""Shell text: what real shells read out of it is exactly what was written into it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_launch.render.shell import command, exports, quote

# zsh where it is installed: it has expansions of its own, which test_what_zsh_expands holds too.
SHELLS = ["bash", "bash --posix", "dash", *(["zsh"] if shutil.which("zsh") else [])]

# Defined in the shell: how many words a command was, then each, all of them ended by NUL.
RECORD = """record() { printf '%s\\0' "$#" "$@"; }
"""

# Everything but NUL, which no argument can hold, and surrogates, which no text has.
anything = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
# What shells make something of.
tricky = st.lists(
    st.sampled_from(
        ["'", '"', "\\", "$", "`", "~", "-", "=", "\n", "\r", "\t", " ", "*", "?", "[", "]", "{",
         "}", "(", ")", "<", ">", "|", "&", ";", "!", "#", "%", "^", ",", ":", "@", "+", "/",
         "$(id)", "${HOME}", "$HOME", "`id`", "~/x", "--x", "''", "\\\n", "EOF", "\x7f", "\x01",
         "\x81", "\xa0", "é", "日本", "😀", "\ufeff", "\u2028", "1", "if"]
    ),
    max_size=6,
).map("".join)  # fmt: skip
word = anything | tricky
argvs = st.lists(st.lists(word, min_size=1, max_size=6), min_size=1, max_size=25)


def run(shell: str, script: str, path: Path | None = None) -> bytes:
    """Evaluate a script in a real shell."""
    done = subprocess.run(
        shell.split(),
        input=script.encode(),
        capture_output=True,
        check=False,
        timeout=60,
        env={"PATH": f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"], "HOME": "/h"},
    )
    assert done.stderr.decode() == ""
    assert done.returncode == 0
    return done.stdout


def recorded(shell: str, commands: Iterable[str]) -> list[list[str]]:
    """What each of some commands passes to ``record``, out of one shell process."""
    words = run(shell, RECORD + "".join(f"{line}\n" for line in commands)).decode().split("\0")
    found = []
    at = 0
    while at < len(words) - 1:
        count = int(words[at])
        found.append(words[at + 1 : at + 1 + count])
        at += 1 + count
    return found


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=30)
@given(argvs=argvs, data=st.data())
def test_a_shell_reads_a_command_back_as_the_very_same_words(
    shell: str, argvs: list[list[str]], data: st.DataObject
) -> None:
    starts = data.draw(st.sets(st.integers(0, 7)))
    commands = [command(["record", *argv], starts) for argv in argvs]
    assert recorded(shell, commands) == argvs


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=30)
@given(words=st.lists(word, max_size=40))
def test_a_shell_reads_quoted_words_back_one_by_one(shell: str, words: list[str]) -> None:
    line = " ".join(["record", *map(quote, words)])
    assert recorded(shell, [line]) == [words]


names = st.from_regex(r"V_[A-Za-z0-9_]{0,6}", fullmatch=True)
environments = st.lists(st.dictionaries(names, word, max_size=4), min_size=1, max_size=8)


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=20)
@given(environments=environments)
def test_a_shell_exports_exactly_the_variables(
    shell: str, environments: list[dict[str, str]]
) -> None:
    # Each in a subshell of its own, read by a program that the shell starts.
    blocks = [
        "(\n" + "\n".join([*exports(each), "env -0", "printf '\\0'"]) + "\n)\n"
        for each in environments
    ]
    answers = run(shell, "".join(blocks)).decode().split("\0\0")
    assert [variables_in(answer) for answer in answers[:-1]] == environments


def variables_in(answer: str) -> Mapping[str, str]:
    pairs = (entry.partition("=") for entry in answer.split("\0"))
    return {name: value for name, _, value in pairs if name.startswith("V_")}


@pytest.mark.parametrize("shell", SHELLS)
def test_golden_commands_reach_real_programs_word_for_word(shell: str, tmp_path: Path) -> None:
    """Whole plans, printed as ``serve`` prints them, run by programs that tell what they got."""
    for program in ("vllm", "docker"):
        (tmp_path / program).write_text('#!/bin/sh\nprintf "%s\\0" "$#" "${0##*/}" "$@"\n')
        (tmp_path / program).chmod(0o755)
    golden = Path(__file__).with_name("golden.jsonl").read_text(encoding="utf-8").splitlines()
    plans = [
        plan
        for line in golden[::7]
        for plan in json.loads(line)["expect"].get("processes", [])[:1]
        if plan["docker_argv"]
    ]
    assert len(plans) > 15
    wanted = [argv for plan in plans for argv in (plan["argv"], plan["docker_argv"])]
    script = "".join(
        "\n".join([*exports(plan["env"]), command(plan["argv"], ())])
        + "\n"
        + command(plan["docker_argv"], [plan["docker_argv"].index(plan["argv"][2]) - 1])
        + "\n"
        for plan in plans
    )
    words = run(shell, script, tmp_path).decode().split("\0")
    assert words[:-1] == [word for argv in wanted for word in (str(len(argv) - 1), *argv)]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("plain", "plain"),
        ("--flag=a/b:c,d.e_f@g%h+i", "--flag=a/b:c,d.e_f@g%h+i"),
        ("", "''"),
        ("two words", "'two words'"),
        ("it's", "'it'\"'\"'s'"),
        ("$HOME", "'$HOME'"),
        ("~/x", "'~/x'"),
        ("é", "'é'"),
        ('{"a": 1}', "'{\"a\": 1}'"),
    ],
)
def test_words_are_quoted_only_where_a_shell_would_change_them(word: str, text: str) -> None:
    assert quote(word) == text


def test_a_command_has_one_flag_a_line() -> None:
    argv = ["docker", "run", "--gpus", "all", "-e", "A=b c", "image:1", "model", "--x"]
    assert command(argv, [6]) == (
        "docker run \\\n  --gpus all \\\n  -e 'A=b c' \\\n  image:1 model \\\n  --x"
    )


def test_a_negative_number_stays_with_its_flag() -> None:
    argv = ["vllm", "serve", "m", "--max-model-len", "-1", "-tp", "4"]
    assert command(argv, []) == "vllm serve m \\\n  --max-model-len -1 \\\n  -tp 4"


def test_exports_are_one_line_each() -> None:
    values = {"A": "1", "B": "x y", "C": ""}
    assert exports(values) == ["export A=1", "export B='x y'", "export C=''"]


@pytest.mark.parametrize("word", ["=ls", "=", "==x", "a:=ls", ":="])
def test_what_zsh_expands_is_quoted(word: str) -> None:
    assert quote(word) == f"'{word}'"


@pytest.mark.parametrize("word", ["a=b", "--x=y", "--x==y", "a=b=c", "http://h:80/v1", "1:2"])
def test_what_no_shell_expands_is_not(word: str) -> None:
    assert quote(word) == word
