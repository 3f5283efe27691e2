"""What the project's own recipes resolve to, case by case and to the letter.

``scripts/write_golden.py`` wrote the file; after a change that is meant, it writes it again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.write_golden import GOLDEN, inputs
from tests.resolve.build import own
from vllm_launch.batch import answers

CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def name(case: dict[str, Any]) -> str:
    """A case's recipe and input, in short."""
    given = json.dumps(case["input"], separators=(",", ":")).replace('"', "")
    return f"{Path(case['recipe']).name} {given}"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_case_resolves_to_exactly_what_was_recorded(case: dict[str, Any]) -> None:
    line = json.dumps({"recipe": case["recipe"], "input": case["input"]})
    (answer,) = answers([line], own)
    assert json.loads(answer) == case["expect"]
    # Order counts too: of variables, and of keys in the answer.
    assert json.dumps(json.loads(answer)) == json.dumps(case["expect"])


def test_the_file_holds_the_scripts_cases_and_no_others() -> None:
    assert [(case["recipe"], case["input"]) for case in CASES] == list(inputs())


def test_there_are_cases_enough_to_mean_something() -> None:
    assert len(CASES) > 100
    kinds = [case["expect"].get("deploy_type") for case in CASES]
    for kind in ("single_node", "multi_node", "pd_cluster", "kv_store_lb", None):
        assert kinds.count(kind) >= 5, kind
