"""One reading finds every fault of a file, whatever its kind, in the order of the lines."""

from __future__ import annotations

import pytest

from tests.catalog.conftest import Faults, ReadRecipe
from vllm_launch.errors import RecipeError

TEN = """\
meta:
  titel: "A Model"
  hardware: {h20: verified}
model:
  model_id: --trust-remote-code
  min_vllm_version: 0.30
  base_args: ["--block-size", 1_000]
  base_env: {A-B: "1"}
features:
  reasoning: {args: --x, excludes: [resoning]}
  spec: {modes: {eagle: {}}, default_mode: eagel}
  no: {}
  spec: {}
variants:
  default: {vram_minimum_gb: !!python/name:os.system x, description: "\\e[2J"}
compatible_strategies: [single_node_tp, multi_tp]
presets:
  tuned: {hardware: h200}
"""
EXPECTED = [
    "2:3: meta.titel: unknown key 'titel' (did you mean 'title'?)",
    "3:14: meta.hardware.h20: unknown hardware profile 'h20' (did you mean 'h200'?)",
    ("5:13: model.model_id: found the text '--trust-remote-code'; "
    "expected a checkpoint, such as org/repo"),
    '6:21: model.min_vllm_version: found a number (0.30); expected text (write "0.30" in quotes)',
    ("7:31: model.base_args[1]: found 1_000, which YAML 1.1 reads as a number in another "
    'notation; expected text (write "1_000" in quotes)'),
    "8:14: model.base_env.A-B: found the text 'A-B'; expected the name of a variable",
    "10:21: features.reasoning.args: found the text '--x'; expected a list of arguments",
    ("10:37: features.reasoning.excludes[0]: unknown feature 'resoning' "
    "(did you mean 'reasoning'?)"),
    "11:44: features.spec.default_mode: unknown mode 'eagel' (did you mean 'eagle'?)",
    '12:3: features: YAML reads the key no as a boolean (write "no")',
    "13:3: features: duplicate key 'spec'; the first is on line 11 (keep one of the two)",
    ("15:30: variants.default.vram_minimum_gb: the tag '!!python/name:os.system' is not part of "
    "the format (remove it)"),
    ("15:30: variants.default.vram_minimum_gb: found the text 'x'; "
    "expected a number from 0 to 100000"),
    "15:70: variants.default.description: the character U+001B is not allowed (remove it)",
    ("16:41: compatible_strategies[1]: unknown strategy 'multi_tp' "
    "(did you mean 'multi_node_tp'?)"),
    "18:10: presets.tuned: the key 'strategy' is missing",
]  # fmt: skip


def test_faults_of_every_kind_are_told_together(faults: Faults) -> None:
    assert faults(TEN) == EXPECTED


def test_the_error_says_how_many_and_holds_each(read: ReadRecipe) -> None:
    with pytest.raises(RecipeError) as caught:
        read(TEN)
    error = caught.value
    assert str(error) == f"recipes/models/org/repo.yaml cannot be used: {len(EXPECTED)} errors"
    assert error.exit_status == 2
    assert error.code == "bad_recipe"
    second = error.problems[1]
    assert (second.file, second.line, second.column) == ("recipes/models/org/repo.yaml", 3, 14)
    assert second.path == "meta.hardware.h20"
    assert second.message == "unknown hardware profile 'h20'"
    assert second.hint == "did you mean 'h200'?"
    assert not second.warning


def test_a_foreign_recipe_has_the_same_errors_and_two_of_them_as_warnings(
    read: ReadRecipe,
) -> None:
    with pytest.raises(RecipeError) as caught:
        read(TEN, own=False)
    problems = caught.value.problems
    lines = [f"{each.line}:{each.column}: {each.path}: {each.message}" for each in problems]
    assert len(lines) == len(EXPECTED)
    assert [problem.path for problem in problems if problem.warning] == [
        "meta.titel",
        "meta.hardware.h20",
    ]
    assert f": {len(EXPECTED) - 2} errors" in str(caught.value)


def test_json_has_its_faults_together_too(faults: Faults) -> None:
    text = (
        '{"model": {"model_id": "a/b", "model_id": "-x"},\n'
        ' "variants": {"default": {"tp": "4"}},\n'
        ' "recommended_command": {"strategy": "single", "alternatives": {}},\n'
        ' "guide": "\\u0007", "meta": {"titel": 5}}'
    )
    assert faults(text, ".json") == [
        "1:31: model: duplicate key 'model_id'; the first is on line 1 (keep one of the two)",
        ("2:33: variants.default.tp: found the text '4'; expected a whole number from 1 to 100000"),
        (
            "3:38: compatible_strategies[0]: unknown strategy 'single' "
            "(did you mean 'single_node_tp'?)"
        ),
        "4:11: guide: the character U+0007 is not allowed (remove it)",
        "4:30: meta.titel: unknown key 'titel' (did you mean 'title'?)",
    ]


def test_a_fault_that_ends_the_reading_comes_with_those_before_it(faults: Faults) -> None:
    text = "a: 1\na: 2\nb:\n" + "".join("  " * i + "- \n" for i in range(1, 70))
    found = faults(text)
    assert found[0] == "2:1: duplicate key 'a'; the first is on line 1 (keep one of the two)"
    assert found[1].endswith(": nested more than 64 levels deep")
    assert len(found) == 2


def test_thousands_of_faults_are_told_but_not_thousands_of_guesses(faults: Faults) -> None:
    text = "".join(f"meto{i}: 1\n" for i in range(3000))
    found = faults(text)
    assert len(found) == 3002
    assert found[0] == "1:1: meto0: unknown key 'meto0' (did you mean 'meta'?)"
    assert found[1] == "1:1: the key 'model' is missing"
    assert found[-1] == "3000:1: meto2999: unknown key 'meto2999'"
    assert sum("did you mean" in fault for fault in found) == 100
