"""Names that must exist: told wherever they stand, with the one that is nearest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.catalog import texts
from tests.catalog.conftest import Faults, ReadRecipe
from vllm_launch.catalog.library import Library
from vllm_launch.errors import RecipeError

# For each name in the full recipe: the path to it, what is put in its place, and what it names.
# A path's last part is the key or the index that is changed; "@" in front says that it is the
# key itself, and not what stands under it.
PLACES = {
    "meta.hardware.@h200": "hardware profile",
    "meta.default_hardware": "hardware profile",
    "presets.tuned.hardware": "hardware profile",
    "hardware_overrides.@hopper": "hardware",
    "hardware_opt_in_features.@h200": "hardware",
    "strategy_min_gpus.@h200": "hardware or strategy",
    "strategy_min_gpus.h200.@single_node_dep": "strategy",
    "strategy_hardware.single_node_dep.@amd": "hardware",
    "strategy_overrides.pd_cluster.hardware_overrides.@h200": "hardware",
    "strategy_overrides.pd_cluster.prefill.hardware_overrides.@h200": "hardware",
    "strategy_overrides.pd_cluster.prefill.parallelism.@h200": "hardware",
    "strategy_overrides.pd_cluster.prefill.nodes.@h200": "hardware",
    "strategy_overrides.pd_cluster.prefill.gpus.@h200": "hardware",
    "features.reasoning.hardware.@hopper": "hardware",
    "features.reasoning.hardware_overrides.@amd": "hardware",
    "features.spec.modes.eagle.hardware.@amd": "hardware",
    "features.spec.modes.eagle.hardware_overrides.@default": "hardware",
    "variants.default.tp.@h200": "hardware",
    "variants.default.supported_hardware.0": "hardware",
    "variants.default.hardware_overrides.@h200": "hardware",
    "presets.tuned.points.c1.tp.@h200": "hardware",
    "notes.0.when.hardware.0": "hardware",
    "variants.fp8.precision_hardware.brand": "brand",
    "dependencies.0.brand": "brand",
    "dependencies.1.brand.1": "brand",
    "variants.fp8.precision_hardware.generation": "generation",
    "compatible_strategies.0": "strategy",
    "default_strategy": "strategy",
    "strategy_hardware.@single_node_dep": "strategy",
    "strategy_overrides.@single_node_tp": "strategy",
    "features.reasoning.strategies.0": "strategy",
    "presets.tuned.strategy": "strategy",
    "notes.0.when.strategy.0": "strategy",
    "features.spec.modes.eagle.variants.0": "variant",
    "presets.tuned.variants.0": "variant",
    "notes.0.when.variant.0": "variant",
    "opt_in_features.0": "feature",
    "hardware_opt_in_features.h200.0": "feature",
    "variants.default.default_modes.@spec": "feature",
    "features.reasoning.excludes.0": "feature",
    "presets.tuned.select.features.@spec": "feature",
    "presets.tuned.points.c1.select.features.@spec": "feature",
    "notes.0.when.feature.0": "feature",
    "features.spec.default_mode": "mode",
    "variants.default.default_modes.spec": "mode",
    "presets.tuned.select.features.spec": "mode",
    "presets.tuned.points.c1.select.features.spec": "mode",
    "notes.0.when.preset.0": "preset",
    "notes.0.when.role.0": "role",
    "kv_offload_support.@simple": "KV offload option",
    "presets.tuned.select.kv_offload": "KV offload option",
    "presets.tuned.points.c1.select.kv_offload": "KV offload option",
}


def renamed(path: str, name: str) -> tuple[str, str]:
    """The full recipe with one name replaced, and the key path at which it then stands."""
    whole = texts.full()
    *parents, last = path.split(".")
    block, shown = whole, ""
    for part in parents:
        block = block[int(part)] if isinstance(block, list) else block[part]
        shown += f"[{part}]" if part.isdecimal() else f".{part}"
    if last.startswith("@"):
        block[name] = block.pop(last[1:])
        shown += f".{name}"
    elif isinstance(block, list):
        block[int(last)] = name
        shown += f"[{last}]"
    else:
        block[last] = name
        shown += f".{last}"
    return texts.as_yaml(whole), shown.removeprefix(".")


@pytest.mark.parametrize(("path", "kind"), PLACES.items(), ids=PLACES)
def test_an_unknown_name_is_an_error_where_it_stands(faults: Faults, path: str, kind: str) -> None:
    text, shown = renamed(path, "xyzzy")
    [line] = [number for number, line in enumerate(text.splitlines(), 1) if "xyzzy" in line]
    [fault] = faults(text)
    found_line, column, place, message = fault.split(":", 3)
    assert int(found_line) == line
    assert text.splitlines()[line - 1][int(column) - 1 :].startswith("xyzzy")
    assert place == f" {shown}"
    assert message.startswith(f" unknown {kind} 'xyzzy' (known: ")


NEAR = {
    "meta.default_hardware": ("h2000", "h200"),
    "presets.tuned.hardware": ("mi355", "mi355x"),
    "variants.default.supported_hardware.0": ("hoper", "hopper"),
    "hardware_overrides.@hopper": ("nvidai", "nvidia"),
    "compatible_strategies.0": ("single_node_tpp", "single_node_tp"),
    "presets.tuned.variants.0": ("fp88", "fp8"),
    "opt_in_features.0": ("resoning", "reasoning"),
    "features.spec.default_mode": ("eagel", "eagle"),
    "kv_offload_support.@simple": ("simpel", "simple"),
    "notes.0.when.role.0": ("decoder", "decode"),
    "notes.0.when.preset.0": ("tunned", "tuned"),
    "dependencies.0.brand": ("Nvidia", "NVIDIA"),
}


@pytest.mark.parametrize(("path", "names"), NEAR.items(), ids=NEAR)
def test_the_nearest_name_is_suggested(faults: Faults, path: str, names: tuple[str, str]) -> None:
    written, near = names
    [fault] = faults(renamed(path, written)[0])
    assert fault.endswith(f" {written!r} (did you mean {near!r}?)")


def test_where_none_is_near_those_that_are_there_are_listed(faults: Faults) -> None:
    assert faults(renamed("notes.0.when.role.0", "xyzzy")[0])[0].endswith(
        "unknown role 'xyzzy' (known: server, head, worker, prefill, decode, instance)"
    )
    assert faults(renamed("opt_in_features.0", "xyzzy")[0])[0].endswith(
        "unknown feature 'xyzzy' (known: reasoning, spec)"
    )
    assert faults(f"{texts.SMALL}opt_in_features: [xyzzy]\n") == [
        "5:19: opt_in_features[0]: unknown feature 'xyzzy' (known: none)"
    ]


def test_the_same_wrong_name_is_told_as_often_as_it_stands(faults: Faults) -> None:
    assert faults(f"{texts.SMALL}opt_in_features: [a, b, a]\n") == [
        "5:19: opt_in_features[0]: unknown feature 'a' (known: none)",
        "5:22: opt_in_features[1]: unknown feature 'b' (known: none)",
        "5:25: opt_in_features[2]: unknown feature 'a' (known: none)",
    ]


def test_a_mode_of_a_feature_that_has_none(faults: Faults) -> None:
    text = (
        f"{texts.SMALL}features: {{f: {{args: [--x]}}}}\n"
        "presets: {p: {hardware: h200, strategy: single_node_tp, select: {features: {f: m}}}}\n"
    )
    assert faults(text) == ["6:80: presets.p.select.features.f: unknown mode 'm' (known: none)"]


def test_what_is_null_is_not_there_to_be_named(faults: Faults) -> None:
    text = (
        f"{texts.SMALL}features: {{f: ~, g: {{modes: {{m: ~, n: {{}}}}, default_mode: m}}}}\n"
        "opt_in_features: [f]\n"
    )
    assert faults(text) == [
        "5:58: features.g.default_mode: unknown mode 'm' (known: n)",
        "6:19: opt_in_features[0]: unknown feature 'f' (known: g)",
    ]


def test_a_null_beside_a_name_names_nothing(read: ReadRecipe) -> None:
    assert read(
        f"{texts.SMALL}hardware_overrides: {{xyzzy: ~}}\nmeta: {{hardware: {{xyzzy: ~}}}}\n"
    )


def test_a_fault_elsewhere_makes_no_name_unknown(faults: Faults) -> None:
    """What is broken is there all the same: a name for it is no second fault."""
    text = (
        "model: {model_id: a/b}\n"
        "variants: {fp8: {vram_minimum_gb: x}, fp4: 5}\n"
        "features: {f: 5, g: {modes: [m], default_mode: m}}\n"
        "presets: {p: {hardware: h200, strategy: single_node_tp, variants: [fp8, fp4]}}\n"
        "opt_in_features: [f, g]\n"
    )
    assert [fault.split(": ")[1] for fault in faults(text)] == [
        "variants.fp8.vram_minimum_gb",
        "variants.fp4",
        "features.f",
        "features.g.modes",
    ]


def test_a_block_of_the_wrong_kind_makes_no_name_unknown(faults: Faults) -> None:
    text = f"{texts.SMALL}features: [f, g]\nopt_in_features: [f, h]\n"
    assert faults(text) == ["5:11: features: found a list; expected a mapping"]


def test_names_may_be_exact_generation_brand_or_default(read: ReadRecipe) -> None:
    recipe = read(
        f"{texts.SMALL}features:\n  f:\n    modes:\n      m:\n        hardware_overrides:\n"
        "          {h200: {}, hopper: {}, nvidia: {}, google: {}, default: {}}\n"
    )
    overrides = recipe.features["f"].modes["m"].hardware_overrides
    assert list(overrides) == ["h200", "hopper", "nvidia", "google", "default"]


def test_stores_are_kv_offload_options_too(read: ReadRecipe) -> None:
    text = (
        f"{texts.SMALL}kv_offload_support: {{kv_store_centralized_mooncake: verified, 'off': x}}\n"
    )
    assert len(read(text).kv_offload_support) == 2


def test_unlisted_hardware_is_a_warning_in_a_foreign_recipe(
    bundled: Library, tmp_path: Path
) -> None:
    path = tmp_path / "recipes" / "models" / "org" / "repo.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"{texts.SMALL}meta:\n  hardware:\n    a100: verified\n    h200: verified\n")
    library = Library(str(tmp_path / "recipes"), own=False, fallback=bundled)
    recipe = library.recipe("org/repo")
    assert list(recipe.meta.hardware) == ["a100", "h200"]
    assert [str(warning) for warning in library.warnings] == [
        f"{path}:7:5: meta.hardware.a100: unknown hardware profile 'a100' (did you mean 'h100'?)"
    ]


@pytest.mark.parametrize("path", [path for path in PLACES if path != "meta.hardware.@h200"])
def test_any_other_unknown_name_is_an_error_there_too(read: ReadRecipe, path: str) -> None:
    with pytest.raises(RecipeError) as caught:
        read(renamed(path, "xyzzy")[0], own=False)
    assert [problem.warning for problem in caught.value.problems] == [False]
