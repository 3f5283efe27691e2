"""What programs read: the JSON envelope of each command, and serve's other forms."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.launcher import B300, DOCUMENTED, DOCUMENTED_ENV, FLASH, M3, Host, Operator
from tests.cli.terminal import on_terminal
from vllm_launch import __version__

PROCESS = {"role", "rank", "argv", "env", "docker_argv", "provenance"}
PART = {
    "name", "role", "rank", "node", "argv", "text", "env", "port", "files", "after",
    "placeholders", "source",
}  # fmt: skip
DEPLOYMENT = {
    "deploy_type", "hardware", "variant", "strategy", "nodes", "image", "processes", "router",
    "companions", "recipe", "origin", "verified", "reasons", "settings",
}  # fmt: skip
STORE = {"instances", "master", "mooncake_config", "store_config", "store_command"}
GPU = {
    "index", "vendor", "name", "uuid", "pci_bus_id", "pci_device_id", "compute_capability",
    "gfx_target", "memory_bytes", "memory_used_bytes", "unified_memory", "unknown",
}  # fmt: skip
BOTH = {
    "id", "title", "provider", "tasks", "parameter_count", "active_parameters", "context_length",
    "variants", "hardware",
}  # fmt: skip
LISTED = BOTH | {"checkpoints", "source"}
SHOWN = BOTH | {
    "description", "min_vllm_version", "prerequisites", "strategies", "features", "presets",
    "notes", "client", "benchmark", "benchmark_command", "kv_offload", "guide", "file", "origin",
}  # fmt: skip

TWO_NODES = ("--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2")
PLANS = [
    pytest.param((FLASH, "--hardware", "b300"), id="one node"),
    pytest.param((FLASH, "--hardware", "mi355x", "--runtime", "docker"), id="container"),
    pytest.param((M3, *TWO_NODES), id="two nodes"),
    pytest.param((M3, "--hardware", "mi355x", "--preset", "mi355x_agentx:tp4_c1"), id="preset"),
    pytest.param((FLASH, "--hardware", "gb200", "--strategy", "pd_cluster"), id="pools"),
    pytest.param((M3, "--hardware", "h200", "--kv-offload", "lmcache"), id="KV offload"),
    pytest.param(
        (FLASH, "--hardware", "b300", "--gpus", "0,1,2,3", "--port", "9000", "-e", "A=1",
         "--tp", "4", "--", "--max-model-len", "65536"),
        id="the operator's own",
    ),
]  # fmt: skip


def opened(envelope: dict[str, Any], kind: str) -> Any:
    """The body of an envelope of the right kind."""
    assert list(envelope) == ["kind", "format", "vllm_launch", kind]
    assert (envelope["kind"], envelope["format"]) == (kind, 1)
    assert envelope["vllm_launch"] == __version__
    return envelope[kind]


@pytest.mark.parametrize(
    "own",
    [
        ("--tensor-parallel-size", "4"),
        ("--tensor_parallel_size", "4"),
        ("--tensor_parallel_size=4",),
        ("-tp", "4"),
        ("-tp=4",),
    ],
    ids="".join,
)
def test_a_flag_is_the_operators_however_it_is_spelt(
    operator: Operator, own: tuple[str, ...]
) -> None:
    plan = ("Qwen/Qwen3-8B", "--hardware", "h200")
    argv = operator.run("serve", *plan, "--output", "json", "--", *own).json
    words = argv["deployment"]["processes"][0]["argv"]
    assert words[-len(own) :] == list(own)
    assert "--tensor-parallel-size" not in words[: -len(own)]
    exported = operator.run("export", *plan, "--to", "kubernetes", "--", *own).out
    assert exported.count("nvidia.com/gpu: 4") == 2


@pytest.mark.parametrize("command", ["serve", "explain"])
@pytest.mark.parametrize("plan", PLANS)
def test_a_deployment_has_its_keys(operator: Operator, command: str, plan: tuple[str, ...]) -> None:
    own = plan.index("--") if "--" in plan else len(plan)
    ran = operator.run(command, *plan[:own], "--output", "json", *plan[own:])
    assert ran.status == 0, ran.err
    body = opened(ran.json, "deployment")
    alone = body["deploy_type"] == "single_node" and not body["companions"]
    assert body.keys() - {"notes"} == DEPLOYMENT | (set() if alone else {"parts"})
    assert body["processes"]
    for part in body.get("parts", ()):
        assert part.keys() == PART
    for process in body["processes"]:
        assert process.keys() == PROCESS
    for reason in body["reasons"]:
        assert reason.keys() == {"subject", "picked", "why"}
        assert all(reason.values())
    assert [reason["subject"] for reason in body["reasons"]].count("hardware") == 1
    for setting in body["settings"]:
        assert setting.keys() == {"option", "value", "source"}
        assert setting["source"]


@pytest.mark.parametrize("plan", PLANS)
def test_every_word_and_variable_has_a_place_or_a_detail(
    operator: Operator, plan: tuple[str, ...]
) -> None:
    own = plan.index("--") if "--" in plan else len(plan)
    ran = operator.run("explain", *plan[:own], "--output", "json", *plan[own:])
    for process in opened(ran.json, "deployment")["processes"]:
        arguments, variables = process["provenance"].values()
        assert ["vllm", "serve", process["argv"][2]] + [
            token for entry in arguments for token in entry["argument"]
        ] == process["argv"]
        assert {entry["name"]: entry["value"] for entry in variables} == process["env"]
        winners = [*arguments, *variables]
        for place in [*winners, *(lost for winner in winners for lost in winner["beat"])]:
            assert {"layer", "file", "line", "detail"} <= place.keys()
            assert place["layer"]
            if place["file"] is None:
                assert place["line"] is None
                assert place["detail"]
            else:
                assert place["line"] >= 1


def test_a_deployment_with_a_store_says_what_runs_beside_it(operator: Operator) -> None:
    ran = operator.run(
        "serve", M3, "--hardware", "h200", "--kv-offload", "kv_store_centralized_mooncake",
        "--instances", "2", "--output", "json",
    )  # fmt: skip
    body = opened(ran.json, "deployment")
    assert body.keys() - {"notes"} == DEPLOYMENT | STORE | {"parts"}
    assert [part["name"] for part in body["parts"]] == [
        "master",
        "store",
        "instance-1",
        "instance-2",
        "router",
    ]
    assert body["instances"] == 2
    assert "mooncake_master" in body["master"]


def test_serve_gives_the_command_that_it_would_execute(operator: Operator) -> None:
    [process] = opened(operator.run(*B300, "--output", "json").json, "deployment")["processes"]
    assert process["argv"] == ["vllm", *DOCUMENTED]
    assert process["env"] == DOCUMENTED_ENV
    operator.install("podman")
    words = (*B300, "--runtime", "podman", "--hardened", "--name", "m3")
    [process] = opened(operator.run(*words, "--output", "json").json, "deployment")["processes"]
    assert process["docker_argv"] == ["podman", *operator.run(*words).argv]


def test_a_host_has_its_keys(operator: Operator, host: Host) -> None:
    ran = operator.run("detect", "--output", "json", env=host("h200_8x"))
    body = opened(ran.json, "host")
    assert {"facts", "profile", "reason", "gpus", "vram_gb", "notes"} <= body.keys()
    assert body["facts"]["format"] == "vllm-launch host facts"
    assert {
        "format", "version", "gpus", "cpu_model", "memory_bytes", "memory_available_bytes",
        "nvidia_driver", "cuda_driver", "rocm", "render_gid", "video_gid", "looked_for",
    } <= body["facts"].keys()  # fmt: skip
    assert all(gpu.keys() >= GPU for gpu in body["facts"]["gpus"])
    assert (body["profile"], body["gpus"]) == ("h200", list(range(8)))


def test_a_list_of_recipes_has_its_keys(operator: Operator) -> None:
    recipes = opened(operator.run("recipes", "list", "--output", "json").json, "recipes")
    assert {recipe["id"] for recipe in recipes} >= {FLASH, M3}
    assert all(recipe.keys() == LISTED for recipe in recipes)


@pytest.mark.parametrize("model", [FLASH, M3])
def test_a_recipe_has_its_keys(operator: Operator, model: str) -> None:
    recipe = opened(operator.run("recipes", "show", model, "--output", "json").json, "recipe")
    assert recipe.keys() == SHOWN
    assert recipe["id"] == model
    for variant in recipe["variants"].values():
        assert variant.keys() == {"model_id", "precision", "vram_minimum_gb", "description"}
    for feature in recipe["features"].values():
        assert feature.keys() == {"description", "modes", "opt_in"}
    for preset in recipe["presets"].values():
        assert preset.keys() == {
            "hardware", "strategy", "variants", "description", "workload", "points",
            "concurrency", "evidence",
        }  # fmt: skip
    for note in recipe["notes"]:
        assert note.keys() == {"title", "body", "when"}


@pytest.mark.parametrize("words", [("recipes", "list"), ("recipes", "show", M3)], ids=" ".join)
def test_text_is_what_comes_without_a_form(operator: Operator, words: tuple[str, ...]) -> None:
    plain, text = operator.run(*words), operator.run(*words, "-o", "text")
    assert plain.out == text.out
    assert not plain.out.startswith("{")
    assert plain.err == ""


def test_json_is_ascii_so_that_any_reader_can_read_it(operator: Operator) -> None:
    ran = operator.run(*B300, "--output", "json", "--", b"--x", b"\xff", "é")
    assert ran.out.isascii()
    [process] = ran.json["deployment"]["processes"]
    assert [word.encode("utf-8", "surrogateescape") for word in process["argv"][-2:]] == [
        b"\xff",
        "é".encode(),
    ]


# serve's other forms.


def test_argv_is_one_list_of_words_for_each_process(operator: Operator) -> None:
    ran = operator.run(*B300, "--output", "argv")
    assert ran.json == ["vllm", *DOCUMENTED]
    ran = operator.run("serve", M3, *TWO_NODES, "--output", "argv")
    assert ["--headless" in json.loads(line) for line in ran.out.splitlines()] == [False, True]


def test_env_is_a_line_for_each_variable(operator: Operator) -> None:
    ran = operator.run(*B300, "-e", "A=x y", "-e", "E=", "--output", "env")
    assert ran.out == "VLLM_FLOAT32_MATMUL_PRECISION=high\nA=x y\nE=\n"


def test_env_keeps_the_processes_apart(operator: Operator) -> None:
    ran = operator.run(
        "serve", FLASH, "--hardware", "gb200", "--strategy", "pd_cluster", "--output", "env"
    )
    prefill, decode = ran.out.removeprefix("# prefill 0\n").split("# decode 0\n")
    assert "CUDA_VISIBLE_DEVICES=0,1\n" in prefill
    assert "CUDA_VISIBLE_DEVICES=0,1,2,3\n" in decode


def test_env_cannot_hold_a_value_of_several_lines(operator: Operator) -> None:
    ran = operator.run(*B300, "-e", "A=x\ny", "--output", "env")
    assert ran.status == 2
    assert ran.error == (
        "error: A has several lines, which no env file can hold\n  use --output json\n"
    )


def test_shell_is_what_a_dry_run_prints(operator: Operator) -> None:
    assert operator.run(*B300, "--output", "shell").out == operator.run(*B300, "--dry-run").out


LINTED = """\
model:
  model_id: org/repo
  min_vllm_version: "0.24.0"
  base_args: ["--monokernel"]
variants: {default: {}}
compatible_strategies: [single_node_tp]
"""
PROSE = [
    ("check", "--list"),
    ("recipes", "lint", "r.yaml"),
    ("recipes", "show", M3),
]
PROSE_IDS = ["check", "lint", "show"]


@pytest.mark.parametrize(("columns", "most"), [(60, 58), (80, 78), (200, 98)])
@pytest.mark.parametrize("words", PROSE, ids=PROSE_IDS)
def test_lines_end_at_the_edge_of_a_terminal(
    operator: Operator, words: tuple[str, ...], columns: int, most: int
) -> None:
    (operator.cwd / "r.yaml").write_text(LINTED)
    lines = on_terminal(operator, *words, columns=columns).splitlines()
    prose = [line for line in lines if not line.startswith(("digest:", "source:", "warning:"))]
    assert most - 20 < max(map(len, prose)) <= most


@pytest.mark.parametrize("words", PROSE, ids=PROSE_IDS)
def test_a_pipe_has_the_same_lines_whatever_the_terminal(
    operator: Operator, words: tuple[str, ...]
) -> None:
    (operator.cwd / "r.yaml").write_text(LINTED)
    narrow, wide = (operator.run(*words, env={"COLUMNS": each}).out for each in ("40", "200"))
    assert narrow == wide
    prose = [line for line in wide.splitlines() if not line.startswith("digest:")]
    assert 66 < max(map(len, prose)) <= 78
