"""Whoever's words are printed, nothing of them moves the terminal."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.launcher import Operator
from vllm_launch.streams import answer, remark, visible

HARM = "\x1b[2J\x1b]0;title\x07\x9b1m\r\u202e\u200f\b"
SHOWN = "\\x1b[2J\\x1b]0;title\\x07\\x9b1m\\r\\u202e\\u200f\\x08"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_text_without_harm_is_left_alone() -> None:
    assert visible("a\tb\n é …\u00a0\n") == "a\tb\n é …\u00a0\n"


def test_what_a_terminal_obeys_is_written_out() -> None:
    assert visible(f"a{HARM}b\n") == f"a{SHOWN}b\n"


def test_colours_of_ours_stay_and_what_hides_among_them_does_not() -> None:
    assert visible("\x1b[1ma\x1b[0m\x1b[2J\r", styled=True, kept="\r") == (
        "\x1b[1ma\x1b[0m\\x1b[2J\r"
    )


def test_a_remark_is_without_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        remark(f"{HARM}\n")
        remark(f"{HARM}\n", as_it_is=True)
        remark(HARM, over=True)
        assert stream.getvalue() == f"{SHOWN}\n{SHOWN}\n\r\x1b[K{SHOWN}"


def test_an_answer_is_without_harm_on_a_terminal_and_exact_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for stream, text in ((io.StringIO(), HARM), (Terminal(), SHOWN)):
        monkeypatch.setattr(sys, "stdout", stream)
        answer(HARM)
        assert stream.getvalue() == text


@pytest.mark.parametrize(
    "line",
    [
        ("serve", HARM),
        ("serve", "x", f"--a{HARM}"),
        ("--config", HARM, "serve", "x"),
        ("diagnose", HARM),
        ("--debug", "diagnose", HARM),
        ("--recipes-dir", HARM, "recipes", "list"),
        ("--host-facts", HARM),
        (HARM,),
    ],
    ids=lambda line: " ".join(line).replace(HARM, "HARM"),
)
def test_no_error_repeats_what_a_terminal_obeys(operator: Operator, line: tuple[str, ...]) -> None:
    ran = operator.run(*line)
    assert ran.status == 2
    assert all(char.isprintable() or char == "\n" for char in ran.err)


@pytest.fixture
def record(operator: Operator) -> Path:
    place = operator.home / ".local" / "state" / "vllm-launch" / "servers" / "evil"
    place.mkdir(parents=True)
    os.chmod(place.parents[1], 0o700)
    (place / "record.json").write_text(
        json.dumps({
            "format": 1, "name": "evil", "model": HARM, "url": HARM, "since": 1e300,
            "container": {"engine": "docker", "name": "--help", "id": "--rm"},
            "ready": HARM, "promise": {"x": HARM}, "intent": HARM, "line": [HARM],
        })
    )  # fmt: skip
    (place / "log").write_text(HARM)
    return place


@pytest.mark.parametrize("command", ["status", "logs", "stop", "client", "verify", "bench"])
def test_a_record_that_somebody_has_changed(operator: Operator, record: Path, command: str) -> None:
    operator.install("docker")
    for words in ((command, "evil"), (command,)):
        ran = operator.run(*words)
        assert "a bug" not in ran.err
        assert "--rm" not in ran.out
        assert "--help" not in ran.out
    assert record.exists()
