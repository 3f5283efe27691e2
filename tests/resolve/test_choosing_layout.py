"""The nodes and the strategy that are chosen, planning for a profile: each rule."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import (
    choose,
    profile,
    recipe,
    told,
    why,
)
from vllm_launch.errors import NothingFits


class TestNodes:
    """As many nodes as the weights need, two at least, where a multi-node strategy is offered."""

    @pytest.mark.parametrize(
        ("needed", "keys", "request_", "nodes"),
        [
            pytest.param(1128, {}, {}, 1, id="just one"),
            pytest.param(1129, {}, {}, 2, id="one GB too many"),
            pytest.param(2257, {}, {}, 3, id="three"),
            pytest.param(2257, {}, {"nodes": 2}, 2, id="as asked for"),
            pytest.param(100, {}, {"strategy": "multi_node_tp"}, 2, id="two at least"),
            pytest.param(2257, {}, {"strategy": "multi_node_dep"}, 3, id="of a named strategy"),
            pytest.param(
                2257, {}, {"strategy": "single_node_tp"}, 1, id="a named single-node strategy"
            ),
            pytest.param(
                2257, {"compatible_strategies": ["single_node_tp"]}, {}, 1, id="none offered"
            ),
            pytest.param(
                1129, {"strategy_min_gpus": {"h200": 32}}, {}, 4, id="more by strategy_min_gpus"
            ),
            pytest.param(
                1129, {"strategy_min_gpus": {"h200": 20}}, {}, 3, id="strategy_min_gpus, rounded up"
            ),
            pytest.param(
                1129, {"strategy_min_gpus": {"b200": 32}}, {}, 2, id="strategy_min_gpus elsewhere"
            ),
            pytest.param(
                9,
                {"strategy_min_gpus": {"multi_node_tp": 24, "h200": 16}},
                {"strategy": "multi_node_tp"},
                3,
                id="more by the strategy that is asked for",
            ),
            pytest.param(
                1129,
                {"strategy_min_gpus": {"multi_node_tp": 24}},
                {},
                3,
                id="more by the strategy that is chosen",
            ),
            pytest.param(
                1129,
                {"strategy_min_gpus": {"multi_node_dep": 32}},
                {},
                2,
                id="strategy_min_gpus of another strategy",
            ),
            pytest.param(1129, {"strategy_min_gpus": 32}, {}, 4, id="more of every strategy"),
            pytest.param(
                1129,
                {"strategy_min_gpus": {"h200": {"multi_node_tp": 24, "multi_node_dep": 64}}},
                {},
                3,
                id="more of a strategy on this hardware",
            ),
            pytest.param(9, {"strategy_min_gpus": 8}, {}, 1, id="met by one node"),
            pytest.param(9, {"strategy_min_gpus": 9}, {}, 2, id="too much for one node"),
            pytest.param(
                9,
                {"strategy_min_gpus": {"single_node_tp": 16}},
                {},
                1,
                id="met by another strategy on one node",
            ),
            pytest.param(
                9, {"default_strategy": "multi_node_tep"}, {}, 2, id="a default for several nodes"
            ),
            pytest.param(
                100,
                {"compatible_strategies": ["multi_node_tp"]},
                {},
                2,
                id="no strategy for one node",
            ),
        ],
    )
    def test_nodes(
        self, needed: int, keys: dict[str, Any], request_: dict[str, Any], nodes: int
    ) -> None:
        variants = {"v": {"precision": "bf16", "vram_minimum_gb": needed}}
        choice = choose(recipe({"variants": variants, **keys}), hardware="h200", **request_)
        assert choice.nodes == nodes
        assert choice.notes == ()

    def test_nobodys_machine_gets_the_smallest_layout_and_a_note(self) -> None:
        resolver = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 5000}}")
        choice = choose(resolver)
        assert (choice.hardware.id, choice.nodes) == ("h200", 2)
        (note,) = choice.notes
        assert note == (
            "the weights of variant v need 5 nodes of h200; this is the layout for 2: name "
            "--hardware to plan for real nodes"
        )
        assert choose(resolver, hardware="h200").nodes == 5

    PRESET = """
        presets:
          several: {hardware: h200, strategy: multi_node_tp}
          three: {hardware: h200, strategy: multi_node_tp, select: {nodes: 3}}
          alone: {hardware: h200, strategy: single_node_tp, select: {nodes: 3}}
          box: {hardware: rtx_5090, strategy: multi_node_tp}
        meta: {hardware: {rtx_5090: verified}}
    """

    @pytest.mark.parametrize(
        ("preset", "asked", "nodes"),
        [("several", None, 2), ("three", None, 3), ("three", 2, 2), ("alone", None, 1)],
        ids=["two for a multi-node strategy", "what it selects", "what is asked for", "just one"],
    )
    def test_a_presets_strategy_gets_its_nodes(
        self, preset: str, asked: int | None, nodes: int
    ) -> None:
        assert choose(recipe(self.PRESET), preset=preset, nodes=asked).nodes == nodes

    @pytest.mark.parametrize(
        "request_",
        [
            {"hardware": "rtx_5090", "nodes": 2},
            {"hardware": "rtx_5090", "strategy": "multi_node_tp"},
            {"preset": "box"},
        ],
        ids=["nodes", "strategy", "preset"],
    )
    def test_a_machine_that_cannot_be_joined_stays_one_node(self, request_: dict[str, Any]) -> None:
        keys = f"{self.PRESET}\n        variants: {{v: {{precision: bf16, vram_minimum_gb: 9}}}}"
        with pytest.raises(NothingFits) as caught:
            choose(recipe(keys), **request_)
        assert told(caught.value) == (
            "nothing_fits",
            "rtx_5090 cannot be joined with others, so it is one node alone",
            "drop --nodes, and use a single_node strategy",
        )

    def test_too_large_a_variant_does_not_join_such_machines(self) -> None:
        keys = f"{self.PRESET}\n        variants: {{v: {{precision: bf16, vram_minimum_gb: 90}}}}"
        choice = choose(recipe(keys), hardware="rtx_5090", variant="v")
        assert (choice.nodes, choice.strategy) == (1, "single_node_tp")


class TestStrategy:
    OFFERED = "compatible_strategies: [{}]"

    @pytest.mark.parametrize(
        ("offered", "default", "nodes", "strategy", "reason"),
        [
            pytest.param(
                "single_node_tp, single_node_tep",
                "single_node_tep",
                1,
                "single_node_tep",
                "the recipe's default on 1 node",
                id="the default",
            ),
            pytest.param(
                "single_node_tep, single_node_tp",
                None,
                1,
                "single_node_tp",
                "the usual layout on 1 node",
                id="then single_node_tp",
            ),
            pytest.param(
                "single_node_dep, single_node_tep",
                None,
                1,
                "single_node_dep",
                "the usual layout on 1 node",
                id="then the first offered",
            ),
            pytest.param(
                "single_node_dep, multi_node_tp, multi_node_dep",
                "single_node_dep",
                2,
                "multi_node_dep",
                "the recipe's default on 2 nodes",
                id="the default's multi-node sibling",
            ),
            pytest.param(
                "multi_node_tep, multi_node_dep, multi_node_tp",
                None,
                2,
                "multi_node_tp",
                "the usual layout on 2 nodes",
                id="then multi_node_tp",
            ),
            pytest.param(
                "multi_node_tp_pp, multi_node_tep, multi_node_dep",
                "single_node_tp",
                2,
                "multi_node_dep",
                "the usual layout on 2 nodes",
                id="then multi_node_dep",
            ),
            pytest.param(
                "single_node_tp, multi_node_dep, multi_node_tp",
                "single_node_dep",
                2,
                "multi_node_tp",
                "the usual layout on 2 nodes",
                id="not the sibling of a default that is not offered",
            ),
            pytest.param(
                "multi_node_tp_pp, multi_node_tep",
                None,
                2,
                "multi_node_tep",
                "the usual layout on 2 nodes",
                id="then multi_node_tep",
            ),
            pytest.param(
                "single_node_tp, multi_node_tp_pp",
                None,
                2,
                "multi_node_tp_pp",
                "the usual layout on 2 nodes",
                id="then any for several nodes",
            ),
            pytest.param(
                "multi_node_tp, single_node_tep",
                "multi_node_tp",
                1,
                "single_node_tep",
                "the usual layout on 1 node",
                id="a multi-node default is not for one node",
            ),
            pytest.param(
                "single_node_tep, multi_node_tp",
                "multi_node_tp",
                None,
                "multi_node_tp",
                "the recipe's default on 2 nodes",
                id="a multi-node default is for several nodes",
            ),
            pytest.param(
                "pd_cluster, single_node_tep",
                None,
                None,
                "single_node_tep",
                "the usual layout on 1 node",
                id="no pools unasked",
            ),
            pytest.param(
                "single_node_tp, pd_cluster",
                "pd_cluster",
                None,
                "pd_cluster",
                "the recipe's default on 1 node",
                id="pools where they are the default",
            ),
        ],
    )
    def test_the_strategy(
        self, offered: str, default: str | None, nodes: int | None, strategy: str, reason: str
    ) -> None:
        keys = {"compatible_strategies": offered.split(", "), "default_strategy": default}
        choice = choose(
            recipe({key: value for key, value in keys.items() if value}),
            hardware="h200",
            nodes=nodes,
        )
        assert choice.strategy == strategy
        assert why(choice, "strategy") == reason

    @pytest.mark.parametrize(
        ("support", "offered"),
        [
            pytest.param({}, ["single_node_tp", "multi_node_tp"], id="the compatible ones"),
            pytest.param(
                {"single_node_tp": {"h200": "unsupported"}},
                ["multi_node_tp"],
                id="without one unsupported on the exact GPU",
            ),
            pytest.param(
                {"single_node_tp": {"default": "unsupported", "b200": "supported"}},
                ["multi_node_tp"],
                id="without one unsupported elsewhere",
            ),
            pytest.param(
                {"single_node_tp": {"default": "unsupported", "h200": "supported"}},
                ["single_node_tp", "multi_node_tp"],
                id="with one supported only here",
            ),
            pytest.param(
                {"single_node_tp": {"hopper": "unsupported"}},
                ["multi_node_tp"],
                id="without one unsupported on the generation",
            ),
            pytest.param(
                {"single_node_tp": {"nvidia": "unsupported"}},
                ["multi_node_tp"],
                id="without one unsupported on the brand",
            ),
            pytest.param(
                {"single_node_tp": {"hopper": "unsupported", "h200": "supported"}},
                ["single_node_tp", "multi_node_tp"],
                id="the exact GPU speaks before the generation",
            ),
            pytest.param(
                {"pd_cluster": {"hopper": "supported"}},
                ["single_node_tp", "multi_node_tp", "pd_cluster"],
                id="with one supported here",
            ),
            pytest.param(
                {"pd_cluster": {"blackwell": "supported"}},
                ["single_node_tp", "multi_node_tp"],
                id="without one supported elsewhere",
            ),
        ],
    )
    def test_what_is_offered(self, support: dict[str, Any], offered: list[str]) -> None:
        compatible = ["single_node_tp", "multi_node_tp"]
        resolver = recipe({"compatible_strategies": compatible, "strategy_hardware": support})
        assert list(resolver.chooser.offered(profile("h200"))) == offered

    def test_a_named_one_is_taken(self) -> None:
        choice = choose(recipe(), hardware="h200", strategy="single_node_dep")
        assert choice.strategy == "single_node_dep"
        assert why(choice, "strategy") == "asked for"

    def test_nothing_offered_for_the_nodes_is_an_error(self) -> None:
        with pytest.raises(NothingFits) as caught:
            choose(recipe(self.OFFERED.format("single_node_tp")), hardware="h200", nodes=2)
        assert told(caught.value) == (
            "nothing_fits",
            "org/model offers no strategy for 2 nodes of h200",
            "strategies: single_node_tp",
        )

    def test_nothing_offered_at_all_is_an_error(self) -> None:
        with pytest.raises(NothingFits) as caught:
            choose(recipe(self.OFFERED.format("")), hardware="h200")
        assert caught.value.message == "org/model offers no strategy for 1 node of h200"
        assert caught.value.hint == "strategies: none"
