"""Remarks on a terminal end at its edge; in a pipe a remark is one line, whatever its length."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.launcher import FLASH, Operator
from tests.cli.terminal import on_terminal
from vllm_launch.folding import folded
from vllm_launch.streams import remark

SHOW = f"'vllm-launch recipes show {FLASH} --notes'"
PIPED = f"""\
# {FLASH}: b300 · single_node_tp · variant default · features tool_calling, reasoning, spec_decoding
# note: needs vLLM 0.33.0 or newer (a nightly wheel until it is released); image \
vllm/vllm-openai:minimax-m31-flash
# see {SHOW}: What this recipe leaves out; TP4 or TP8 on B200 and B300; Settings that vLLM 0.33.0 \
does not list
""".splitlines()
WIDTH_80 = [
    f"# {FLASH}: b300 · single_node_tp · variant default ·",
    "#     features tool_calling, reasoning, spec_decoding",
    "# note: needs vLLM 0.33.0 or newer (a nightly wheel until it is released); image",
    "#     vllm/vllm-openai:minimax-m31-flash",
    f"# see {SHOW}: What this",
    "#     recipe leaves out; TP4 or TP8 on B200 and B300; Settings that vLLM 0.33.0",
    "#     does not list",
]
DRY_RUN = ("serve", FLASH, "--hardware", "b300", "--dry-run")


def remarks(said: str) -> list[str]:
    return [line for line in said.splitlines() if line.startswith("#")]


def test_a_terminal_gets_whole_words(operator: Operator) -> None:
    assert remarks(on_terminal(operator, *DRY_RUN, columns=80)) == WIDTH_80


def test_a_wide_terminal_gets_long_lines(operator: Operator) -> None:
    assert remarks(on_terminal(operator, *DRY_RUN, columns=200)) == PIPED


def test_columns_says_how_wide_a_terminal_is(operator: Operator) -> None:
    operator.env["COLUMNS"] = "80"
    assert remarks(on_terminal(operator, *DRY_RUN, columns=200)) == WIDTH_80


@pytest.mark.parametrize("columns", ["", "0", "-4", "wide", "²", "9" * 5000])
def test_columns_that_is_no_width_is_passed_over(operator: Operator, columns: str) -> None:
    operator.env["COLUMNS"] = columns
    assert remarks(on_terminal(operator, *DRY_RUN, columns=80)) == WIDTH_80


def test_a_pipe_gets_one_line_for_each(operator: Operator) -> None:
    assert operator.run(*DRY_RUN, env={"COLUMNS": "40"}).err.splitlines() == PIPED


def test_the_answer_is_never_folded(operator: Operator) -> None:
    said = on_terminal(operator, *DRY_RUN, columns=40)
    assert operator.run(*DRY_RUN, stderr=subprocess.DEVNULL).out in said


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        pytest.param("error: word word word", ["error: word word", "    word"], id="words"),
        pytest.param("  hint hint hint hint", ["  hint hint hint", "      hint"], id="indented"),
        pytest.param(
            "ask it first: hf download ORG/REPO config.json",
            ["ask it first:", "    hf download ORG/REPO config.json"],
            id="command",
        ),
        pytest.param(
            "do vllm-launch recipes list, or give --recipes-dir DIR",
            ["do", "    vllm-launch recipes list,", "    or give", "    --recipes-dir DIR"],
            id="command in a sentence",
        ),
        pytest.param(
            "see 'a b c d e f g h i': it is there",
            ["see", "    'a b c d e f g h i':", "    it is there"],
            id="quoted",
        ),
        pytest.param(
            "it is vLLM's own and not the operator's",
            ["it is vLLM's own", "    and not the", "    operator's"],
            id="apostrophe",
        ),
    ],
)  # fmt: skip
def test_what_is_kept_in_one_piece(line: str, lines: list[str]) -> None:
    assert folded(line + "\n", 19) == "".join(f"{one}\n" for one in lines)


def test_a_line_that_is_drawn_over_itself_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "19")
    remark("12/26 one two three four", over=True)
    assert terminal.getvalue() == "\r\033[K12/26 one two three four"


@given(
    st.lists(
        st.sampled_from(["a", "word", "vllm-launch", "'two", "words'", "--tp", "4;", "(--x", "é"])
    ),
    st.sampled_from(["", "# ", "  ", "error: "]),
    st.integers(1, 60),
)
def test_folding_only_moves_words_to_the_next_line(
    words: list[str], start: str, width: int
) -> None:
    line = start + " ".join(words)
    assert folded(line, width).replace("\n#", "\n").split() == line.split()
    assert folded(line, 1000) == line
