"""The hardware and the variant that are chosen, planning for a profile: each rule."""

from __future__ import annotations

import pytest

from tests.resolve.build import (
    M3,
    M31,
    choose,
    own,
    profile,
    recipe,
    told,
    why,
)
from vllm_launch.errors import NothingFits


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
                "{meta: {hardware: {b200: unsupported}}, "
                "variants: {v: {precision: bf16, precision_hardware: {generation: blackwell}}}}",
                "gb200",
                "the usual default",
                id="gb200 for such a one, where b200 is unsupported",
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
        assert why(choice, "strategy") == "the preset gb200_agentx sets it"

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
            "variant small needs 90 GB, and 1 GPU of rtx_5090 has 32 GB",
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
