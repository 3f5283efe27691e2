"""recipes new: what it writes is a recipe that the launcher takes, and nothing is written over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.launcher import M3, Operator

MODEL = "acme/Model-70B"
CONFIG = {
    "num_hidden_layers": 80,
    "hidden_size": 8192,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
CONFIGS = [
    pytest.param(None, id="no config"),
    pytest.param(CONFIG, id="dense"),
    pytest.param({**CONFIG, "num_experts": 8, "vision_config": {}, "auto_map": {}}, id="mixture"),
    pytest.param({**CONFIG, "quantization_config": {"quant_method": "fp8"}}, id="fp8"),
    pytest.param({**CONFIG, "quantization_config": {"quant_algo": "NVFP4"}}, id="nvfp4"),
    pytest.param({**CONFIG, "num_hidden_layers": 1, "hidden_size": 64}, id="tiny"),
    pytest.param({}, id="a config that says nothing"),
]


def cached(operator: Operator, config: object) -> None:
    operator.env["HF_HOME"] = str(operator.home / "hf")
    if config is None:
        return
    root = operator.home / "hf" / "hub" / f"models--{MODEL.replace('/', '--')}"
    (root / "snapshots" / "abc").mkdir(parents=True)
    (root / "snapshots" / "abc" / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("config", CONFIGS)
def test_it_is_read_and_linted_without_an_error(operator: Operator, config: object) -> None:
    cached(operator, config)
    path = f"mine/models/{MODEL}.yaml"
    ran = operator.run("recipes", "new", MODEL, "--out", path)
    assert (ran.status, ran.out) == (0, "")
    assert ran.err.endswith(f"wrote {path}; next: vllm-launch recipes lint {path}\n")
    lint = operator.run("recipes", "lint", path, "-o", "json")
    assert lint.status == 0, lint.out
    severe = [f for f in lint.json["lint"]["faults"] if f["severity"] != "note"]
    assert severe == []
    served = operator.run(
        "--recipes-dir", "mine", "serve", MODEL, "--hardware", "b300", "--dry-run"
    )
    assert served.status == 0, served.err
    assert served.out.startswith(f"vllm serve {MODEL} ")
    assert "generic plan" not in served.err
    assert f"{MODEL}" in operator.run("--recipes-dir", "mine", "recipes", "list").out


def test_what_the_config_says_is_filled_in(operator: Operator) -> None:
    cached(operator, CONFIG)
    ran = operator.run("recipes", "new", MODEL)
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:4] == [
        "meta:", '  title: "Model-70B"', '  slug: "model-70b"', '  provider: "acme"',
    ]  # fmt: skip
    for line in (
        f'  model_id: "{MODEL}"',
        "  architecture: dense",
        '  parameter_count: "70.6B"',
        "  context_length: 131072",
        "    precision: bf16",
        "    # Plus a fifth for headroom.",
        "    vram_minimum_gb: 169",
        "  - multi_node_tp",
    ):
        assert line in lines
    assert "  - single_node_tep" not in lines


def test_a_mixture_of_experts_that_sees_and_brings_code(operator: Operator) -> None:
    cached(operator, {**CONFIG, "num_experts": 8, "vision_config": {}, "auto_map": {}})
    lines = operator.run("recipes", "new", MODEL).out.splitlines()
    for line in (
        "  architecture: moe",
        "    - multimodal",
        "  - single_node_tep",
        '  # base_args: ["--trust-remote-code"]',
        "  base_args: []",
    ):
        assert line in lines


def test_without_a_config_the_gaps_are_comments(operator: Operator) -> None:
    cached(operator, None)
    ran = operator.run("recipes", "new", MODEL)
    assert ran.err == (
        f"note: no config of {MODEL} is at hand; hf download {MODEL} config.json gets it, and "
        "this fills in what it says\n"
    )
    for line in ('  # parameter_count: "70B"', "    # precision: bf16"):
        assert line in ran.out.splitlines()


def test_nothing_is_written_over(operator: Operator) -> None:
    path = operator.cwd / "x.yaml"
    path.write_text("mine")
    ran = operator.run("recipes", "new", MODEL, "--out", "x.yaml")
    assert ran.status == 2
    assert "error: x.yaml is there already\n  --force writes over it\n" in ran.error
    assert path.read_text() == "mine"
    assert operator.run("recipes", "new", MODEL, "--out", "x.yaml", "--force").status == 0
    assert path.read_text().startswith("meta:\n")
    assert [each.name for each in operator.cwd.iterdir()] == ["x.yaml"]


def test_a_link_that_leads_nowhere_is_not_followed(operator: Operator) -> None:
    link = operator.cwd / "x.yaml"
    link.symlink_to(operator.cwd / "elsewhere")
    assert operator.run("recipes", "new", MODEL, "--out", "x.yaml").status == 2
    assert not (operator.cwd / "elsewhere").exists()


def test_a_place_that_cannot_be_written(operator: Operator) -> None:
    ran = operator.run("recipes", "new", MODEL, "--out", "/proc/x/y.yaml")
    assert ran.status == 2
    assert "error: cannot write /proc/x/y.yaml: " in ran.error


def test_a_recipe_that_there_is_already_is_told(operator: Operator) -> None:
    ran = operator.run("recipes", "new", M3)
    assert ran.status == 0
    assert ran.err.startswith(
        f"note: bundled has a recipe for {M3}; an overlay changes it without a copy\n"
    )


@pytest.mark.parametrize(
    "model", ["Model", "a/b/c", "../x", "a/..", "-a/b", 'a/b"c', "a/b c", "a/b\n", "", "a/é"]
)
def test_what_is_no_id(operator: Operator, model: str) -> None:
    ran = (
        operator.run("recipes", "new", "--", model)
        if model.startswith("-")
        else operator.run("recipes", "new", model)
    )
    assert ran.status == 2
    assert ran.error.startswith("error: ")
    assert not list(Path(operator.cwd).iterdir())
