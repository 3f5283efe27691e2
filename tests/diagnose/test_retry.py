"""The next command, out of the one that failed."""

from __future__ import annotations

import pytest

from vllm_launch.diagnose.retry import retried, started_by
from vllm_launch.diagnose.symptom import Try

STARTED = "# started as: vllm-launch serve M --tp 8 --hardware h200 -- --max-model-len 9 --x\n"
WORDS = ("serve", "M", "--tp", "8", "--hardware", "h200", "--", "--max-model-len", "9", "--x")


def test_the_launchers_own_line_is_the_command_whatever_else_names_a_model():
    assert started_by(["non-default args: {'model': 'other'}", STARTED]) == WORDS


def test_without_it_the_servers_arguments_name_the_model():
    line = "non-default args: {'model_tag': '/data/M', 'model': '/data/M'}"
    assert started_by([line]) == ("serve", "/data/M")


def test_a_log_that_names_nothing_has_no_command():
    assert started_by(["Segmentation fault"]) == ()


CASES = {
    "a flag takes the place of its own": (
        Try(flags=("--max-model-len", "7")),
        "serve M --tp 8 --hardware h200 -- --x --max-model-len 7",
    ),
    "an option takes the place of its own": (
        Try(options=("--tp", "4")),
        "serve M --hardware h200 --tp 4 -- --max-model-len 9 --x",
    ),
    "one that may be given several times is added": (
        Try(options=("--env", "A=1")),
        "serve M --tp 8 --hardware h200 --env A=1 -- --max-model-len 9 --x",
    ),
    "another command keeps the choice": (
        Try(subcommand="check"),
        "check M --tp 8 --hardware h200 -- --max-model-len 9 --x",
    ),
    "fit takes the model alone": (Try(subcommand="fit"), "fit M"),
    "detect takes nothing": (Try(subcommand="detect"), "detect"),
    "a shell command is no command of the launcher": (Try(instead="ulimit -n 1"), ""),
    "nothing to change": (Try(), ""),
}


@pytest.mark.parametrize(("step", "expected"), CASES.values(), ids=CASES)
def test_a_step_changes_the_command(step, expected):
    assert " ".join(retried(WORDS, step)) == expected


def test_without_a_command_the_model_is_left_to_the_operator():
    assert retried((), Try(options=("--tp", "4"))) == ("serve", "MODEL", "--tp", "4")


def test_an_option_with_its_value_in_one_word_is_replaced_too():
    assert retried(("serve", "--tp=8", "M"), Try(options=("--tp", "4"))) == (
        "serve", "M", "--tp", "4",
    )  # fmt: skip
