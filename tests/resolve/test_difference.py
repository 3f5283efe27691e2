"""What differs between two readings of a recipe, and where."""

from __future__ import annotations

from copy import copy

from hypothesis import given
from hypothesis import strategies as st

from tests.resolve import build
from vllm_launch.model.choice import Request
from vllm_launch.resolve.difference import (
    AXES,
    Change,
    Combination,
    Target,
    boxes,
    changes,
    outcomes,
)
from vllm_launch.resolve.resolver import Resolver

TARGETS = [
    Target(name=name, profile=build.profile(name), request=Request(hardware=name))
    for name in ("h200", "b200", "mi300x", "rtx_4090_2x")
]


def difference(old: build.Keys, new: build.Keys) -> list[Change]:
    return changes(*(outcomes(build.recipe(keys), (), TARGETS) for keys in (old, new)))


def told(found: list[Change]) -> list[tuple[str, str, str | None, str | None]]:
    return [(change.kind, change.name, change.old, change.new) for change in found]


def model(**keys: object) -> build.Keys:
    return {"model": {"model_id": "org/model", **keys}}


def test_the_same_is_no_change() -> None:
    assert difference({}, {}) == []


def test_a_flag_and_a_variable_that_are_new() -> None:
    new = model(base_args=["--x", "1", "2"], base_env={"A": "b"})
    found = difference({}, new)
    assert told(found) == [("flag", "--x", None, "1 2"), ("variable", "A", None, "b")]
    everywhere = {each for each in outcomes(build.recipe({}), (), TARGETS) if each == each.usual}
    assert all(set(change.where) == everywhere for change in found)
    assert told(difference(new, {})) == [
        ("flag", "--x", "1 2", None), ("variable", "A", "b", None),
    ]  # fmt: skip


def test_a_switch_and_the_order_of_flags() -> None:
    old, new = model(base_args=["--a", "--b", "1"]), model(base_args=["--b", "1", "--a"])
    assert difference(old, new) == []
    assert told(difference({}, model(base_args=["--a"]))) == [("flag", "--a", None, "")]


def test_only_where_it_counts() -> None:
    new = {"hardware_overrides": {"hopper": {"extra_args": ["--x", "1"]}}}
    [change] = difference({}, new)
    assert {each.hardware for each in change.where} == {"h200"}
    assert len({each.strategy for each in change.where}) > 4


def test_one_pool_that_changes_is_named() -> None:
    new = {"strategy_overrides": {"pd_cluster": {"decode": {"vllm_args": ["--x", "1"]}}}}
    [change] = difference({}, new)
    assert (change.role, change.name) == ("decode", "--x")
    assert {each.strategy for each in change.where} == {"pd_cluster"}


def test_a_variant_that_is_new_is_told_as_such() -> None:
    new = {"variants": {"default": {"precision": "bf16"}, "fp8": {"model_id": "org/fp8"}}}
    [change] = difference({}, new)
    assert (change.kind, change.old, change.new) == ("offered", None, "offered")
    assert {each.variant for each in change.where} == {"fp8"}


def test_what_resolves_no_more_is_one_change() -> None:
    old = model(docker_image={"nvidia": "repo/image:1"})
    new = model(docker_image={"nvidia": "docker pull x"})
    [change] = difference(old, new)
    assert (change.kind, change.old) == ("error", None)
    assert change.new == "model.docker_image: 'docker pull x' is no image reference"
    assert {each.hardware for each in change.where} == {"h200", "b200"}


def test_images_models_and_nodes() -> None:
    new = {
        **model(docker_image={"nvidia": "repo/image:1"}),
        "variants": {"default": {"precision": "bf16", "vram_minimum_gb": 3000, "model_id": "o/m"}},
    }
    kinds = {(change.kind, change.old, change.new) for change in difference({}, new)}
    assert ("image", "vllm/vllm-openai:latest", "repo/image:1") in kinds
    assert ("model", "org/model", "o/m") in kinds
    assert ("nodes", "2", "3") in kinds


def test_presets_are_compared_point_by_point() -> None:
    preset = {
        "hardware": "h200", "strategy": "single_node_tp", "args": ["--x", "1"],
        "points": {"c1": {}, "c2": {"args": ["--x", "2"]}},
    }  # fmt: skip
    changed = {**preset, "args": ["--x", "3"]}
    [change] = difference({"presets": {"p": preset}}, {"presets": {"p": changed}})
    assert (change.name, change.old, change.new) == ("--x", "1", "3")
    assert [each.preset for each in change.where] == ["p", "p:c1"]


COMBINATIONS = st.frozensets(
    st.builds(
        Combination,
        variant=st.sampled_from("ab"),
        preset=st.sampled_from(["", "p"]),
        strategy=st.sampled_from("xyz"),
        hardware=st.sampled_from("klm"),
        feature=st.sampled_from(["", "", "f", "g"]),
    ),
    min_size=1,
)


@given(everywhere=COMBINATIONS, data=st.data())
def test_products_cover_exactly_what_changes(
    everywhere: frozenset[Combination], data: st.DataObject
) -> None:
    order = sorted(everywhere, key=repr)
    picked = data.draw(st.sampled_from([each != each.usual for each in order]))
    alike = [each for each in order if (each != each.usual) is picked]
    where = data.draw(st.lists(st.sampled_from(alike), min_size=1, unique=True))
    covered: list[Combination] = []
    for box in boxes(where, everywhere):
        covered += [
            each
            for each in alike
            if all(
                not part or getattr(each, axis) in part
                for axis, part in zip(AXES, box, strict=True)
            )
        ]
    assert sorted(covered, key=repr) == sorted(where, key=repr)


def test_everywhere_is_one_product_that_says_nothing() -> None:
    everywhere = outcomes(build.recipe({}), (), TARGETS)
    usual = [each for each in everywhere if each == each.usual]
    assert boxes(usual, everywhere) == [((), (), (), (), (), ())]


SPEC: build.Keys = {
    "features": {
        "spec": {"modes": {"a": {"args": ["--x", "1"]}, "b": {"args": ["--x", "2"]}}},
        "tools": {"args": ["--y"]},
    },
    "opt_in_features": ["spec", "tools"],
}


def changed(**keys: object) -> build.Keys:
    return {**SPEC, "features": {**SPEC["features"], **keys}}  # type: ignore[dict-item]


def features(change: Change) -> set[str]:
    return {each.feature for each in change.where}


def test_a_feature_that_is_off_by_default_is_compared_too() -> None:
    modes = {"a": {"args": ["--x", "1"]}, "b": {"args": ["--x", "3"]}}
    [change] = difference(SPEC, changed(spec={"modes": modes}))
    assert told([change]) == [("flag", "--x", "2", "3")]
    assert features(change) == {"spec=b"}
    [box] = boxes(change.where, outcomes(build.recipe(SPEC), (), TARGETS))
    assert box == ((), (), (), (), ("spec=b",), ())


def test_the_only_feature_there_is_stands_for_no_other_case() -> None:
    old: build.Keys = {"features": {"tools": {"args": ["--y"]}}, "opt_in_features": ["tools"]}
    new: build.Keys = {"features": {"tools": {"args": ["--z"]}}, "opt_in_features": ["tools"]}
    found = difference(old, new)
    assert {features(change) == {"tools"} for change in found} == {True}
    [box] = boxes(found[0].where, outcomes(build.recipe(old), (), TARGETS))
    assert box == ((), (), (), (), ("tools",), ())


def test_what_changes_with_a_feature_as_without_is_told_once() -> None:
    new = {**SPEC, **model(base_args=["--n", "1"])}
    [change] = difference(SPEC, new)
    assert (told([change]), features(change)) == ([("flag", "--n", None, "1")], {""})


def test_a_feature_that_is_new_is_told_as_such() -> None:
    new = changed(more={"args": ["--z"]})
    [change] = difference(SPEC, {**new, "opt_in_features": ["spec", "tools", "more"]})
    assert told([change]) == [("offered", "", None, "offered")]
    assert features(change) == {"more"}


def test_a_kv_store_is_compared_with_its_files() -> None:
    stores = ("kv_store_distributed_mooncake",)
    resolver = build.recipe({})
    words = copy(resolver.words)
    without = words.kv_store(stores[0]).replace(mooncake_master=None)
    words.kv_store = lambda _: without
    other = Resolver(resolver.recipe, words)
    made = [outcomes(one, stores, TARGETS[:1]) for one in (resolver, other)]
    found = changes(*made)
    assert [(one.kind, one.name, one.new) for one in found] == [("store", "master", None)]
    assert {each.kv_offload for each in found[0].where} == set(stores)
