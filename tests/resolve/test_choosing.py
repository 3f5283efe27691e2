"""Choosing for the operator, planning for a profile: each rule, and each refusal's words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import (
    M3,
    M31,
    arguments,
    deploy,
    flags,
    own,
    profile,
    recipe,
    server,
    told,
)
from vllm_launch.errors import LaunchError, NothingFits, UsageError
from vllm_launch.model.choice import Choice, Pool, Pools, Request
from vllm_launch.resolve.resolver import Resolver

ALL_STRATEGIES = (
    "single_node_tp, single_node_tep, single_node_dep, multi_node_tp, multi_node_tp_pp, "
    "multi_node_tep, multi_node_dep, pd_cluster"
)
M3_FEATURES = (
    "tool_calling, reasoning, spec_decoding, text_only, thinking_always_on, encoder_parallel"
)


def choose(resolver: Resolver, **request: Any) -> Choice:
    return resolver.choose(Request(**request))


def why(choice: Choice, subject: str) -> str:
    """The reason for one thing that was picked."""
    return next(reason for about, _, reason in choice.reasons if about == subject)


def refusal(name: str, recipe_id: str, request: dict[str, Any], *error: str) -> Any:
    """A request and the code, message and hint that it is answered with."""
    return pytest.param(recipe_id, request, error, id=name)


class TestRefusals:
    """What the operator names is never overridden: it works, or an error says why not."""

    @pytest.mark.parametrize(
        ("recipe_id", "request_", "error"),
        [
            refusal(
                "NVFP4 on Hopper",
                M3,
                {"hardware": "h200", "variant": "nvfp4"},
                "nothing_fits",
                "variant nvfp4 is NVFP4, which needs Blackwell",
                "on h200: --variant default or mxfp8",
            ),
            refusal(
                "no variant for the hardware",
                M31,
                {"hardware": "mi300x"},
                "nothing_fits",
                "variant default runs on b200, gb200, b300, gb300, mi355x only",
                "hardware that it runs on: h100, h200, b200, gb200, b300, gb300, mi355x",
            ),
            refusal(
                "restricted hardware",
                M3,
                {"hardware": "rtx_5090"},
                "nothing_fits",
                f"rtx_5090 is for recipes that list it, and {M3} does not",
                "hardware that it runs on: h100, h200, b200, gb200, b300, gb300, mi300x, "
                "mi325x, mi350x, mi355x",
            ),
            refusal(
                "unknown variant",
                M3,
                {"hardware": "h200", "variant": "nvfp8"},
                "usage",
                f"{M3} has no variant 'nvfp8'",
                "did you mean 'nvfp4'? variants: default, mxfp8, nvfp4, mxfp4",
            ),
            refusal(
                "strategy not offered",
                M3,
                {"hardware": "h200", "strategy": "multi_node_tp_dp"},
                "usage",
                f"{M3} does not offer the strategy 'multi_node_tp_dp' on h200",
                f"did you mean 'multi_node_tp_pp'? strategies on h200: {ALL_STRATEGIES}",
            ),
            refusal(
                "unknown strategy",
                M3,
                {"hardware": "h200", "strategy": "zzz"},
                "usage",
                f"{M3} does not offer the strategy 'zzz' on h200",
                f"strategies on h200: {ALL_STRATEGIES}",
            ),
            refusal(
                "TP above the GPUs",
                M3,
                {"hardware": "h200", "tp": 16},
                "nothing_fits",
                "tensor parallel size 16 (operator) is beyond the 8 GPUs of h200",
                "use --tp 8 or less, or a multi-node strategy with --nodes",
            ),
            refusal(
                "TP under data parallelism",
                M3,
                {"hardware": "h200", "strategy": "single_node_dep", "tp": 4},
                "usage",
                "--tp does not apply to the strategy single_node_dep",
                "leave it out, or pick a strategy that splits tensors",
            ),
            refusal(
                "TP under pd_cluster",
                M3,
                {"hardware": "h200", "strategy": "pd_cluster", "tp": 4},
                "usage",
                "--tp does not apply to the strategy pd_cluster",
                "leave it out, or pick a strategy that splits tensors",
            ),
            refusal(
                "missing feature",
                M3,
                {"hardware": "h200", "add_features": (("magic", None),)},
                "usage",
                f"{M3} has no feature 'magic'",
                f"features: {M3_FEATURES}",
            ),
            refusal(
                "missing feature to leave off",
                M3,
                {"hardware": "h200", "drop_features": ("magic",)},
                "usage",
                f"{M3} has no feature 'magic'",
                f"features: {M3_FEATURES}",
            ),
            refusal(
                "missing feature of a batch",
                M3,
                {"hardware": "h200", "features": (("magic", None),)},
                "usage",
                f"{M3} has no feature 'magic'",
                f"features: {M3_FEATURES}",
            ),
            refusal(
                "unknown mode",
                M3,
                {"hardware": "h200", "add_features": (("spec_decoding", "eagle9"),)},
                "usage",
                "the feature spec_decoding has no mode 'eagle9'",
                "did you mean 'eagle3'? modes: eagle3, eagle3_gqa",
            ),
            refusal(
                "mode of a feature without any",
                M3,
                {"hardware": "h200", "add_features": (("reasoning", "deep"),)},
                "usage",
                "the feature reasoning has no modes",
                "leave '=deep' out",
            ),
            refusal(
                "features that exclude each other",
                M3,
                {
                    "hardware": "h200",
                    "add_features": (("text_only", None), ("encoder_parallel", None)),
                },
                "usage",
                "the features text_only and encoder_parallel exclude each other",
                "leave one off: --no-feature text_only or --no-feature encoder_parallel",
            ),
            refusal(
                "feature unsupported on the hardware",
                M31,
                {"hardware": "h200", "add_features": (("spec_decoding", None),)},
                "nothing_fits",
                "the feature spec_decoding does not run on h200",
                "leave it off: --no-feature spec_decoding",
            ),
            refusal(
                "KV offload under pd_cluster",
                M3,
                {"hardware": "h200", "strategy": "pd_cluster", "kv_offload": "simple"},
                "usage",
                "KV offload simple does not compose with pd_cluster, which owns "
                "--kv-transfer-config",
                "use a kv_store_… option, or a serving strategy",
            ),
            refusal(
                "KV offload for other strategies",
                M3,
                {"hardware": "h200", "strategy": "multi_node_tp", "kv_offload": "lmcache"},
                "usage",
                "KV offload lmcache does not work under the strategy multi_node_tp",
                "strategies that it works under: single_node_tp, single_node_tep, "
                "single_node_dep; or leave --kv-offload out",
            ),
            refusal(
                "KV offload that requires opting in",
                M3,
                {"hardware": "h200", "kv_offload": "offloading_cpu"},
                "usage",
                f"KV offload offloading_cpu is not verified for {M3}",
                "the recipe must list it as verified under kv_offload_support; or leave "
                "--kv-offload out",
            ),
            refusal(
                "unknown KV offload",
                M3,
                {"hardware": "h200", "kv_offload": "zzz"},
                "usage",
                "'zzz' is no KV offload option and no KV store",
                "options: simple, offloading_cpu, offloading_fs, lmcache; stores: "
                "kv_store_centralized_mooncake, kv_store_distributed_mooncake",
            ),
            refusal(
                "several instances of a pd_cluster",
                M3,
                {
                    "hardware": "h200",
                    "strategy": "pd_cluster",
                    "kv_offload": "kv_store_centralized_mooncake",
                    "instances": 2,
                },
                "usage",
                "several instances of a pd_cluster are not one deployment",
                "leave --instances out, and size the pools with --prefill and --decode",
            ),
            refusal(
                "a device beyond the profile's",
                M3,
                {"hardware": "h200", "devices": ("7", "8", "GPU-9")},
                "nothing_fits",
                "GPU 8 is beyond those of h200, 0 to 7",
                "",
            ),
            refusal(
                "instances without a store",
                M3,
                {"hardware": "h200", "instances": 2},
                "usage",
                "instances share a KV store, and none is asked for",
                "give --kv-offload kv_store_…, or leave --instances out",
            ),
            refusal(
                "instances with an offload option",
                M3,
                {"hardware": "h200", "kv_offload": "simple", "instances": 2},
                "usage",
                "instances share a KV store, and none is asked for",
                "give --kv-offload kv_store_…, or leave --instances out",
            ),
            refusal(
                "nodes under a single-node strategy",
                M3,
                {"hardware": "h200", "strategy": "single_node_tp", "nodes": 2},
                "usage",
                "the strategy single_node_tp is for one node, not 2",
                "drop --nodes, or use a multi_node strategy",
            ),
            refusal(
                "one node under a multi-node strategy",
                M3,
                {"hardware": "h200", "strategy": "multi_node_tp", "nodes": 1},
                "usage",
                "the strategy multi_node_tp needs at least two nodes",
                "give --nodes 2 or more, or use a single_node strategy",
            ),
            refusal(
                "nodes under pd_cluster",
                M3,
                {"hardware": "h200", "strategy": "pd_cluster", "nodes": 2},
                "usage",
                "--nodes 2 does not say how the pools of pd_cluster share them",
                "give --prefill NODES[:MODE] and --decode NODES[:MODE]",
            ),
            refusal(
                "pools under another strategy",
                M3,
                {"hardware": "h200", "pools": Pools(prefill=Pool(nodes=2))},
                "usage",
                "prefill and decode pools are for pd_cluster, not for single_node_tp",
                "drop --prefill and --decode, or give --strategy pd_cluster",
            ),
            refusal(
                "more devices than the profile has",
                M3,
                {"hardware": "h200", "devices": tuple("012345678")},
                "nothing_fits",
                "9 GPUs are named, and h200 has 8",
                "",
            ),
            refusal(
                "preset for other hardware",
                M3,
                {"preset": "h200_agentx", "hardware": "b200"},
                "usage",
                "the preset h200_agentx is for h200, not b200",
                "drop --hardware, or pick a preset for it: b200_agentx, b200_agentx_c10",
            ),
            refusal(
                "preset for other hardware, and none for this",
                M3,
                {"preset": "h200_agentx", "hardware": "mi300x"},
                "usage",
                "the preset h200_agentx is for h200, not mi300x",
                "drop --hardware, or pick a preset for it: there is none",
            ),
            refusal(
                "preset for another strategy",
                M3,
                {"preset": "h200_agentx", "strategy": "single_node_tep"},
                "usage",
                "the preset h200_agentx is for the strategy single_node_tp, not single_node_tep",
                "drop --strategy",
            ),
            refusal(
                "preset for another variant",
                M3,
                {"preset": "h200_agentx", "variant": "default"},
                "usage",
                "the preset h200_agentx is for variant mxfp8, not default",
                "drop --variant",
            ),
            refusal(
                "unknown preset",
                M3,
                {"preset": "agentx"},
                "usage",
                f"{M3} has no preset 'agentx'",
                "did you mean 'h200_agentx'? presets: h200_agentx, b200_agentx, b200_agentx_c10, b300_agentx, "
                "gb200_agentx, gb200_agentx_tp8, mi355x_agentx",
            ),
            refusal(
                "preset of a recipe without any",
                M31,
                {"preset": "agentx"},
                "usage",
                f"{M31} has no preset 'agentx'",
                "presets: none",
            ),
            refusal(
                "unknown point",
                M3,
                {"preset": "h200_agentx", "point": "c3"},
                "usage",
                "the preset h200_agentx has no point 'c3'",
                "points: c1, c2, c4, c6, c8, c10, c12, c14",
            ),
            refusal(
                "point without a preset",
                M3,
                {"hardware": "h200", "point": "c1"},
                "usage",
                "the point 'c1' belongs to no preset",
                "give --preset NAME:POINT",
            ),
        ],
    )
    def test_an_error_says_what_is_wrong_and_what_to_do(
        self, recipe_id: str, request_: dict[str, Any], error: tuple[str, str, str]
    ) -> None:
        with pytest.raises(LaunchError) as caught:
            deploy(own(recipe_id), **request_)
        assert told(caught.value) == error
        kind, status = (UsageError, 2) if error[0] == "usage" else (NothingFits, 3)
        assert isinstance(caught.value, kind)
        assert caught.value.exit_status == status

    def test_unknown_hardware_names_the_nearest_and_all(self) -> None:
        with pytest.raises(UsageError) as caught:
            deploy(own(M3), hardware="h300")
        assert caught.value.message == "unknown hardware 'h300'"
        known = ", ".join(own(M3).taxonomy.hardware_profiles)
        assert caught.value.hint == f"did you mean 'h200'? known: {known}"

    def test_an_offload_option_for_another_brand_is_refused(self) -> None:
        taxonomy = "kv_offload: {mine: {args: [--x], brands: [AMD, Intel]}}"
        with pytest.raises(NothingFits) as caught:
            deploy(recipe(taxonomy=taxonomy), kv_offload="mine")
        assert told(caught.value) == (
            "nothing_fits",
            "KV offload mine does not run on NVIDIA (h200)",
            "it runs on AMD, Intel; leave --kv-offload out",
        )
        assert (
            "--x"
            in deploy(recipe(taxonomy=taxonomy), hardware="mi355x", kv_offload="mine")
            .processes[0]
            .argv
        )

    @pytest.mark.parametrize(
        ("support", "works"),
        [(None, False), ("verified", True), ("unsupported", False), ("supported", False)],
    )
    def test_an_option_that_requires_opting_in_needs_to_be_verified(
        self, support: str | None, works: bool
    ) -> None:
        keys = {"kv_offload_support": {"offloading_cpu": support}} if support else {}
        if works:
            deploy(recipe(keys), kv_offload="offloading_cpu")
        else:
            with pytest.raises(UsageError, match="is not verified for org/model"):
                deploy(recipe(keys), kv_offload="offloading_cpu")

    def test_an_option_for_all_can_still_be_unsupported(self) -> None:
        with pytest.raises(UsageError, match="KV offload simple is not verified for org/model"):
            deploy(recipe({"kv_offload_support": {"simple": "unsupported"}}), kv_offload="simple")

    def test_a_preset_of_several_variants_takes_any_of_them(self) -> None:
        resolver = recipe(
            """
            variants:
              a: {precision: bf16}
              b: {precision: bf16}
              c: {precision: bf16}
            presets:
              tuned: {hardware: h200, strategy: single_node_tp, variants: [b, c]}
            """
        )
        assert choose(resolver, preset="tuned").variant == "b"
        assert choose(resolver, preset="tuned", variant="c").variant == "c"
        with pytest.raises(UsageError) as caught:
            choose(resolver, preset="tuned", variant="a")
        assert caught.value.message == "the preset tuned is for variant b or c, not a"

    def test_what_a_preset_sets_may_be_named_beside_it(self) -> None:
        alone = choose(own(M3), preset="h200_agentx")
        named = choose(
            own(M3),
            preset="h200_agentx",
            hardware="h200",
            strategy="single_node_tp",
            variant="mxfp8",
        )
        assert named.replace(request=alone.request, reasons=alone.reasons) == alone
        assert [why(named, each) for each in ("hardware", "variant", "strategy")] == [
            "asked for"
        ] * 3

    def test_json_arguments_need_json_to_merge_into(self) -> None:
        resolver = recipe(
            """
            model: {model_id: org/model, base_args: [--config, plain]}
            presets:
              tuned:
                hardware: h200
                strategy: single_node_tp
                json_args:
                  --config: {a: 1}
            """
        )
        with pytest.raises(LaunchError) as caught:
            deploy(resolver, preset="tuned")
        assert caught.value.exit_status == 2
        assert caught.value.message.endswith(
            "presets.tuned.json_args: --config holds 'plain', which is no JSON mapping"
        )
        assert caught.value.message.startswith("recipes/models/org/model.yaml:")


class TestHardware:
    """No hardware given."""

    @pytest.mark.parametrize(
        ("keys", "hardware", "reason"),
        [
            pytest.param("", "h200", "the usual default", id="h200"),
            pytest.param(
                "meta: {default_hardware: mi355x}", "mi355x", "the recipe's default", id="recipe's"
            ),
            pytest.param(
                "variants: {v: {precision: nvfp4}}",
                "b200",
                "the usual default",
                id="b200 for a Blackwell-only precision",
            ),
            pytest.param(
                "{variants: {v: {precision: fp4}}, meta: {hardware: {b200: unsupported}}}",
                "gb200",
                "the usual default",
                id="then gb200",
            ),
            pytest.param(
                "{variants: {v: {precision: nvfp4}}, "
                "meta: {hardware: {b200: unsupported, gb200: unsupported}}}",
                "b300",
                "the usual default",
                id="then the first that can",
            ),
            pytest.param(
                "meta: {hardware: {h200: unsupported}}",
                "b200",
                "the usual default",
                id="not where unsupported",
            ),
            pytest.param(
                "{meta: {default_hardware: h200}, "
                "variants: {v: {precision: bf16, supported_hardware: [amd]}}}",
                "mi300x",
                "the usual default",
                id="not where the variant does not run",
            ),
            pytest.param(
                "{meta: {hardware: {h200: unsupported}}, "
                "variants: {v: {precision: bf16, supported_hardware: [gb300, b300, mi300x]}}}",
                "b300",
                "the usual default",
                id="NVIDIA's first, by name",
            ),
            pytest.param(
                "variants: {v: {precision: bf16, precision_hardware: {generation: blackwell}}}",
                "b200",
                "the usual default",
                id="b200 for a precision that is said to need Blackwell",
            ),
            pytest.param(
                "variants: {v: {precision: nvfp4, precision_hardware: {brand: NVIDIA}}}",
                "h200",
                "the usual default",
                id="h200 where the precision runs on it after all",
            ),
            pytest.param(
                "variants: {v: {precision: nvfp4, precision_hardware: {brand: AMD}}}",
                "mi300x",
                "the usual default",
                id="a precision with hardware of its own",
            ),
        ],
    )
    def test_the_default_is_the_recipes_or_a_usual_one(
        self, keys: str, hardware: str, reason: str
    ) -> None:
        choice = choose(recipe(keys))
        assert choice.hardware.id == hardware
        assert why(choice, "hardware") == reason

    def test_the_default_suits_the_variant_that_is_named(self) -> None:
        assert choose(own(M3)).hardware.id == "h200"
        assert choose(own(M3), variant="nvfp4").hardware.id == "b200"
        assert choose(own(M3), variant="mxfp4").hardware.id == "mi355x"

    def test_restricted_hardware_is_taken_where_it_is_listed_only(self) -> None:
        listed = "{meta: {hardware: {xeon6: verified}}, variants: {v: {supported_hardware: [cpu]}}}"
        assert choose(recipe(listed)).hardware.id == "xeon6"
        with pytest.raises(NothingFits) as caught:
            choose(recipe("variants: {v: {supported_hardware: [cpu]}}"))
        assert caught.value.message == "no hardware profile can run variant v of org/model"

    def test_a_preset_sets_it(self) -> None:
        choice = choose(own(M3), preset="gb200_agentx")
        assert choice.hardware.id == "gb200"
        assert why(choice, "hardware") == "the preset gb200_agentx sets it"
        assert why(choice, "variant") == "the preset gb200_agentx sets it"
        assert why(choice, "strategy") == "the preset sets it"

    def test_devices_narrow_the_profile(self) -> None:
        hardware = choose(own(M31), hardware="b300", devices=("2", "5")).hardware
        assert (hardware.gpu_count, hardware.vram_gb) == (2, 2144 / 4)


class TestWhereVariantsRun:
    @pytest.mark.parametrize(
        ("variant", "hardware", "reason"),
        [
            pytest.param("{precision: bf16}", "h200", None, id="bf16 anywhere"),
            pytest.param("{precision: nvfp4}", "b200", None, id="nvfp4 on Blackwell"),
            pytest.param(
                "{precision: fp4}", "mi355x", "variant v is FP4, which needs Blackwell", id="fp4"
            ),
            pytest.param(
                "{precision: nvfp4, supported_hardware: [h200]}",
                "h200",
                None,
                id="supported_hardware is asked instead of the precision",
            ),
            pytest.param(
                "{precision: bf16, supported_hardware: [blackwell, amd]}",
                "b300",
                None,
                id="a generation",
            ),
            pytest.param(
                "{precision: bf16, supported_hardware: [nvidia]}", "h100", None, id="a brand"
            ),
            pytest.param(
                "{precision: bf16, supported_hardware: [blackwell, amd]}",
                "h200",
                "variant v runs on blackwell, amd only",
                id="none of them",
            ),
            pytest.param(
                "{precision: nvfp4, precision_hardware: {generation: hopper}}",
                "h200",
                None,
                id="the precision's own generation",
            ),
            pytest.param(
                "{precision: mxfp4, precision_hardware: {brand: AMD}}",
                "h200",
                "variant v is MXFP4, which needs AMD",
                id="the precision's own brand, elsewhere",
            ),
            pytest.param(
                "{precision: int4, precision_hardware: {brand: NVIDIA, generation: hopper}}",
                "b200",
                "variant v is INT4, which needs hopper",
                id="the precision's own generation, elsewhere",
            ),
        ],
    )
    def test_a_variant_runs_where_its_precision_does(
        self, variant: str, hardware: str, reason: str | None
    ) -> None:
        resolver = recipe(f"variants: {{v: {variant}}}")
        record = resolver.recipe.variants["v"]
        assert resolver.chooser.why_not(record, profile(hardware)) == reason
        if reason is not None:
            with pytest.raises(NothingFits) as caught:
                choose(resolver, hardware=hardware, variant="v")
            assert caught.value.message == reason

    def test_unsupported_hardware_is_unsupported_for_every_variant(self) -> None:
        with pytest.raises(NothingFits, match="org/model does not run on h200"):
            choose(recipe("meta: {hardware: {h200: unsupported}}"), hardware="h200")


class TestVariant:
    THREE = """
        variants:
          big: {precision: bf16, vram_minimum_gb: 400}
          middle: {precision: fp8, vram_minimum_gb: 200}
          small: {precision: int4, vram_minimum_gb: 90}
        meta: {hardware: {rtx_pro_6000: verified, rtx_pro_6000_2x: verified, rtx_5090: verified}}
    """

    def test_the_one_called_default_or_the_first(self) -> None:
        named = recipe("variants: {a: {precision: bf16}, default: {precision: bf16}}")
        assert choose(named).variant == "default"
        assert choose(recipe(self.THREE)).variant == "big"
        assert why(choose(named), "variant") == "the recipe's default"

    @pytest.mark.parametrize(
        ("hardware", "variant", "reason"),
        [
            pytest.param(
                "rtx_pro_6000",
                "small",
                "big needs 400 GB and rtx_pro_6000 has 96; the largest that runs there",
                id="one that fits",
            ),
            pytest.param(
                "rtx_pro_6000_2x",
                "small",
                "big needs 400 GB and rtx_pro_6000_2x has 192; the largest that runs there",
                id="the largest that fits",
            ),
            pytest.param("gb200", "big", "the recipe's default", id="not where nodes can join"),
        ],
    )
    def test_a_machine_that_cannot_join_others_gets_the_largest_that_fits(
        self, hardware: str, variant: str, reason: str
    ) -> None:
        choice = choose(recipe(self.THREE), hardware=hardware)
        assert choice.variant == variant
        assert why(choice, "variant") == reason

    def test_where_none_fits_the_smallest_is_what_is_missed(self) -> None:
        with pytest.raises(NothingFits) as caught:
            choose(recipe(self.THREE), hardware="rtx_5090")
        assert told(caught.value) == (
            "nothing_fits",
            "variant small needs 90 GB, and 1 GPU of rtx_5090 have 32 GB",
            "what would do: a larger machine",
        )

    def test_hardware_that_rules_the_default_out_gets_the_largest_other(self) -> None:
        choice = choose(own(M31), hardware="h200")
        assert choice.variant == "fp8"
        assert why(choice, "variant") == (
            "variant default runs on b200, gb200, b300, gb300, mi355x only; "
            "the largest that runs there"
        )

    def test_a_named_one_is_never_replaced(self) -> None:
        choice = choose(recipe(self.THREE), hardware="rtx_pro_6000", variant="big")
        assert choice.variant == "big"
        assert why(choice, "variant") == "asked for"


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
