"""What cannot be chosen or resolved: each refusal, with what is possible instead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import (
    M3,
    M31,
    choose,
    deploy,
    own,
    recipe,
    told,
    why,
)
from vllm_launch.errors import LaunchError, NothingFits, UsageError
from vllm_launch.model.choice import Pool, Pools

ALL_STRATEGIES = (
    "single_node_tp, single_node_tep, single_node_dep, multi_node_tp, multi_node_tp_pp, "
    "multi_node_tep, multi_node_dep, pd_cluster"
)
M3_FEATURES = (
    "tool_calling, reasoning, spec_decoding, text_only, thinking_always_on, encoder_parallel"
)


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
                "did you mean 'h200_agentx'? presets: h200_agentx, b200_agentx, "
                "b200_agentx_c10, b300_agentx, "
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
