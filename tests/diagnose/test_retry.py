"""The next command, out of the one that failed."""

from __future__ import annotations

import shlex

import pytest

from vllm_launch.commandline import parse, split
from vllm_launch.commands.retry import next_command, retried
from vllm_launch.diagnose import SYMPTOMS, Diagnosis
from vllm_launch.diagnose.started import started_by
from vllm_launch.diagnose.symptom import NEXT_PORT, Try
from vllm_launch.options import COMMANDS, GLOBAL

STARTED = "# started as: vllm-launch serve M --tp 8 --hardware h200 -- --max-model-len 9 --x\n"
WORDS = ("serve", "M", "--tp", "8", "--hardware", "h200", "--", "--max-model-len", "9", "--x")
SERVE = next(command for command in COMMANDS if command.name == "serve")
CHECK, DOCKER = Try(subcommand="check"), Try(options=("--runtime", "docker"))


def test_the_launchers_own_line_is_the_command_whatever_else_names_a_model():
    assert started_by(["non-default args: {'model': 'other'}", STARTED]) == WORDS


def test_without_it_the_servers_arguments_name_the_model():
    line = "non-default args: {'model_tag': '/data/M', 'model': '/data/M'}"
    assert started_by([line]) == ("serve", "/data/M")


def test_the_servers_arguments_name_its_port_too():
    line = "non-default args: {'model_tag': '/data/M', 'port': 8765, 'model': '/data/M'}"
    assert started_by(["vllm serve M", line]) == ("serve", "M", "--port", "8765")


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
        CHECK,
        "check M --tp 8 --hardware h200 -- --max-model-len 9 --x",
    ),
    "fit takes the machine alone": (Try(subcommand="fit"), "fit M --hardware h200"),
    "detect takes nothing": (Try(subcommand="detect"), "detect"),
    "a shell command is no command of the launcher": (Try(instead="ulimit -n 1"), ""),
    "nothing to change": (Try(), ""),
}


@pytest.mark.parametrize(("step", "expected"), CASES.values(), ids=CASES)
def test_a_step_changes_the_command(step, expected):
    assert " ".join(retried(WORDS, step)) == expected


OTHERS = {
    "without a command the model is left to the operator": (
        "", Try(options=("--tp", "4")), "serve MODEL --tp 4",
    ),
    "an option with its value in one word": (
        "serve --tp=8 M", Try(options=("--tp", "4")), "serve M --tp 4",
    ),
    "the model behind the options": (
        "serve --hardware h200 M", Try(subcommand="fit"), "fit M --hardware h200",
    ),
    "options before the command": (
        "--no-color --recipes-dir /r serve M --wait", CHECK, "--no-color --recipes-dir /r check M",
    ),
    "what another command does not take": (
        "serve M --hardware h200 --wait --detach --timeout 9 --lock f --strict", CHECK,
        "check M --hardware h200 --strict",
    ),
    "a check that is asked for leaves none out": ("serve M --skip all", CHECK, "check M"),
    "explain takes no checks": (
        "serve M --skip all --name m", Try(subcommand="explain"), "explain M --name m",
    ),
    "a lock holds what failed": (
        "serve M --locked f", Try(options=("--tp", "4")), "serve M --tp 4",
    ),
    "a negative number is a value": (
        "serve M -- --max-model-len -1 --x", Try(flags=("--max-model-len", "7")),
        "serve M -- --x --max-model-len 7",
    ),
    "every spelling of a flag": (
        "serve M -- --max_model_len 1 --max-model-len=2 --max-model 3 --x",
        Try(flags=("--max-model-len", "7")), "serve M -- --x --max-model-len 7",
    ),
    "a flag that an option sets": (
        "serve M --tp 8 -- -tp 3 --x", Try(options=("--tp", "2")), "serve M --tp 2 -- --x",
    ),
    "its long name": (
        "serve M -- --tensor_parallel_size=3", Try(options=("--tp", "2")), "serve M --tp 2",
    ),
    "a variable takes the place of its own": (
        "serve M -e A=1 -e B=2", Try(options=("--env", "A=3")), "serve M --env B=2 --env A=3",
    ),
    "a secret is passed on by its name": (
        "serve M -e HF_TOKEN=…", CHECK, "check M --env HF_TOKEN",
    ),
    "a feature that is turned off is not turned on": (
        "serve M -f reasoning -f tool_calling=x", Try(options=("--no-feature", "tool_calling")),
        "serve M --feature reasoning --no-feature tool_calling",
    ),
    "an engine stays": (
        "serve M --runtime podman", Try(options=("--runtime", "docker", "--dry-run")),
        "serve M --runtime podman --dry-run",
    ),
    "a value that looks like an option": (
        "serve M --endpoint=-x=1", CHECK, "check M --endpoint=-x=1",
    ),
    "the very command that failed: in a container": ("serve M --runtime docker", DOCKER, ""),
    "the very command that failed: in another engine's": ("serve M --runtime podman", DOCKER, ""),
    "the very command that failed: a flag": (
        "serve M -- --block-size 128 --x", Try(flags=("--block-size", "128")), "",
    ),
    "the very command that failed: a variable": (
        "serve M -e NCCL_DEBUG=INFO", Try(options=("--env", "NCCL_DEBUG=INFO")), "",
    ),
    "the next port": ("serve M", Try(options=("--port", NEXT_PORT)), "serve M --port 8001"),
    "the next port after an option's": (
        "serve M --port 9000 --tp 2", Try(options=("--port", NEXT_PORT)),
        "serve M --tp 2 --port 9001",
    ),
    "the next port of a pool": (
        "serve M --role prefill --prefill-port 9000 --decode-port 9500",
        Try(options=("--port", NEXT_PORT)),
        "serve M --role prefill --decode-port 9500 --prefill-port 9001",
    ),
    "the next port after a flag's": (
        "serve M -- --port=9000", Try(options=("--port", NEXT_PORT)), "serve M --port 9001",
    ),
    "a line that cannot be read": ("serve M --no-such-option", CHECK, ""),
}  # fmt: skip


@pytest.mark.parametrize(("started", "step", "expected"), OTHERS.values(), ids=OTHERS)
def test_the_command_that_failed_is_read_by_the_table_of_options(started, step, expected):
    assert shlex.join(retried(tuple(shlex.split(started)), step)).replace("'", "") == expected


NUMBERS = dict.fromkeys(("heads", "tp", "length", "free", "total", "port", "size"), "64")
STEPS = {
    symptom.next if isinstance(symptom.next, Try) else symptom.next({**NUMBERS, "name": "NIXL"})
    for symptom in SYMPTOMS
}


@pytest.mark.parametrize("option", [*GLOBAL, *SERVE.options], ids=lambda option: option.name)
@pytest.mark.parametrize("many", [1, 2])
def test_every_step_after_a_launch_with_any_option_is_a_command_line(option, many):
    value = option.choices[0] if option.choices else "7"
    word = [option.flags[0], *([value] if option.kind != "flag" else [])] * many
    before, after = (word, []) if option in GLOBAL else ([], word)
    failed = (*before, "serve", *after, "M", "--", "-tp", "3", "--max-model-len", "-1")
    for step in STEPS:
        found = Diagnosis(symptom=SYMPTOMS[0], line=1, text="", next=step)
        command = shlex.split(next_command(found, failed))
        if command[:1] != ["vllm-launch"]:
            continue
        own, _ = split(command[1:])
        read = parse(own)
        assert read is not None, command
        assert read.argument == (None if read.command.name == "detect" else "M")
        assert tuple(command[1:]) != failed
