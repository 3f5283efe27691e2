"""explain: the file and line of every flag and variable, and what each beat."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.launcher import FLASH, M3, Operator
from tests.preflight.build import host
from vllm_launch.catalog.library import bundled
from vllm_launch.host import facts_file

RECIPES = Path(bundled().directory)
AGENTX = (M3, "--hardware", "mi355x", "--preset", "mi355x_agentx:tp4_c1")
M3_FILE = "recipes/models/MiniMaxAI/MiniMax-M3.yaml"
PLANS = [
    pytest.param(AGENTX, id="M3, AgentX on MI355X"),
    pytest.param((M3, "--preset", "gb200_agentx_tp8:tp8_c5"), id="M3, AgentX on GB200"),
    pytest.param((M3, "--hardware", "b300"), id="M3 on B300"),
    pytest.param((M3, "--hardware", "h200", "--nodes", "2"), id="M3 on two H200 nodes"),
    pytest.param((M3, "--hardware", "h200", "--kv-offload", "simple"), id="M3 with KV offload"),
    pytest.param(
        (M3, "--hardware", "h200", "--kv-offload", "kv_store_distributed_mooncake"),
        id="M3 with a KV store",
    ),
    pytest.param((FLASH, "--hardware", "b300"), id="Flash on B300"),
    pytest.param((FLASH, "--hardware", "h200"), id="Flash on H200"),
    pytest.param(
        (FLASH, "--hardware", "mi355x", "-f", "prefill_dbo_sp", "-f", "mono_decode"),
        id="Flash on MI355X, all features",
    ),
    pytest.param(
        (FLASH, "--hardware", "gb200", "--strategy", "pd_cluster"), id="Flash, pools on GB200"
    ),
    pytest.param(
        (FLASH, "--hardware", "mi355x", "--strategy", "pd_cluster"), id="Flash, pools on MI355X"
    ),
]
PARALLELISM = {
    "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size",
    "--data-parallel-size-local", "--data-parallel-address", "--data-parallel-start-rank",
    "--data-parallel-rpc-port", "--data-parallel-hybrid-lb", "--enable-expert-parallel",
    "--nnodes", "--node-rank", "--master-addr", "--headless",
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME",
}  # fmt: skip


_EXPLAINED: dict[tuple[str, ...], list[dict[str, Any]]] = {}


def processes(operator: Operator, plan: tuple[str, ...]) -> list[dict[str, Any]]:
    """A plan's processes with their provenance; explained once for all tests."""
    if plan not in _EXPLAINED:
        ran = operator.run("explain", *plan, "--output", "json")
        assert ran.status == 0, ran.err
        _EXPLAINED[plan] = ran.json["deployment"]["processes"]
    return _EXPLAINED[plan]


def places(process: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each flag or variable with its place, the winners and those that they beat."""
    for entry in process["provenance"]["arguments"]:
        yield entry["argument"][0], entry
        yield from ((lost["argument"][0], lost) for lost in entry["beat"])
    for entry in process["provenance"]["variables"]:
        yield entry["name"], entry
        yield from ((entry["name"], lost) for lost in entry["beat"])


def started(process: dict[str, Any]) -> str:
    """A process's command up to the model."""
    count = 3 if process["argv"][0] == "vllm" else 5
    return " ".join(process["argv"][:count])


def line_of(place: dict[str, Any]) -> str:
    """The line of the recipes that a place names."""
    path = RECIPES / str(place["file"]).removeprefix("recipes/")
    return path.read_text(encoding="utf-8").splitlines()[place["line"] - 1]


@pytest.mark.parametrize("plan", PLANS)
def test_every_place_is_the_line_where_it_stands(operator: Operator, plan: tuple[str, ...]) -> None:
    seen = 0
    for process in processes(operator, plan):
        for name, place in places(process):
            if place["detail"] is None:
                assert name in line_of(place), (name, line_of(place))
                seen += 1
            else:  # "TP 4": worked out, of what stands there
                assert name in PARALLELISM or "Dynamo" in place["detail"], (name, place)
    assert seen >= 4


def test_a_figure_stands_in_its_line(operator: Operator) -> None:
    [process] = processes(operator, AGENTX)
    found = entry(process, "--tensor-parallel-size")
    assert (found["detail"], line_of(found).strip()) == ("TP 4", "tp: 4")


@pytest.mark.parametrize("plan", PLANS)
def test_nothing_beats_itself_or_another_flag(operator: Operator, plan: tuple[str, ...]) -> None:
    for process in processes(operator, plan):
        for entry in process["provenance"]["arguments"]:
            for lost in entry["beat"]:
                assert lost["argument"][0] == entry["argument"][0]
                assert (lost["layer"], lost["line"]) != (entry["layer"], entry["line"])


def entry(process: dict[str, Any], name: str) -> dict[str, Any]:
    """The one entry of a flag or variable."""
    listed = process["provenance"]
    [found] = [
        each
        for each in (*listed["arguments"], *listed["variables"])
        if name in (each.get("name"), each.get("argument", [""])[0])
    ]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("name", "layer", "beat"),
    [
        ("--block-size", "model.base_args", []),
        ("--tool-call-parser", "features.tool_calling.args", []),
        ("--tensor-parallel-size", "presets.mi355x_agentx.tp", []),
        ("--max-num-seqs", "presets.mi355x_agentx.points.tp4_c1.args", []),
        (
            "--attention-backend",
            "presets.mi355x_agentx.args",
            ["hardware_overrides.amd.extra_args"],
        ),
        (
            "--compilation-config",
            "presets.mi355x_agentx.json_args",
            ["variants.mxfp4.hardware_overrides.mi355x.extra_args"],
        ),
        (
            "--speculative-config",
            "presets.mi355x_agentx.json_args",
            ["features.spec_decoding.modes.eagle3_gqa.hardware_overrides.amd.args"],
        ),
        ("VLLM_ROCM_USE_AITER", "presets.mi355x_agentx.env", []),
        (
            "VLLM_ROCM_USE_AITER_MOE",
            "presets.mi355x_agentx.env",
            ["hardware_overrides.amd.extra_env"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.strip("-")[0].isalpha() else "",
)
def test_each_layer_of_a_preset_and_what_it_beat(
    operator: Operator, name: str, layer: str, beat: list[str]
) -> None:
    [process] = processes(operator, AGENTX)
    found = entry(process, name)
    assert (found["layer"], found["file"]) == (layer, M3_FILE)
    assert [lost["layer"] for lost in found["beat"]] == beat


def test_the_operator_beats_every_layer(operator: Operator) -> None:
    ran = operator.run(
        "explain", M3, "--hardware", "b300", "-o", "json", "-e", "PYTHONHASHSEED=1",
        "--kv-offload", "kv_store_distributed_mooncake", "--", "--block-size", "64",
    )  # fmt: skip
    [process] = ran.json["deployment"]["processes"]
    size, seed = entry(process, "--block-size"), entry(process, "PYTHONHASHSEED")
    assert (size["layer"], size["detail"]) == ("operator", "behind --")
    assert [lost["layer"] for lost in size["beat"]] == ["model.base_args"]
    assert (seed["layer"], seed["detail"]) == ("operator", "--env")
    assert [lost["value"] for lost in seed["beat"]] == ["0"]


@pytest.mark.parametrize("plan", PLANS)
def test_the_text_has_every_place_that_the_json_has(
    operator: Operator, plan: tuple[str, ...]
) -> None:
    text = operator.run("explain", *plan).out
    words = text.split()
    listed = processes(operator, plan)
    for process in listed:
        assert f"\n{process['role']} {process['rank']}: {started(process)}\n" in text
        for name, place in places(process):
            assert any(word.startswith(name) for word in words)
            if place["file"] is not None:
                assert f"{place['file']}:{place['line']}" in words
    wins = [word for word in words if word in ("from", "of")]
    entries = [place for process in listed for _, place in places(process)]
    assert len(wins) >= len(entries)


def test_the_text_of_one_flag_its_place_and_what_it_beat(operator: Operator) -> None:
    text = operator.run("explain", *AGENTX).out
    [process] = processes(operator, AGENTX)
    found = entry(process, "--attention-backend")
    [lost] = found["beat"]
    assert (
        "    --attention-backend ROCM_AITER_UNIFIED_ATTN\n"
        f"        from {M3_FILE}:{found['line']}\n"
        "             presets.mi355x_agentx.args\n"
        "        beat --attention-backend TRITON_ATTN\n"
        f"            of {M3_FILE}:{lost['line']}\n"
        "               hardware_overrides.amd.extra_args\n"
    ) in text


def test_what_a_preset_takes_away_is_said(operator: Operator) -> None:
    text = operator.run("explain", *AGENTX).out
    _, _, taken = text.partition("Taken away by the preset (server 0)\n")
    assert "--mm-encoder-tp-mode data" in taken
    assert "--mm-encoder-attn-backend ROCM_AITER_FA" in taken
    assert taken.count(f"from {M3_FILE}:") == 2


def test_the_choices_and_why(operator: Operator) -> None:
    lines = [" ".join(line.split()) for line in operator.run("explain", *AGENTX).out.splitlines()]
    choices = lines[lines.index("Choices") + 1 :]
    assert choices[:4] == [
        "hardware mi355x: asked for by --hardware",
        "variant mxfp4: the preset mi355x_agentx sets it",
        "strategy single_node_tp: the preset mi355x_agentx sets it",
        "nodes 1",
    ]
    assert "feature spec_decoding in mode eagle3_gqa" in choices
    assert any(line.startswith("image vllm/vllm-openai-rocm:nightly-") for line in choices)
    assert any(line.endswith("presets.mi355x_agentx.image") for line in choices)
    assert choices[choices.index("Settings") + 1 :] == [
        "hardware mi355x: --hardware",
        "preset mi355x_agentx:tp4_c1: --preset",
    ]


def test_a_setting_is_named_only_where_it_decided(operator: Operator) -> None:
    facts_file.save(host(), str(operator.cwd / "h200.json"))
    settings = operator.configure("hardware: b200\n")
    found = operator.run("explain", M3, "--host-facts", "h200.json").out
    line = next(one for one in found.splitlines() if one.startswith("  hardware  h200"))
    assert line.startswith("  hardware  h200: 8 x NVIDIA H200 is profile h200 (")
    assert line.endswith(")")
    found = operator.run("explain", M3).out
    assert f"  hardware  b200: asked for by {settings}:1\n" in found


@pytest.mark.parametrize("width", ["20", "400"])
def test_lines_fit_a_terminal_whatever_it_says_of_itself(operator: Operator, width: str) -> None:
    text = operator.run("explain", M3, "--hardware", "b300", env={"COLUMNS": width}).out
    entries = [line for line in text.splitlines() if line.startswith("    ")]
    assert max(map(len, entries)) <= 100
