"""The recipes of this project: all of them read, resolve and say what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.walk import records
from vllm_launch.catalog.library import Library, bundled
from vllm_launch.errors import NothingFits
from vllm_launch.model.choice import Request
from vllm_launch.model.deployment import Deployment
from vllm_launch.model.record import Record
from vllm_launch.resolve.resolver import Resolver
from vllm_launch.resolve.suitability import why_not

STRATEGIES = (
    "single_node_tp", "single_node_tep", "single_node_dep", "multi_node_tp", "multi_node_tep",
    "multi_node_dep", "multi_node_tp_pp", "multi_node_tp_dp", "pd_cluster",
)  # fmt: skip


def combinations(library: Library) -> Iterator[tuple[str, str, str]]:
    """Every recipe and variant with each hardware that it may run on."""
    for recipe in map(library.recipe, library.recipe_ids()):
        for variant in recipe.variants.values():
            for profile in library.taxonomy.hardware_profiles.values():
                if why_not(recipe, variant, profile) is None:
                    yield recipe.id, variant.id, profile.id


with pytest.MonkeyPatch.context() as patch:
    patch.setenv("XDG_CACHE_HOME", "/dev/null")  # collecting tests leaves nothing behind
    RECIPES = tuple(bundled().recipe_ids())
    STORES = bundled().kv_stores()
    COMBINATIONS = tuple(combinations(bundled()))


@pytest.fixture(scope="module")
def library() -> Library:
    return bundled()


def everything(library: Library) -> Iterator[Record]:
    yield library.taxonomy
    for recipe_id in RECIPES:
        yield library.recipe(recipe_id)
    for name in library.taxonomy.strategies:
        yield library.strategy(name)
    for name in STORES:
        yield library.kv_store(name)


def arguments(library: Library) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    fields = ("args", "base_args", "extra_args", "vllm_args", "mandatory_args")
    for whole in everything(library):
        for record in records(whole):
            for field in fields:
                yield from getattr(record, field, None) or ()


def test_there_are_recipes_strategies_and_stores() -> None:
    assert "MiniMaxAI/MiniMax-M3" in RECIPES
    assert "MiniMaxAI/MiniMax-M3.1-Flash" in RECIPES
    assert len(STORES) == 2


def test_every_file_reads_without_a_word(library: Library) -> None:
    assert len(list(everything(library))) == 1 + len(RECIPES) + len(STRATEGIES) + len(STORES)
    assert library.warnings == []


def test_the_taxonomy_names_what_there_is(library: Library) -> None:
    taxonomy = library.taxonomy
    assert sorted(taxonomy.strategies) == sorted(STRATEGIES)
    brands = {profile.brand for profile in taxonomy.hardware_profiles.values()}
    for option in taxonomy.kv_offload.values():
        assert set(option.strategies or ()) <= set(taxonomy.strategies)
        assert set(option.brands or ()) <= brands
        assert not option.group or option.group in taxonomy.kv_offload_groups


@pytest.mark.parametrize("recipe_id", RECIPES)
def test_a_recipe_names_only_recipes_and_tasks_that_there_are(
    library: Library, recipe_id: str
) -> None:
    recipe = library.recipe(recipe_id)
    assert recipe.model.model_id == recipe_id
    assert set(recipe.meta.related_recipes) <= set(RECIPES) - {recipe_id}
    assert set(recipe.meta.tasks) <= {task.id for task in library.taxonomy.tasks}
    for feature in recipe.features.values():
        for other in feature.excludes:
            assert feature.id in recipe.features[other].excludes


@pytest.mark.parametrize(
    ("recipe_id", "variant", "hardware"),
    COMBINATIONS,
    ids=["-".join(each).rpartition("/")[2] for each in COMBINATIONS],
)
def test_every_variant_resolves_on_its_hardware_under_every_strategy(
    library: Library, recipe_id: str, variant: str, hardware: str
) -> None:
    recipe = library.recipe(recipe_id)
    resolver = Resolver(recipe, library)
    resolved = 0
    for strategy in resolver.chooser.offered(library.taxonomy.hardware_profiles[hardware]):
        nodes = 2 if strategy.startswith("multi_node") else None
        request = Request(variant=variant, hardware=hardware, strategy=strategy, nodes=nodes)
        try:
            deployment = resolver.resolve(resolver.choose(request))
        except NothingFits:
            # Only a machine that stands alone may refuse what takes several.
            assert not library.taxonomy.hardware_profiles[hardware].scalable
            assert not strategy.startswith("single_node")
            continue
        check(deployment, strategy)
        resolved += 1
    assert resolved


def check(deployment: Deployment, strategy: str) -> None:
    several = strategy.startswith("multi_node") or strategy == "pd_cluster"
    assert len(deployment.processes) >= 2 if several else len(deployment.processes) == 1
    assert (deployment.router is not None) == (strategy == "pd_cluster")
    assert deployment.image
    for process in deployment.processes:
        assert process.argv[:3] == ["vllm", "serve", process.model]
        assert all(isinstance(word, str) and word for word in process.argv)
        for flag, tokens, source in deployment.recipe.model.mandatory_args:
            assert process.value(flag) == " ".join(tokens[1:]), source


@pytest.mark.parametrize("recipe_id", RECIPES)
def test_what_fits_one_gpu_easily_takes_one(library: Library, recipe_id: str) -> None:
    """With a third of it left for the KV cache: the rest of the node is for other servers."""
    recipe, profiles = library.recipe(recipe_id), library.taxonomy.hardware_profiles
    resolver = Resolver(recipe, library)
    for own, variant, hardware in COMBINATIONS:
        profile = profiles[hardware]
        if own != recipe_id or profile.brand not in ("NVIDIA", "AMD"):
            continue
        needed = recipe.variants[variant].vram_minimum_gb
        assert needed, variant
        if needed > profile.vram_gb / profile.gpu_count * 2 / 3:
            continue
        made = resolver.resolve(resolver.choose(Request(variant=variant, hardware=hardware)))
        if made.choice.strategy == "single_node_tp":
            sizes = {process.value("--tensor-parallel-size") for process in made.processes}
            assert sizes == {"1"}, (variant, hardware)


@pytest.mark.parametrize("recipe_id", RECIPES)
def test_every_preset_and_point_resolves(library: Library, recipe_id: str) -> None:
    recipe = library.recipe(recipe_id)
    resolver = Resolver(recipe, library)
    for preset in recipe.presets.values():
        assert preset.source.href.startswith("https://"), preset.id
        for point in (None, *preset.points):
            request = Request(preset=preset.id, point=point)
            assert resolver.resolve(resolver.choose(request)).processes


@pytest.mark.parametrize("recipe_id", RECIPES)
def test_every_feature_resolves_in_every_mode_somewhere(library: Library, recipe_id: str) -> None:
    recipe = library.recipe(recipe_id)
    resolver = Resolver(recipe, library)
    wanted = {
        (feature.id, mode)
        for feature in recipe.features.values()
        for mode in (feature.modes or (None,))
    }
    found = set()
    for own, variant, hardware in COMBINATIONS:
        for feature in sorted(wanted - found, key=str) if own == recipe_id else ():
            request = Request(variant=variant, hardware=hardware, features=(feature,))
            try:
                deployment = resolver.resolve(resolver.choose(request))
            except NothingFits:
                continue
            if feature in deployment.choice.features:
                found.add(feature)
    assert found == wanted


def test_no_flag_shares_an_element_with_its_value(library: Library) -> None:
    seen = 0
    for flag, tokens, source in arguments(library):
        assert flag.startswith("--"), source
        assert "=" not in flag, source
        assert not any(char.isspace() for char in flag), source
        assert len(tokens) <= 2, source
        seen += 1
    assert seen > 100


def test_every_json_value_is_json(library: Library) -> None:
    seen = 0
    for _, tokens, source in arguments(library):
        for value in tokens[1:]:
            if value.startswith(("{", "[")):
                assert json.loads(value, object_pairs_hook=once), source
                seen += 1
    assert seen > 20


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping whose keys stand there once each."""
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)


# A point is told by its label.
UNDESCRIBED = ("Point",)


def test_everything_that_is_offered_is_described(library: Library) -> None:
    for whole in everything(library):
        for record in records(whole):
            if "description" in type(record)._fields and type(record).__name__ not in UNDESCRIBED:
                assert record.description.strip(), record  # type: ignore[attr-defined]
