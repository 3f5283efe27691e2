"""A recipe's shell text, taken apart without a shell."""

from __future__ import annotations

import pytest

from vllm_launch.resolve.command_text import words

PLAIN = {
    "words": ("router --port 1", (("router", "--port", "1"), ())),
    "continued": ("router \\\n    --port 1", (("router", "--port", "1"), ())),
    "comments": ("# first, a word\nrouter --a # and why", (("router", "--a"), ())),
    "quoted": ("router --json '{\"a\": 1}'", (("router", "--json", '{"a": 1}'), ())),
    "variable before it": ("A=1 router", (("router",), (("A", "1"),))),
    "exported": ("export A=1 B=2\nrouter", (("router",), (("A", "1"), ("B", "2")))),
    "placeholder": ("router $HOST:${PORT}", (("router", "$HOST:${PORT}"), ())),
}


@pytest.mark.parametrize(("text", "command"), PLAIN.values(), ids=PLAIN)
def test_one_plain_command_is_words_and_variables(text, command):
    assert words(text) == command


SHELL = {
    "two commands": "first\nsecond",
    "pipe": "a | b",
    "and": "a && b",
    "redirect": "a > b",
    "background": "a &",
    "substitution": "a $(id)",
    "backticks": "a `id`",
    "glob": "a *",
    "open quote": "a 'b",
    "only comments": "# a",
    "nothing": "",
}


@pytest.mark.parametrize("text", SHELL.values(), ids=SHELL)
def test_what_only_a_shell_could_run_is_not_taken_apart(text):
    assert words(text) is None
