"""Where JSON is asked for, the standard output is one JSON document: an answer, or the error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.launcher import B300, FLASH, M3, Operator, Ran
from vllm_launch import __version__
from vllm_launch.options import COMMANDS

WITH_JSON = [
    command.name
    for command in COMMANDS
    if any(o.name == "output" and "json" in o.choices for o in command.options)
]
ANSWERS = {
    "deployment": ("serve", *B300[1:]),
    "deployment of explain": ("explain", *B300[1:]),
    "check": ("check", *B300[1:], "--skip", "all"),
    "codes of check": ("check", "--list"),
    "fit": ("fit", M3, "--hardware", "h200"),
    "client": ("client", M3),
    "benchmark": ("bench", M3, "--dry-run"),
    "servers": ("status",),
    "diagnosis": ("diagnose", "/dev/null"),
    "host": ("detect",),
    "recipes": ("recipes", "list"),
    "recipes of search": ("recipes", "search", "flash"),
    "recipe": ("recipes", "show", M3),
    "sources": ("recipes", "sources"),
    "diff": ("recipes", "diff", "bundled", "bundled", M3),
    "codes of lint": ("recipes", "lint", "--list"),
}


def opened(ran: Ran) -> tuple[str, Any]:
    """The kind and the body of the one document that was printed."""
    document = ran.json
    kind = document["kind"]
    assert list(document) == ["kind", "format", "vllm_launch", kind]
    assert (document["format"], document["vllm_launch"]) == (1, __version__)
    return kind, document[kind]


@pytest.mark.parametrize(("kind", "words"), ANSWERS.items(), ids=ANSWERS)
def test_an_answer_has_the_envelope(operator: Operator, kind: str, words: tuple[str, ...]) -> None:
    ran = operator.run(*words, "--output", "json")
    assert ran.status == 0, ran.err
    assert opened(ran)[0] == kind.partition(" ")[0]


@pytest.mark.parametrize("command", WITH_JSON)
@pytest.mark.parametrize("form", [("--output", "json"), ("-o", "json"), ("--output=json",)])
def test_a_line_that_makes_no_sense_answers_with_the_error(
    operator: Operator, command: str, form: tuple[str, ...]
) -> None:
    ran = operator.run(*command.split(), *form, "--no-such-option")
    assert ran.status == 2
    kind, body = opened(ran)
    assert (kind, body["code"], body["exit_status"]) == ("error", "usage", 2)
    assert body["message"] == f"{command} has no option --no-such-option"
    assert ran.err.startswith(f"error: {body['message']}\n")


def test_an_error_has_its_keys(operator: Operator) -> None:
    ran = operator.run("serve", FLASH, "--hardware", "b3000", "--output", "json")
    assert opened(ran) == (
        "error",
        {
            "code": "usage",
            "message": "unknown hardware 'b3000'",
            "problems": [],
            "hint": ran.err.splitlines()[1].strip(),
            "exit_status": 2,
        },
    )


def test_the_faults_of_a_recipe_are_problems(operator: Operator, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("meta: 3\n")
    ran = operator.run("explain", str(file), "-o", "json", "--hardware", "h200")
    _, body = opened(ran)
    assert (body["code"], ran.status) == ("bad_recipe", 2)
    assert body["problems"][0].startswith(f"{file}:1:")


def test_nothing_fits_is_told_with_its_status(operator: Operator) -> None:
    facts = operator.cwd / "none.json"
    facts.write_text(json.dumps({"format": "vllm-launch host facts", "version": 1, "gpus": []}))
    for command in ("serve", "check", "fit", "explain"):
        ran = operator.run(command, M3, "--host-facts", str(facts), "-o", "json")
        _, body = opened(ran)
        assert (body["code"], body["exit_status"], ran.status) == ("nothing_fits", 3, 3)


@pytest.mark.parametrize("how", ["variable", "settings file", "--config"])
def test_json_that_was_asked_for_elsewhere(operator: Operator, how: str) -> None:
    if how != "variable":
        operator.configure("output: json\n")
    path = operator.home / ".config" / "vllm-launch" / "config.yaml"
    env = {"variable": {"VLLM_LAUNCH_OUTPUT": "json"}, "--config": {"XDG_CONFIG_HOME": "/none"}}
    before = ("--config", str(path)) if how == "--config" else ()
    ran = operator.run(*before, "fit", "Nobody/Nothing", env=env.get(how))
    assert opened(ran)[0] == "error"


@pytest.mark.parametrize(
    "words",
    [("fit", "Nobody/Nothing"), ("fit", "Nobody/Nothing", "-o", "text"), ("logs", "nobody"),
     ("serve", "Nobody/Nothing", "--output", "argv")],
    ids=" ".join,
)  # fmt: skip
def test_an_error_is_no_answer_otherwise(operator: Operator, words: tuple[str, ...]) -> None:
    env = {"VLLM_LAUNCH_OUTPUT": "json"} if words[0] == "logs" else {}
    assert operator.run(*words, env=env).error


def test_an_error_that_comes_late_is_the_only_document(operator: Operator) -> None:
    ran = operator.run(*B300, "-o", "json", "--lock", "/dev/null/lock")
    assert (opened(ran)[0], ran.status) == ("error", 2)


def test_a_settings_file_with_a_fault_is_told_as_json(operator: Operator) -> None:
    operator.configure("hardwear: b300\n")
    ran = operator.run(*B300, "-o", "json")
    assert opened(ran)[1]["problems"][0].endswith("(did you mean 'hardware'?)")


def test_what_has_one_form_alone_refuses_another(operator: Operator) -> None:
    ran = operator.run("check", *B300[1:], "--fix", "-o", "json")
    assert opened(ran)[1]["message"] == "--fix has no other output than its own"
    ran = operator.run("check", *B300[1:], "--fix", env={"VLLM_LAUNCH_OUTPUT": "json"})
    assert ran.out.startswith("#!"), ran.out


def test_a_benchmark_prints_beside_the_answer(operator: Operator) -> None:
    lines = [
        'file="$(printf "%s/" "$@" | sed "s|.*--result-dir/||; s|/--result-filename/|/|; s|/$||")"',
        'echo progress; echo "{\\"failed\\": 0, \\"completed\\": 3}" > "$file"',
    ]
    operator.script("vllm", "#!/bin/sh\nPATH=/usr/bin:/bin\n" + "\n".join(lines) + "\n")
    ran = operator.run("bench", M3, "--hardware", "h200", "--label", "a", "-o", "json")
    kind, body = opened(ran)
    assert (kind, ran.status, body["status"]) == ("benchmark", 0, 0)
    assert body["measured"] == {"failed": 0, "completed": 3}
    assert body["result"].endswith("/a.json")
    assert "progress\n" in ran.err


def test_differences_go_beside_what_lint_finds(operator: Operator, tmp_path: Path) -> None:
    made = operator.run("recipes", "new", "acme/Model-7B")
    file = tmp_path / "models" / "acme" / "Model-7B.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(made.out.replace("base_args: []", 'base_args: ["--block-size 128"]'))
    ran = operator.run("recipes", "lint", "--fix", "--dry-run", str(tmp_path), "-o", "json")
    assert opened(ran)[0] == "lint"
    assert "--- " in ran.err
