"""The features that are chosen, what the model needs, and choosing as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import (
    M3,
    M31,
    arguments,
    choose,
    deploy,
    flags,
    own,
    profile,
    recipe,
    server,
    told,
)
from vllm_launch.errors import NothingFits, UsageError


class TestFeatures:
    RECIPE = """
        features:
          a: {args: [--a]}
          b: {args: [--b]}
          c: {args: [--c], modes: {one: {args: [--one]}, two: {args: [--two]}}}
          d: {args: [--d], hardware: {hopper: unsupported}}
          e: {args: [--e]}
        opt_in_features: [b, c]
        hardware_opt_in_features: {h200: [e]}
        variants:
          default: {precision: bf16}
          moded: {precision: bf16, default_modes: {c: two}}
    """
    WITHOUT_D = "the feature d is off: it does not run on h200"

    @pytest.mark.parametrize(
        ("request_", "features", "notes"),
        [
            pytest.param({}, [("a", None)], [WITHOUT_D], id="without those to opt into"),
            pytest.param(
                {"hardware": "b200"},
                [("a", None), ("d", None), ("e", None)],
                [],
                id="to opt into on one GPU only",
            ),
            pytest.param(
                {"variant": "moded"},
                [("a", None), ("c", "two")],
                [WITHOUT_D],
                id="those that the variant names a mode of",
            ),
            pytest.param(
                {"add_features": (("e", None), ("b", None))},
                [("a", None), ("b", None), ("e", None)],
                [WITHOUT_D],
                id="added ones in the recipe's order",
            ),
            pytest.param(
                {"add_features": (("c", "two"),), "drop_features": ("a",)},
                [("c", "two")],
                [WITHOUT_D],
                id="one added in a mode and one dropped",
            ),
            pytest.param(
                {"add_features": (("c", None),)},
                [("a", None), ("c", "one")],
                [WITHOUT_D],
                id="one added in its usual mode",
            ),
            pytest.param(
                {"features": (("c", None), ("a", None))},
                [("c", "one"), ("a", None)],
                [],
                id="exactly those given, in their order",
            ),
            pytest.param({"features": ()}, [], [], id="none"),
        ],
    )
    def test_features(
        self, request_: dict[str, Any], features: list[Any], notes: list[str]
    ) -> None:
        choice = choose(recipe(self.RECIPE), **{"hardware": "h200", **request_})
        assert list(choice.features) == features
        assert list(choice.notes) == notes

    MODES = """
        features:
          f:
            modes:
              usual: {args: [--usual]}
              amd_only: {args: [--amd], hardware: {nvidia: unsupported}}
          g: {modes: {m: {args: [--m], hardware: {h200: unsupported}}}}
    """

    def test_a_mode_that_does_not_run_is_an_error_for_an_operator(self) -> None:
        with pytest.raises(NothingFits) as caught:
            choose(recipe(self.MODES), hardware="h200", add_features=(("f", "amd_only"),))
        assert told(caught.value) == (
            "nothing_fits",
            "mode amd_only of the feature f does not run with variant default on h200",
            "modes that do: usual",
        )

    def test_in_a_batch_it_gives_way_with_a_note(self) -> None:
        choice = choose(recipe(self.MODES), hardware="h200", features=(("f", "amd_only"),))
        assert choice.features == (("f", "usual"),)
        assert choice.notes == (
            "the feature f works in mode usual: amd_only does not run with variant default on h200",
        )

    def test_a_feature_without_a_mode_here_is_off_with_a_note(self) -> None:
        choice = choose(recipe(self.MODES), hardware="h200")
        assert choice.features == (("f", "usual"),)
        assert choice.notes == (
            "the feature g is off: no mode of it runs with variant default on h200",
        )

    def test_or_an_error_where_it_is_asked_for(self) -> None:
        with pytest.raises(NothingFits) as caught:
            choose(recipe(self.MODES), hardware="h200", add_features=(("g", None),))
        assert told(caught.value) == (
            "nothing_fits",
            "no mode of the feature g runs with variant default on h200",
            "leave it off: --no-feature g",
        )

    @pytest.mark.parametrize("excluding", ["a", "b"])
    def test_excluding_works_from_either_side(self, excluding: str) -> None:
        excludes = {"a": "b", "b": "a"}[excluding]
        features: dict[str, Any] = {"a": {"args": ["--a"]}, "b": {"args": ["--b"]}}
        features[excluding]["excludes"] = [excludes]
        resolver = recipe({"features": features, "opt_in_features": ["a", "b"]})
        with pytest.raises(UsageError, match=f"features {excluding} and {excludes} exclude"):
            choose(resolver, features=(("a", None), ("b", None)))
        assert choose(resolver, add_features=(("a", None),)).features == (("a", None),)


class TestMandatoryArguments:
    """What the model needs can be overridden, and that is said."""

    def test_another_value_is_noted(self) -> None:
        deployment = deploy(own(M31), hardware="b300", args=arguments("--block-size", "64"))
        assert deployment.notes == (
            "--block-size 64 replaces --block-size 128, which this model needs",
        )
        assert deployment.processes[0].value("--block-size") == "64"

    def test_the_same_value_is_not(self) -> None:
        assert deploy(own(M31), hardware="b300", args=arguments("--block-size", "128")).notes == ()


def test_the_same_request_gives_the_same_deployment() -> None:
    first, second = (deploy(own(M3), preset="gb200_agentx_tp8") for _ in range(2))
    assert first == second


def test_choosing_is_not_affected_by_what_was_chosen_before() -> None:
    """The resolver keeps what it computed; what it is keyed by is everything that counts."""
    resolver = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 100}}")
    large, small = profile("h200"), profile("h200").replace(vram_gb=640)
    sizes = [
        deploy(resolver, profile=each).processes[0].value("--tensor-parallel-size")
        for each in (large, small, large)
    ]
    assert sizes == ["1", "8", "1"]


def test_an_empty_list_narrows_nothing() -> None:
    keys: dict[str, Any] = {
        "variants": {"v": {"precision": "bf16", "supported_hardware": []}},
        "features": {
            "plain": {"args": ["--plain"], "strategies": []},
            "moded": {"modes": {"one": {"args": ["--one"], "variants": []}}},
        },
    }
    offload = {"args": ["--offload"], "strategies": [], "brands": []}
    resolver = recipe(keys, taxonomy={"kv_offload": {"open": offload}})
    plan = server(resolver, kv_offload="open")
    assert [word for word in flags(plan) if word in ("--plain", "--one", "--offload")] == [
        "--plain", "--one", "--offload",
    ]  # fmt: skip


def test_no_memory_figure_is_none_that_fits_one_gpu() -> None:
    resolver = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 0}}")
    assert server(resolver).number("--tensor-parallel-size") == 8


@pytest.mark.parametrize(
    ("keys", "request_", "reason"),
    [
        pytest.param({}, {"nodes": 3}, ("3", "asked for"), id="asked for"),
        pytest.param(
            {"variants": {"v": {"precision": "bf16", "vram_minimum_gb": 2300}}},
            {},
            ("3", "2300 GB are needed, and a node has 1128 GB"),
            id="the weights",
        ),
        pytest.param(
            {"strategy_min_gpus": 32},
            {},
            ("4", "the recipe asks for 32 GPUs, and a node has 8"),
            id="the recipe's floor",
        ),
        pytest.param(
            {},
            {"strategy": "multi_node_tp"},
            ("2", "the strategy is for several"),
            id="the strategy",
        ),
        pytest.param(
            {
                "presets": {
                    "p": {"hardware": "h200", "strategy": "multi_node_tp", "select": {"nodes": 2}}
                }
            },
            {"preset": "p"},
            ("2", "the preset p sets it"),
            id="a preset",
        ),
    ],
)
def test_why_there_are_several_nodes_is_told(
    keys: dict[str, Any], request_: dict[str, Any], reason: tuple[str, str]
) -> None:
    choice = choose(recipe(keys), **{"hardware": "h200", **request_})
    told_ = [each[1:] for each in choice.reasons if each[0] == "nodes"]
    assert told_ == [reason]
    assert choice.nodes == int(reason[0])
