"""fit: what fits a host, and the smallest change that would do where something does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.launcher import FLASH, M3, Host, Operator
from tests.host.nvml_stub import H200, machine, write

CONFIG = {
    "num_hidden_layers": 60,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "hidden_size": 6144,
    "torch_dtype": "bfloat16",
}


def rows(operator: Operator, *words: str, env: dict[str, str] | None = None) -> dict[object, dict]:
    ran = operator.run("fit", *words, "--output", "json", env=env or {})
    assert ran.status == 0, ran.error
    return {(row["variant"], row["strategy"]): row for row in ran.json["fit"]["fits"]}


def test_the_table_says_what_is_left_and_what_would_do(operator: Operator) -> None:
    ran = operator.run("fit", M3, "--hardware", "h200", "--gpus", "0,1,2,3")
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert lines[0] == "h200: 4 × 141 GB"
    at = lines.index("default    single_node_tp       4     1025     -461  no")
    assert lines[at + 1] == "           --variant mxfp8"
    assert "mxfp8      single_node_tp       4      513      +51  fits" in lines
    assert "default    multi_node_tp        8     1025     +103  fits on 2 nodes" in lines
    at = next(i for i, line in enumerate(lines) if line.startswith("nvfp4      any"))
    assert lines[at + 1] == "           variant nvfp4 is NVFP4, which needs Blackwell"
    assert all(len(line) <= 80 for line in lines)


def test_a_hosts_own_memory_counts(operator: Operator, host: Host) -> None:
    found = rows(operator, M3, env=host("h200_4x"))
    row = found["mxfp8", "single_node_tp"]
    assert (row["fits"], row["gpus"]) == (True, 4)
    assert row["has_gb"] == pytest.approx(603, abs=1)


def test_pools_of_half_a_node_are_counted_apart(operator: Operator) -> None:
    row = rows(operator, M3, "--hardware", "h200")["default", "pd_cluster"]
    assert (row["fits"], row["gpus"], row["change"]) == (False, 4, "--variant mxfp8")


def test_nodes_are_as_many_as_the_weights_need(operator: Operator) -> None:
    row = rows(operator, M3, "--hardware", "h200", "--gpus", "0")["default", "multi_node_tp"]
    assert (row["fits"], row["nodes"]) == (True, 8)


MACHINES = {
    "a100": machine([{**H200, "name": "NVIDIA A100-SXM4-80GB", "cc": "8.0"}] * 8),
    "h200_1x": machine([H200]),
}


@pytest.fixture
def named(operator: Operator, host: Host, nvml: Path) -> Callable[[str], dict[str, str]]:
    """A machine of this page's own."""

    def environment(name: str) -> dict[str, str]:
        write(nvml, f"fit_{name}", MACHINES[name])
        return host(f"fit_{name}")

    return environment


def test_gpus_that_no_profile_names_are_fitted_to_as_they_are_planned_for(
    operator: Operator, named: Callable[[str], dict[str, str]]
) -> None:
    ran = operator.run("fit", "Qwen/Qwen3-8B", env=named("a100"))
    assert ran.status == 0, ran.error
    lines = ran.out.splitlines()
    assert lines[0].startswith("generic_nvidia_sm80: 8 × ")
    assert [line.split()[-1] for line in lines[3:] if "single_node_tp" in line] == ["fits"] * 2
    listed = operator.run("recipes", "list", "--fits", "-o", "json", env=named("a100"))
    assert {r["id"]: r["fits"] for r in listed.json["recipes"]}["Qwen/Qwen3-8B"] == [
        "default", "fp8",
    ]  # fmt: skip


def test_gpus_that_a_recipes_kernels_do_not_run_on_fit_nothing(
    operator: Operator, named: Callable[[str], dict[str, str]]
) -> None:
    found = rows(operator, M3, env=named("a100"))
    assert {(row["fits"], row["change"]) for row in found.values()} == {
        (False, f"{M3} needs compute capability 9.0 or newer")
    }


def test_a_machine_that_nothing_fits_gets_the_changes_that_would_do(
    operator: Operator, named: Callable[[str], dict[str, str]]
) -> None:
    found = rows(operator, M3, env=named("h200_1x"))
    assert {
        (row["variant"], row["strategy"]): (row["fits"], row["nodes"], row["change"])
        for row in found.values()
        if row["variant"] == "mxfp8"
    } == {
        ("mxfp8", "single_node_tp"): (False, 1, "--strategy multi_node_tp --nodes 4"),
        ("mxfp8", "single_node_tep"): (False, 1, "--strategy multi_node_tp --nodes 4"),
        ("mxfp8", "single_node_dep"): (False, 1, "--strategy multi_node_tp --nodes 4"),
        ("mxfp8", "multi_node_tp"): (True, 4, None),
        ("mxfp8", "multi_node_tp_pp"): (True, 4, None),
        ("mxfp8", "multi_node_tep"): (True, 4, None),
        ("mxfp8", "multi_node_dep"): (True, 4, None),
        ("mxfp8", "pd_cluster"): (False, 1, "--prefill 4 --decode 4"),
    }
    words = ("serve", M3, "--variant", "mxfp8", "--dry-run")
    for change in (
        "--strategy multi_node_tp --nodes 4",
        "--strategy pd_cluster --prefill 4 --decode 4",
    ):
        ran = operator.run(*words, *change.split(), env=named("h200_1x"))
        assert ran.status == 0, ran.error


def test_a_recipe_that_needs_several_machines_is_not_listed_for_one(operator: Operator) -> None:
    ran = operator.run("recipes", "list", "--fits", "--hardware", "h100", "-o", "json")
    listed = [recipe["id"] for recipe in ran.json["recipes"]]
    assert M3 in listed
    assert not {"moonshotai/Kimi-K3", "deepseek-ai/DeepSeek-V4-Pro"} & set(listed)


def test_kv_cache_is_estimated_where_the_config_is_at_hand(operator: Operator) -> None:
    home = {"HF_HOME": str(operator.home)}
    snapshot = operator.home / "hub" / f"models--{M3.replace('/', '--')}"
    (snapshot / "snapshots" / "abc").mkdir(parents=True)
    (snapshot / "snapshots" / "abc" / "config.json").write_text(json.dumps(CONFIG))
    words = (M3, "--hardware", "h200", "--max-model-len", "1000000", "--concurrency", "64")
    row = rows(operator, *words, env=home)["mxfp8", "single_node_tp"]
    assert row["estimate"].startswith("estimate: ")
    assert "64000000 wanted; --max-model-len " in row["estimate"]
    small = rows(operator, M3, "--hardware", "h200", "--max-model-len", "1000", env=home)
    assert small["mxfp8", "single_node_tp"]["estimate"].endswith(" tokens of KV cache")


def test_without_a_config_nothing_is_guessed(operator: Operator) -> None:
    found = rows(operator, FLASH, "--hardware", "b300", "--max-model-len", "1000000")
    assert {row["estimate"] for row in found.values()} == {None}
