"""The published schemas: made from the format, and of one mind with the catalog."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, ValidationError

from tests.catalog import texts
from tests.catalog.conftest import Faults, ReadRecipe
from vllm_launch.catalog.files import parse
from vllm_launch.catalog.tree import plain

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "recipes"
KINDS = ("recipe", "overlay", "taxonomy", "strategy", "kv_store")
FILES = sorted(RECIPES.rglob("*.yaml"))

_spec = importlib.util.spec_from_file_location("write_schema", ROOT / "scripts" / "write_schema.py")
assert _spec is not None
assert _spec.loader is not None
write_schema: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(write_schema)


def validator(kind: str) -> Draft7Validator:
    path = RECIPES / "schema" / f"{kind}.schema.json"
    return Draft7Validator(json.loads(path.read_text(encoding="utf-8")))


def kind_of(path: Path) -> str:
    by_folder = {"strategies": "strategy", "kv_store": "kv_store"}
    return by_folder.get(path.parent.name, "taxonomy" if path.stem == "taxonomy" else "recipe")


def data_of(text: str) -> Any:
    """A file's data as the catalog has it: dates are as they are written."""
    tree, problems, *_ = parse(text.encode(), "recipe", is_json=False)
    assert problems == []
    return plain(tree)


def deepest(error: ValidationError) -> ValidationError:
    """The fault behind "one of these": the one that is furthest inside, and not "or nothing"."""
    while error.context:
        error = max(error.context, key=_depth)
    return error


def _depth(error: ValidationError) -> tuple[int, bool, bool]:
    of_kind = error.validator == "type"
    return len(deepest(error).absolute_path), error.schema != {"type": "null"}, not of_kind


def told(kind: str, data: Any) -> list[tuple[str, str]]:
    """What a schema has against data: the key path and the keyword that is not met."""
    errors = map(deepest, validator(kind).iter_errors(data))
    return [(".".join(map(str, error.absolute_path)), str(error.validator)) for error in errors]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_published_is_what_the_format_says(kind: str) -> None:
    committed = (RECIPES / "schema" / f"{kind}.schema.json").read_text(encoding="utf-8")
    assert write_schema.texts()[kind] == committed


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_one(kind: str) -> None:
    Draft7Validator.check_schema(validator(kind).schema)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(RECIPES)))
def test_every_bundled_file_is_valid(path: Path) -> None:
    assert told(kind_of(path), data_of(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("text", [texts.SMALL, texts.FULL], ids=["the smallest", "everything"])
def test_what_the_catalog_takes_is_valid(read: ReadRecipe, text: str) -> None:
    read(text)
    assert told("recipe", data_of(text)) == []


# What is put where, the schema's own word for it, and the catalog's.
MALFORMED: dict[str, tuple[str, Any, tuple[str, str], str]] = {
    "an unknown key": (
        "model.frobnicate", 1, ("model", "additionalProperties"), "unknown key 'frobnicate'",
    ),
    "an unknown key deep inside": (
        "variants.default.hardware_overrides.h200.extra_arg", [],
        ("variants.default.hardware_overrides.h200", "additionalProperties"),
        "unknown key 'extra_arg'",
    ),
    "text where a list is meant": (
        "compatible_strategies", "single_node_tp", ("compatible_strategies", "type"),
        "expected a list",
    ),
    "a number where text is meant": (
        "model.min_vllm_version", 0.3, ("model.min_vllm_version", "type"), "expected text",
    ),
    "text where a number is meant": (
        "model.context_length", "1M", ("model.context_length", "type"), "expected a whole number",
    ),
    "a boolean in words": (
        "model.nightly_required", "yes", ("model.nightly_required", "type"),
        "expected true or false",
    ),
    "no GPU at all": (
        "strategy_min_gpus.h200", 0, ("strategy_min_gpus.h200", "minimum"),
        "expected a whole number from 1 to 100000",
    ),
    "less than no memory": (
        "variants.default.vram_minimum_gb", -1, ("variants.default.vram_minimum_gb", "minimum"),
        "expected a number from 0 to 100000",
    ),
    "an option for a checkpoint": (
        "model.model_id", "--trust-remote-code", ("model.model_id", "pattern"),
        "expected a checkpoint",
    ),
    "a checkpoint that leads away": (
        "variants.fp8.model_id", "../../etc", ("variants.fp8.model_id", "not"),
        "expected a checkpoint",
    ),
    "a support that there is not": (
        "features.reasoning.hardware.hopper", "perhaps",
        ("features.reasoning.hardware.hopper", "enum"),
        "expected supported or unsupported or verified",
    ),
    "a pool in no known mode": (
        "strategy_overrides.pd_cluster.pool_modes", ["pp"],
        ("strategy_overrides.pd_cluster.pool_modes.0", "enum"), "expected tp or tep or dep",
    ),
    "a variant without a plain name": (
        "variants.--x", {}, ("variants", "pattern"), "expected a name of letters",
    ),
    "a mapping among arguments": (
        "model.base_args", [{"--x": 1}], ("model.base_args.0", "type"), "expected text",
    ),
    "arguments as one text": (
        "model.base_args", "--x 1", ("model.base_args", "type"), "expected a list of arguments",
    ),
    "a variable without a name for one": (
        "model.base_env.1X", "1", ("model.base_env", "pattern"),
        "expected the name of a variable",
    ),
    "variables in a list": (
        "model.base_env", ["X=1"], ("model.base_env", "type"),
        "expected a mapping from variable names to values",
    ),
    "a word to remove that is no flag": (
        "presets.tuned.remove_args", ["enable-x"], ("presets.tuned.remove_args.0", "pattern"),
        "expected a flag",
    ),
    "JSON to merge that is no mapping": (
        "presets.tuned.json_args", {"--x": [1]}, ("presets.tuned.json_args.--x", "type"),
        "expected a mapping",
    ),
    "an option for an image": (
        "model.docker_image", {"nvidia": "-v"}, ("model.docker_image.nvidia", "pattern"),
        "expected a container image",
    ),
    "an image for no brand": (
        "model.docker_image", {"acme": "img"}, ("model.docker_image", "additionalProperties"),
        "unknown key 'acme'",
    ),
}  # fmt: skip


def malformed(path: str, value: Any) -> Any:
    """The full recipe with something else in one place."""
    data = texts.full()
    *above, last = path.split(".")
    place = data
    for key in above:
        place = place.setdefault(key, {})
    place[last] = value
    return data


@pytest.mark.parametrize("case", MALFORMED)
def test_what_the_catalog_refuses_is_refused_for_the_same_reason(faults: Faults, case: str) -> None:
    path, value, against, wanted = MALFORMED[case]
    data = malformed(path, value)
    assert told("recipe", data) == [against]
    assert [fault for fault in faults(texts.as_yaml(data)) if wanted in fault]


@pytest.mark.parametrize("key", ["model", "variants"])
def test_what_is_missing_is_missed(faults: Faults, key: str) -> None:
    data = texts.full()
    del data[key]
    assert told("recipe", data) == [("", "required")]
    assert [fault for fault in faults(texts.as_yaml(data)) if f"{key!r} is missing" in fault]


@pytest.mark.parametrize(
    ("kind", "key", "value", "against"),
    [
        ("strategy", "deploy_type", "everywhere", ("deploy_type", "enum")),
        ("strategy", "hardware_match", {"min_gpus": 0}, ("hardware_match.min_gpus", "minimum")),
        ("kv_store", "default_instances", "two", ("default_instances", "type")),
        ("kv_store", "mooncake_master", {}, ("mooncake_master", "required")),
        ("taxonomy", "strategies", ["-x"], ("strategies.0", "pattern")),
        ("taxonomy", "hardware_profiles", {"h1": {}}, ("hardware_profiles.h1", "required")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_words_strategies_and_stores(
    kind: str, key: str, value: Any, against: tuple[str, str]
) -> None:
    example = next(path for path in FILES if kind_of(path) == kind)
    data = data_of(example.read_text(encoding="utf-8"))
    assert against in told(kind, {**data, key: value})


OVERLAY = """\
model:
  base_args+: [--max-num-seqs, 64]
  base_env: {NCCL_DEBUG: WARN, OLD: null}
features:
  spec_decoding: null
  reasoning: {modes: {fast: {args+: [--x]}}}
opt_in_features+: [reasoning]
hardware_opt_in_features: {gb200+: [reasoning]}
variants:
  default: {extra_args: [--kv-cache-dtype, fp8]}
notes+:
- {title: Ours, body: Mind the gap}
"""


def test_an_overlay_is_valid() -> None:
    assert told("overlay", data_of(OVERLAY)) == []
    assert told("overlay", {}) == []


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if kind_of(path) == "recipe"],
    ids=lambda path: str(path.relative_to(RECIPES)),
)
def test_what_a_recipe_says_an_overlay_may_say(path: Path) -> None:
    assert told("overlay", data_of(path.read_text(encoding="utf-8"))) == []


WRONG_OVERLAYS = {
    "an unknown key": ("modle: {}", ("", "additionalProperties")),
    "appended to what is no list": (
        "model: {model_id+: [a]}", ("model", "additionalProperties"),
    ),
    "appending no list": ("model: {base_args+: --a}", ("model.base_args+", "type")),
    "half a note": ("notes+: [{title: a}]", ("notes+.0", "required")),
    "text for a number": (
        "model: {context_length: many}", ("model.context_length", "type"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_OVERLAYS)
def test_a_wrong_overlay_is_not(case: str) -> None:
    text, wanted = WRONG_OVERLAYS[case]
    assert told("overlay", data_of(text)) == [wanted]
