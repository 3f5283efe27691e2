"""Models that no recipe is of: a plan from the config, loudly told, or how to get the config."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.launcher import M3, Host, Operator

MODEL = "acme/Big-70B"
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


def cached(operator: Operator, model: str = MODEL, **more: object) -> Path:
    """Put a model's config, and no more, into the hub cache; the config's path."""
    root = operator.home / ".cache/huggingface/hub" / f"models--{model.replace('/', '--')}"
    snapshot = root / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    path = snapshot / "config.json"
    path.write_text(json.dumps({**CONFIG, **more}))
    return path


@pytest.fixture(autouse=True)
def _plain_home(operator: Operator) -> None:
    # The hub cache is under the operator's home, apart from the launcher's own cache.
    operator.env["HF_HOME"] = str(operator.home / ".cache/huggingface")


def told(path: Path, model: str = MODEL) -> str:
    return (
        f"warning: there is no recipe for '{model}'\n"
        f"warning: this is a generic plan, made from {path}; nobody has verified it\n"
    )


SMALL = {"hidden_size": 128, "intermediate_size": 256, "vocab_size": 400}


@pytest.mark.parametrize(
    ("shape", "share"),
    [
        pytest.param({**SMALL, "num_hidden_layers": 2}, "0.30", id="next to nothing"),
        pytest.param(
            {**SMALL, "num_hidden_layers": 240, "head_dim": 128},
            "0.55",
            id="the KV cache of some requests",
        ),
    ],
)
def test_a_cpu_is_asked_for_what_weights_and_some_requests_need(
    operator: Operator, shape: dict[str, int], share: str
) -> None:
    cached(operator, **shape)
    ran = operator.run("serve", MODEL, "--hardware", "xeon6", "--dry-run")
    assert f"  --gpu-memory-utilization {share} \\\n" in ran.out, ran.err


def test_it_is_planned_and_told_loudly(operator: Operator) -> None:
    path = cached(operator)
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert ran.status == 0
    assert ran.out == f"vllm serve {MODEL} \\\n  --tensor-parallel-size 4\n"
    assert ran.err == told(path) + (
        f"# {MODEL}: h100 · single_node_tp · variant default · features none\n"
        "# note: bf16; about 141 GB of weights, estimated from 70.6B parameters at 16 bits\n"
        "# note: no tool call parser, reasoning parser or drafting: a config does not say which\n"
    )


def test_every_flag_is_explained_by_the_config(operator: Operator) -> None:
    path = cached(operator, num_hidden_layers=250)
    ran = operator.run("explain", MODEL, "--hardware", "h100")
    assert f"  source    no recipe: {path}\n" in ran.out
    assert "variant   default: the only one\n" in ran.out
    assert "recipe's" not in ran.out
    ran = operator.run("explain", MODEL, "--hardware", "h100", "-o", "json")
    deployment = ran.json["deployment"]
    assert deployment["verified"] is False
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert deployment["origin"]["digest"] == f"sha256:{digest}"
    [process] = deployment["processes"]
    layers = {
        argument["argument"][0]: argument["layer"]
        for argument in process["provenance"]["arguments"]
    }
    assert layers.keys() == {"--tensor-parallel-size", "--max-model-len"}
    assert layers["--tensor-parallel-size"].startswith(
        "generic plan: config.json num_attention_heads=64, num_key_value_heads=8; "
    )
    assert layers["--max-model-len"] == ("generic plan: config.json max_position_embeddings=131072")
    assert any(note.startswith("context ") for note in deployment["notes"])


def test_a_plan_of_a_recipe_says_that_it_is_one(operator: Operator) -> None:
    ran = operator.run("explain", M3, "--hardware", "h200", "-o", "json")
    assert ran.json["deployment"]["verified"] is True
    assert operator.run("fit", M3, "--hardware", "h200", "-o", "json").json["fit"]["verified"]


def test_the_operator_still_wins(operator: Operator) -> None:
    cached(operator)
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run", "--tp", "8", "--",
                       "--max-model-len", "4096")  # fmt: skip
    assert ran.out.split() == [
        "vllm", "serve", MODEL, "\\", "--tensor-parallel-size", "8", "\\",
        "--max-model-len", "4096",
    ]  # fmt: skip


def test_a_size_that_cannot_be_is_noted(operator: Operator) -> None:
    cached(operator, num_attention_heads=12, num_key_value_heads=12, hidden_size=1536)
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run", "--tp", "8")
    assert "# note: --tp 8: 12 attention heads are not divisible by 8\n" in ran.err


NO_HEADS = {"num_attention_heads": None, "num_key_value_heads": None}
WEIGHTS_UNKNOWN = "# note: bf16; nothing is known of the weights' size\n"
FLOAT8 = {
    "quant_method": "compressed-tensors",
    "format": "float-quantized",
    "config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"}}},
}


@pytest.mark.parametrize(
    ("config", "size", "notes"),
    [
        pytest.param(
            {"quantization_config": {"quant_method": "gptq", "bits": 8}},
            2,
            "# note: gptq; about 75 GB of weights, estimated from 70.6B parameters at 8.5 bits\n",
            id="GPTQ of eight bits",
        ),
        pytest.param(
            {"quantization_config": FLOAT8},
            2,
            "# note: fp8; about 71 GB of weights, estimated from 70.6B parameters at 8 bits\n",
            id="FP8 in the form of compressed-tensors",
        ),
        pytest.param(
            NO_HEADS,
            1,
            f"{WEIGHTS_UNKNOWN}# note: TP 1 is taken: the config does not say how many heads there "
            "are to split\n",
            id="heads unknown",
        ),
        pytest.param(
            {"num_attention_heads": 71, "num_key_value_heads": 71, "intermediate_size": None},
            1,
            f"{WEIGHTS_UNKNOWN}# note: TP 1 is taken, the largest that can be\n",
            id="weights unknown, and nothing to divide by",
        ),
        pytest.param(
            {"intermediate_size": None},
            8,
            f"{WEIGHTS_UNKNOWN}# note: TP 8 is taken, the largest that can be\n",
            id="weights unknown",
        ),
    ],
)
def test_the_size_and_what_it_stands_on(
    operator: Operator, config: dict[str, object], size: int, notes: str
) -> None:
    cached(operator, **config)
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert ran.out == f"vllm serve {MODEL} \\\n  --tensor-parallel-size {size}\n"
    assert f"features none\n{notes}# note: no tool call parser" in ran.err


def test_without_heads_as_many_gpus_are_taken_as_hold_the_weights(operator: Operator) -> None:
    path = cached(operator, **NO_HEADS)
    index = {"metadata": {"total_size": 146_000_000_000}, "weight_map": {}}
    path.with_name("model.safetensors.index.json").write_text(json.dumps(index))
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert ran.out == f"vllm serve {MODEL} \\\n  --tensor-parallel-size 4\n"
    assert (
        "# note: bf16; 146 GB of weights, as counted\n# note: TP 4 is taken: the config does not "
        "say how many heads there are to split\n"
    ) in ran.err


@pytest.mark.parametrize(
    "own", [("--tp", "2"), ("--", "--tensor-parallel-size", "2")], ids=["option", "behind --"]
)
def test_a_size_of_the_operators_own_is_not_told_again(
    operator: Operator, own: tuple[str, ...]
) -> None:
    cached(operator, **NO_HEADS)
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run", *own)
    assert "--tensor-parallel-size 2\n" in ran.out
    assert "is taken" not in ran.err


def test_a_context_is_cut_by_an_estimate(operator: Operator) -> None:
    quantised = {"quantization_config": {"quant_method": "gptq", "bits": 4}}
    path = cached(operator, **quantised)
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert "--max-model-len 86016" in ran.out
    assert (
        "# note: context 86016 tokens instead of 131072: the KV cache has room for no more, "
        "by an estimate\n"
    ) in ran.err
    window = {"sliding_window": 1024, "sliding_window_pattern": 6}
    path.write_text(json.dumps({**CONFIG, **quantised, **window}))
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert "--max-model-len" not in ran.out


@pytest.mark.parametrize("hardware", ["rtx_5090", "dgx_spark_gb10", "mi355x"])
def test_any_hardware_will_do(operator: Operator, hardware: str) -> None:
    cached(operator, num_hidden_layers=8, hidden_size=4096, num_attention_heads=32)
    ran = operator.run("serve", MODEL, "--hardware", hardware, "--dry-run")
    assert ran.status == 0, ran.err


def test_a_precision_needs_its_hardware_all_the_same(operator: Operator) -> None:
    cached(operator, quantization_config={"quant_method": "modelopt", "quant_algo": "NVFP4"})
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert ran.status == 3
    assert "error: variant default is NVFP4, which needs Blackwell\n" in ran.err


def test_this_host_is_planned_for(operator: Operator, host: Host) -> None:
    cached(operator)
    ran = operator.run("serve", MODEL, "--dry-run", env=host("h200_4x"))
    assert "--tensor-parallel-size 2" in ran.out
    ran = operator.run("serve", MODEL, "--dry-run", env=host("rtx_4090"))
    assert ran.status == 3
    assert "variant default needs 169.3 GB" in ran.err


def test_a_local_checkpoint_needs_no_name(operator: Operator) -> None:
    place = operator.home / "my-model"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(CONFIG))
    (place / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": 20_000_000_000}})
    )
    ran = operator.run("serve", str(place), "--hardware", "h100", "--dry-run")
    assert ran.out == f"vllm serve {place} \\\n  --tensor-parallel-size 1\n"
    assert ran.err.startswith(f"warning: no recipe is named like the checkpoint {place}\n")
    assert "# note: bf16; 20 GB of weights, as counted\n" in ran.err


def test_fit_check_and_export_help_too(operator: Operator) -> None:
    path = cached(operator)
    fit = operator.run("fit", MODEL, "--hardware", "h100", "-o", "json")
    assert fit.err == told(path)
    assert fit.json["fit"]["verified"] is False
    [row] = [r for r in fit.json["fit"]["fits"] if r["strategy"] == "single_node_tp"]
    assert (row["fits"], row["gpus"]) == (True, 4)
    check = operator.run("check", MODEL, "--hardware", "h100")
    assert check.err.startswith(told(path))
    assert "passed" in check.out
    export = operator.run("export", MODEL, "--hardware", "h100", "--to", "compose")
    assert export.status == 0
    assert "'4'" in export.out


def test_what_stands_before_a_server_is_as_asked_for(operator: Operator) -> None:
    cached(operator)
    words = ("serve", MODEL, "--hardware", "h100", "--dry-run", "--frontend", "dynamo")
    titles = [line for line in operator.run(*words).out.splitlines() if line.startswith("# ")]
    assert {"# etcd", "# server 0"} <= set(titles)


def test_code_of_its_own_is_noted_and_not_run(operator: Operator) -> None:
    cached(operator, auto_map={"AutoModel": "modeling.X"})
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert "--trust-remote-code" not in ran.out
    assert "-- --trust-remote-code would run\n" in ran.err


def test_without_a_config_the_error_says_how_to_get_it(operator: Operator) -> None:
    ran = operator.run("serve", MODEL, "--hardware", "h100")
    assert ran.status == 2
    assert ran.error == (
        f"error: there is no recipe for '{MODEL}'\n"
        "  see vllm-launch recipes list, or give --recipes-dir\n"
        f"  to plan without a recipe, by its config: hf download {MODEL} config.json\n"
    )


def test_a_typo_is_no_generic_plan(operator: Operator) -> None:
    cached(operator, M3)
    ran = operator.run("serve", f"{M3}x", "--hardware", "h200", "--dry-run")
    assert ran.status == 2
    assert f"  did you mean {M3} or" in ran.error


def test_a_recipe_is_before_a_config(operator: Operator) -> None:
    cached(operator, M3)
    assert "--block-size" in operator.run("serve", M3, "--hardware", "h200", "--dry-run").out


@pytest.mark.parametrize("config", ["{", "[]", "nonsense", "[" * 100_000])
def test_a_config_that_cannot_be_read(operator: Operator, config: str) -> None:
    path = cached(operator)
    path.write_text(config)
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert ran.status == 2
    assert f"error: there is no recipe for '{MODEL}', and {path} cannot be read\n" in ran.error


def test_an_odd_config_is_planned_without_figures(operator: Operator) -> None:
    path = cached(operator)
    path.write_text('{"num_attention_heads": "64", "hidden_size": -1, "architectures": 3}')
    ran = operator.run("serve", MODEL, "--hardware", "h100", "--dry-run")
    assert ran.status == 0
    assert "precision unknown; nothing is known of the weights' size" in ran.err


def test_the_batch_knows_recipes_alone(operator: Operator) -> None:
    cached(operator)
    line = json.dumps({"recipe": MODEL, "input": {"hardware": "h100"}}).encode()
    ran = operator.run("resolve", "--batch", "-", input=line)
    assert json.loads(ran.out)["error"]["code"] == "usage"
    assert operator.run("recipes", "show", MODEL).status == 2
