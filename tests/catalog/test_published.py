"""The published JSON of a recipe is the recipe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.catalog import texts
from tests.catalog.conftest import Faults, ReadRecipe
from vllm_launch.catalog.shelf import Shelf

REFERENCE = Path(__file__).parents[2] / ".." / "shared" / "reference" / "minimax-m3.json"


def with_changes(**changes: Any) -> str:
    """The published recipe with some of its top-level keys replaced; ... takes one away."""
    whole = {**json.loads(texts.published()), **changes}
    return json.dumps({key: value for key, value in whole.items() if value is not ...})


def test_it_reads_like_its_yaml_twin(read: ReadRecipe) -> None:
    twin = read(texts.FULL)
    recipe = read(texts.published(), suffix=".json")
    assert texts.without_places(recipe) == texts.without_places(twin)
    assert recipe.where.file == "recipes/models/org/repo.json"


def test_every_place_is_the_json_files_own(read: ReadRecipe) -> None:
    text = texts.published()
    recipe = read(text, suffix=".json")
    lines = text.splitlines()
    assert (
        '"--kv-cache-dtype"'
        in lines[recipe.variants["default"].hardware_overrides["h200"].extra_args[0][2].line - 1]
    )
    assert '"SOME_VALUE"' in lines[recipe.model.base_env[0][2].line - 1]
    assert '"c1": {' in lines[recipe.presets["tuned"].points["c1"].where.line - 1]


def test_the_alternatives_are_the_compatible_strategies(read: ReadRecipe) -> None:
    recipe = read(texts.published(), suffix=".json")
    assert recipe.compatible_strategies == ("single_node_tp", "single_node_dep", "pd_cluster")


STRATEGIES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "no command": (..., ()),
    "null": (None, ()),
    "nothing in it": ({}, ()),
    "no alternatives": ({"strategy": "pd_cluster"}, ("pd_cluster",)),
    "no strategy": ({"alternatives": {"pd_cluster": None}}, ("pd_cluster",)),
    "nulls": ({"strategy": None, "alternatives": None}, ()),
    "a store alone": ({"alternatives": {"kv_store_centralized_mooncake": {}}}, ()),
}


@pytest.mark.parametrize(("command", "expected"), STRATEGIES.values(), ids=STRATEGIES)
def test_what_the_command_leaves_out_is_left_out(
    read: ReadRecipe, command: Any, expected: tuple[str, ...]
) -> None:
    text = with_changes(recommended_command=command)
    assert read(text, suffix=".json").compatible_strategies == expected


@pytest.mark.parametrize("own", [["pd_cluster"], []])
def test_strategies_of_its_own_go_before_the_commands(read: ReadRecipe, own: list[str]) -> None:
    text = with_changes(compatible_strategies=own)
    assert read(text, suffix=".json").compatible_strategies == tuple(own)


def test_null_strategies_of_its_own_are_none(read: ReadRecipe) -> None:
    text = with_changes(compatible_strategies=None)
    assert len(read(text, suffix=".json").compatible_strategies) == 3


WRONG: dict[str, tuple[Any, str]] = {
    "an unknown strategy": (
        {"strategy": "single_node_pp"},
        "unknown strategy 'single_node_pp' (did you mean 'single_node_tp'?)",
    ),
    "a strategy that is no text": (
        {"strategy": 5},
        'found a whole number (5); expected text (write "5" in quotes)',
    ),
    "alternatives in a list": (
        {"alternatives": ["pd_cluster"]},
        "found a list; expected text",
    ),
    "alternatives in a word": (
        {"alternatives": "xyzzy"},
        ("unknown strategy 'xyzzy' (known: single_node_tp, single_node_tep, single_node_dep, "
        "multi_node_tp, multi_node_tep, multi_node_dep, multi_node_tp_pp, multi_node_tp_dp, "
        "pd_cluster)"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), WRONG.values(), ids=WRONG)
def test_a_wrong_command_is_told(faults: Faults, command: Any, expected: str) -> None:
    [fault] = faults(with_changes(recommended_command=command), ".json")
    assert fault.endswith(f": compatible_strategies[0]: {expected}")


@pytest.mark.parametrize("root", ["[]", "5", '"x"', "true", "null"])
def test_a_document_that_is_no_mapping(faults: Faults, root: str) -> None:
    [fault] = faults(root, ".json")
    assert fault.startswith("1:1: found ")
    assert fault.endswith("; expected a mapping")


def test_the_sites_own_keys_mean_nothing(read: ReadRecipe) -> None:
    text = with_changes(hf_id=5, source=["x"])
    plain = read(texts.published(), suffix=".json")
    assert texts.without_places(read(text, suffix=".json")) == texts.without_places(plain)


def test_a_key_that_neither_form_has_is_told(faults: Faults) -> None:
    [fault] = faults(with_changes(hf_ids=5), ".json")
    assert fault.endswith(": hf_ids: unknown key 'hf_ids'")


@pytest.mark.skipif(not REFERENCE.exists(), reason="the reference data is not here")
def test_the_site_s_own_file(cache: Path) -> None:
    found = Shelf().find(str(REFERENCE))
    recipe = found.recipe
    assert recipe.id == "MiniMaxAI/MiniMax-M3"
    assert found.library.warnings == []
    assert set(recipe.variants) >= {"default", "mxfp8", "nvfp4", "mxfp4"}
    assert "pd_cluster" in recipe.compatible_strategies
    assert not any(name.startswith("kv_store") for name in recipe.compatible_strategies)
    assert all(preset.points for preset in recipe.presets.values())
