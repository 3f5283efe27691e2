"""Which container image a plan runs in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.resolve.build import M3, deploy, own, recipe
from vllm_launch.errors import RecipeError
from vllm_launch.model.image import is_image_reference

LISTED = {
    "meta": {
        "hardware": dict.fromkeys(
            ("trillium", "xeon6", "arc_pro_b60", "ascend_950pr", "rtx_4090_2x"), "verified"
        )
    }
}


def image(keys: dict[str, Any], hardware: str, **request: Any) -> str | None:
    return deploy(recipe({**LISTED, **keys}), hardware=hardware, **request).image


def model(**keys: Any) -> dict[str, Any]:
    return {"model": {"model_id": "org/model", **keys}}


def variant(**keys: Any) -> dict[str, Any]:
    return {"variants": {"v": {"precision": "bf16", **keys}}}


def exact(hardware: str, docker_image: Any) -> dict[str, Any]:
    return {"hardware_overrides": {hardware: {"docker_image": docker_image}}}


ALL_BRANDS = {"nvidia": "for/nvidia:1", "amd": "for/amd:1", "tpu": "for/tpu:1", "intel": "for/i:1"}


@pytest.mark.parametrize(
    ("hardware", "latest", "nightly"),
    [
        ("h200", "vllm/vllm-openai:latest", "vllm/vllm-openai:nightly"),
        ("rtx_4090_2x", "vllm/vllm-openai:latest", "vllm/vllm-openai:nightly"),
        ("mi355x", "vllm/vllm-openai-rocm:latest", "vllm/vllm-openai-rocm:nightly"),
        ("trillium", "vllm/vllm-tpu:latest", "vllm/vllm-tpu:nightly"),
        ("xeon6", *["vllm/vllm-openai-cpu:latest-x86_64"] * 2),
        ("arc_pro_b60", *["vllm/vllm-openai-xpu:latest"] * 2),
        ("ascend_950pr", None, None),
    ],
    ids=["NVIDIA", "NVIDIA card", "AMD", "TPU", "CPU", "XPU", "none known"],
)
def test_the_brands_default(hardware: str, latest: str | None, nightly: str | None) -> None:
    assert image({}, hardware) == latest
    assert image(model(nightly_required=True), hardware) == nightly


@pytest.mark.parametrize(
    ("keys", "hardware", "expected"),
    [
        pytest.param(
            {**model(docker_image="of/model:1"),
             **variant(docker_image="of/variant:1", **exact("h200", "of/exact:1"))},
            "h200",
            "of/exact:1",
            id="the exact GPU's",
        ),
        pytest.param(
            {**model(docker_image="of/model:1"),
             **variant(docker_image="of/variant:1", **exact("b200", "of/exact:1"))},
            "h200",
            "of/variant:1",
            id="then the variant's",
        ),
        pytest.param(
            {**model(docker_image="of/model:1"), **variant()},
            "h200",
            "of/model:1",
            id="then the model's",
        ),
        pytest.param(
            {**model(docker_image={"nvidia": "of/model:1"}),
             **variant(docker_image={"amd": "of/variant:1"})},
            "h200",
            "of/model:1",
            id="the model's where the variant's is for another brand",
        ),
        pytest.param(
            variant(**exact("mi355x", "of/exact:1")),
            "mi355x",
            "of/exact:1",
            id="a plain string for the exact GPU counts for any brand",
        ),
        pytest.param(
            {**model(docker_image="of/model:1"), **variant(docker_image="of/variant:1")},
            "mi355x",
            "vllm/vllm-openai-rocm:latest",
            id="a plain string elsewhere counts for NVIDIA alone",
        ),
        pytest.param(model(docker_image=ALL_BRANDS), "h200", "for/nvidia:1", id="nvidia"),
        pytest.param(model(docker_image=ALL_BRANDS), "mi300x", "for/amd:1", id="amd"),
        pytest.param(model(docker_image=ALL_BRANDS), "trillium", "for/tpu:1", id="tpu"),
        pytest.param(model(docker_image=ALL_BRANDS), "xeon6", "for/i:1", id="intel, CPU"),
        pytest.param(model(docker_image=ALL_BRANDS), "arc_pro_b60", "for/i:1", id="intel, XPU"),
        pytest.param(
            model(docker_image={"cu129": "for/cuda:129", "cu130": "for/cuda:130"}),
            "h200",
            "for/cuda:130",
            id="a CUDA map gives cu130",
        ),
        pytest.param(
            model(docker_image={"cu130": "for/cuda:130", "cu129": "for/cuda:129"}),
            "h200",
            "for/cuda:130",
            id="in any order",
        ),
        pytest.param(
            model(docker_image={"cu129": "for/cuda:129"}),
            "h200",
            "for/cuda:129",
            id="or the newest that there is",
        ),
        pytest.param(
            model(docker_image={"cu130": "for/cuda:130"}),
            "mi355x",
            "vllm/vllm-openai-rocm:latest",
            id="for NVIDIA alone",
        ),
        pytest.param(
            model(docker_image={"nvidia": {"cu129": "a:129", "cu130": "a:130"}, "amd": "a:rocm"}),
            "h200",
            "a:130",
            id="a CUDA map inside a map by brand",
        ),
    ],
)  # fmt: skip
def test_the_recipes_image(keys: dict[str, Any], hardware: str, expected: str) -> None:
    assert image(keys, hardware) == expected


class TestPinned:
    RECIPE = {  # noqa: RUF012 - read, never changed
        **model(docker_image="of/model:1"),
        "presets": {
            "plain": {"hardware": "h200", "strategy": "single_node_tp"},
            "pinned": {
                "hardware": "h200",
                "strategy": "single_node_tp",
                "image": "of/preset:1",
                "points": {"own": {"image": {"vllm": "of/point:1", "pip": ["x==1"]}}, "none": {}},
            },
        },
    }

    @pytest.mark.parametrize(
        ("preset", "point", "expected"),
        [
            pytest.param("plain", None, "of/model:1", id="not by this preset"),
            pytest.param("pinned", None, "of/preset:1", id="by a preset"),
            pytest.param("pinned", "none", "of/preset:1", id="not by the point"),
            pytest.param("pinned", "own", "of/point:1", id="by the point"),
        ],
    )
    def test_a_preset_or_its_point_pins_it(
        self, preset: str, point: str | None, expected: str
    ) -> None:
        deployment = deploy(recipe(self.RECIPE), preset=preset, point=point)
        assert deployment.image == expected

    def test_the_operators_goes_before_all(self) -> None:
        deployment = deploy(recipe(self.RECIPE), preset="pinned", point="own", image="mine:1")
        assert deployment.image == "mine:1"
        assert deployment.image_source.layer == "operator"

    def test_where_it_is_from_is_told(self) -> None:
        source = deploy(own(M3), preset="h200_agentx").image_source
        assert source.layer == "presets.h200_agentx.image"
        assert source.file == "recipes/models/MiniMaxAI/MiniMax-M3.yaml"
        assert source.line > 1
        assert deploy(recipe(), hardware="h200").image_source.layer == "default image for NVIDIA"


class TestNoReference:
    PULL = variant(docker_image="docker pull vllm/vllm-openai:latest")

    def test_a_command_is_an_error_with_its_place(self) -> None:
        with pytest.raises(RecipeError) as caught:
            deploy(recipe(self.PULL), hardware="h200")
        assert caught.value.message == (
            "recipes/models/org/model.yaml:6: variants.v.docker_image: "
            "'docker pull vllm/vllm-openai:latest' is no image reference"
        )
        assert caught.value.hint == (
            "write NAME:TAG or NAME@sha256:…, without a command before it, or pass --image"
        )
        assert caught.value.code == "bad_recipe"

    def test_where_it_is_not_used_it_does_not_matter(self) -> None:
        assert deploy(recipe(self.PULL), hardware="mi355x").image == "vllm/vllm-openai-rocm:latest"
        assert deploy(recipe(self.PULL), hardware="h200", image="mine:1").image == "mine:1"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("vllm/vllm-openai:latest", True),
        ("registry.example.org:5000/a/b-c_d:1.2@sha256:" + "0f" * 32, True),
        ("a/b@sha512:" + "0f" * 64, True),
        ("vllm/vllm-openai@sha256:abc", False),
        ("a/b@sha256:" + "0F" * 32, False),
        ("a/b@md5:" + "0f" * 32, False),
        ("reg.io/u:pa55@x/y:z", False),
        ("u:pa55@x", False),
        ("image", True),
        ("", False),
        ("docker pull image", False),
        ("-v", False),
        ("/image", False),
        ("image;rm", False),
        ("image$X", False),
        ("imäge", False),
        ("ımage:1", False),
        ("image:1\n", False),
        ("image:V1", True),
        ("localhost/image", True),
        ("Host:443/image:1", True),
        ("Host/image:1", False),
        ("vLLM/vllm-openai:v1", False),
        ("VLLM/OpenAI:v1", False),
        ("Image:1", False),
        ("a//b", False),
        ("image:", False),
        ("image@", False),
        ("image:1:2", False),
    ],
)
def test_what_has_the_shape_of_a_reference(text: str, is_one: bool) -> None:
    assert is_image_reference(text) == is_one
