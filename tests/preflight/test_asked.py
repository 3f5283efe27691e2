"""What the target's own parser said, as findings."""

from __future__ import annotations

import pytest

from tests.preflight.build import Case, only, situation, told
from vllm_launch.model.vllm import Asked

ANSWERED = Asked(version="0.32.0+cpu")
SILENT = Asked(error="/venv/bin/python: no answer in 180 s", command="/venv/bin/python -c x")
REFUSED = ANSWERED.replace(refused="argument --seed: invalid int value: '1.5'")
PLAN = situation("")

CASES = [
    Case("PARSER_SILENT", "pass", "an answer", PLAN.replace(asked=ANSWERED), []),
    Case(
        "PARSER_SILENT",
        "found",
        "none",
        PLAN.replace(asked=SILENT),
        ["warn: vLLM's own parser gave no answer: /venv/bin/python: no answer in 180 s"],
    ),
    Case("PARSER_SILENT", "unknown", "not asked", PLAN, None),
    Case("PARSER_REFUSES", "pass", "taken", PLAN.replace(asked=ANSWERED), []),
    Case(
        "PARSER_REFUSES",
        "found",
        "refused",
        PLAN.replace(asked=REFUSED),
        [
            (
                "fail: the parser of vLLM 0.32.0+cpu refuses the command: "
                "argument --seed: invalid int value: '1.5'"
            )
        ],
    ),
    Case(
        "PARSER_REFUSES",
        "unknown",
        "refused by a machine without GPUs",
        PLAN.replace(asked=REFUSED.replace(refused="RuntimeError: no GPU", certain=False)),
        ["warn: the parser of vLLM 0.32.0+cpu refuses the command: RuntimeError: no GPU"],
    ),
    Case("PARSER_REFUSES", "unknown", "no answer", PLAN.replace(asked=SILENT), None),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


def test_what_to_do_about_silence() -> None:
    silent = only(PLAN.replace(asked=SILENT), "PARSER_SILENT")
    assert silent.command == "/venv/bin/python -c x"
    assert silent.remedy == "Mend it with the command, or leave --deep out."
    bare = only(PLAN.replace(asked=SILENT.replace(command="")), "PARSER_SILENT")
    assert bare.remedy == "Leave --deep out to do without."
