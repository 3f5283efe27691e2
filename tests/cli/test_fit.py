"""fit: what fits a host, and the smallest change that would do where something does not."""

from __future__ import annotations

import json

import pytest

from tests.cli.launcher import FLASH, M3, Host, Operator

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
    assert "default    multi_node_tp        8     1025     +103  fits" in lines
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
