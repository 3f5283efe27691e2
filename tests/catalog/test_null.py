"""null means absent, wherever a key may stand."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.catalog import texts
from tests.catalog.conftest import ReadRecipe
from vllm_launch.errors import RecipeError
from vllm_launch.model import recipe as records
from vllm_launch.model.record import Record
from vllm_launch.model.strategy import Router

FULL = texts.full()


def keys(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every key in the full recipe, but for blocks that are kept as they are."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            if key not in texts.DATA:
                yield from keys(value, (*path, key))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from keys(value, (*path, i))


def at(whole: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        whole = whole[part]
    return whole


def outcome(read: ReadRecipe, whole: Any) -> Any:
    """What reading gives, on one line so that no place moves: the recipe, or what is wrong."""
    try:
        return read(json.dumps(whole), suffix=".json")
    except RecipeError as error:
        return [(problem.path, problem.message) for problem in error.problems]


@pytest.mark.parametrize("path", list(keys(FULL)), ids=lambda path: ".".join(map(str, path)))
def test_a_key_that_is_null_is_as_good_as_none(
    read: ReadRecipe, path: tuple[str | int, ...]
) -> None:
    null, none = copy.deepcopy(FULL), copy.deepcopy(FULL)
    at(null, path[:-1])[path[-1]] = None
    del at(none, path[:-1])[path[-1]]
    assert outcome(read, null) == outcome(read, none)


# Where each kind of record stands in the full recipe.
BLOCKS: dict[str, type[Record]] = {
    "": records.Recipe,
    "meta": records.Meta,
    "model": records.Model,
    "features.reasoning": records.Feature,
    "features.spec": records.Feature,
    "features.spec.modes.mtp": records.Mode,
    "features.reasoning.hardware_overrides.amd": records.ModeOverride,
    "variants.fp8": records.Variant,
    "variants.fp8.precision_hardware": records.PrecisionHardware,
    "variants.default.hardware_overrides.h200": records.HardwareOverride,
    "hardware_overrides.hopper": records.HardwareOverride,
    "strategy_overrides.single_node_tp": records.StrategyOverride,
    "strategy_overrides.pd_cluster.decode": records.RoleOverride,
    "strategy_overrides.pd_cluster.router": Router,
    "presets.tuned": records.Preset,
    "presets.tuned.points.c1": records.Point,
    "presets.tuned.select": records.Selection,
    "presets.tuned.image": records.PresetImage,
    "presets.tuned.source": records.Evidence,
    "notes.0": records.Note,
    "notes.0.when": records.When,
    "dependencies.0": records.Dependency,
}


@pytest.mark.parametrize(("block", "record"), BLOCKS.items(), ids=str)
def test_every_key_that_a_record_has_may_be_null(
    read: ReadRecipe, block: str, record: type[Record]
) -> None:
    whole = copy.deepcopy(FULL)
    path = tuple(int(part) if part.isdecimal() else part for part in block.split(".") if part)
    inside = at(whole, path)
    ours = ("id", "where", "places")
    added = [key for key in record._fields if key not in inside and key not in ours]
    inside.update(dict.fromkeys(added))
    assert outcome(read, whole) == outcome(read, FULL)


OPEN = [
    "meta.hardware", "model.base_env", "features", "features.spec.modes",
    "features.spec.modes.eagle.hardware", "hardware_opt_in_features", "variants",
    "variants.default.tp", "variants.default.default_modes", "strategy_hardware",
    "strategy_min_gpus", "hardware_overrides", "strategy_overrides", "kv_offload_support",
    "presets", "presets.tuned.points", "presets.tuned.json_args",
    "presets.tuned.select.features", "model.docker_image.nvidia",
]  # fmt: skip


@pytest.mark.parametrize("block", OPEN)
def test_so_may_a_key_that_an_author_chooses(read: ReadRecipe, block: str) -> None:
    whole = copy.deepcopy(FULL)
    names = {"presets.tuned.json_args": "--other", "model.docker_image.nvidia": "cu131"}
    at(whole, tuple(block.split(".")))[names.get(block, "other")] = None
    assert outcome(read, whole) == outcome(read, FULL)


def test_inside_data_null_is_a_value(read: ReadRecipe) -> None:
    recipe = read(texts.FULL)
    assert recipe.presets["tuned"].json_args[0][1] == {"attention": "x", "method": None}
    assert read(f"{texts.SMALL}client: {{a: ~}}\n").client == {"a": None}
