"""Write tests/resolve/golden.jsonl: a sample of what the project's own recipes resolve to.

    python scripts/write_golden.py

Run it after a change that is meant to change commands, and read the difference: every line
is a case with its whole answer, and the tests hold each to the letter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vllm_launch.batch import answers
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.commands.resolve import Resolvers

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "resolve" / "golden.jsonl"
M3 = "MiniMaxAI/MiniMax-M3"
M31 = "MiniMaxAI/MiniMax-M3.1-Flash"

_ON_ONE_NODE = ("single_node_tp", "single_node_tep", "single_node_dep")
_STORES = ("kv_store_centralized_mooncake", "kv_store_distributed_mooncake")
# Both pools on one node; each on its own; several nodes, all of them or one rank.
_POOLS: tuple[Any, ...] = (
    None,
    {"prefill": {"nodes": 1}, "decode": {"nodes": 1}},
    {"prefill": {"parallelism": "tep"}, "decode": {"nodes": 2, "parallelism": "tp"}},
    {
        "prefill": {"nodes": 2, "rank": 1, "parallelism": "dep"},
        "decode": {"nodes": 2, "parallelism": "dep"},
    },
)


def main() -> int:
    GOLDEN.write_text(golden(), encoding="utf-8")
    return 0


def golden() -> str:
    """The file's text: one line a case."""
    cases = [{"recipe": recipe, "input": given} for recipe, given in inputs()]
    resolvers = Resolvers(Shelf())
    found = answers((json.dumps(case) for case in cases), resolvers)
    return "".join(
        json.dumps({**case, "expect": json.loads(answer)}, ensure_ascii=False) + "\n"
        for case, answer in zip(cases, found, strict=True)
    )


def inputs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Recipe and batch input of each case."""
    for given in (*_of_m31(), *_pools("gb300", "mi355x", "h200"), *_offload("b300", "mi355x")):
        yield M31, given
    for given in (*_of_m3(), *_pools("gb200", "h200"), *_offload("h200"), *_presets()):
        yield M3, given


def _of_m31() -> Iterator[dict[str, Any]]:
    """The choices left open, the strategies, the features, and what cannot be."""
    yield {}
    for hardware in ("b200", "gb200", "b300", "gb300", "mi355x", "h100", "h200"):
        yield {"hardware": hardware}
    for hardware in ("b300", "gb300", "mi355x", "h200"):
        yield from _strategies(hardware, "multi_node_tp", "multi_node_tep", "multi_node_dep")
    for feature in ("text_only", "prefill_dbo_sp", "mono_decode", "spec_decoding"):
        for hardware in ("gb200", "mi355x"):
            yield {"hardware": hardware, "features": {feature: True}}
    yield {"hardware": "b300", "features": {}}
    yield {"hardware": "mi300x"}
    yield {"hardware": "h200", "variant": "default"}


def _of_m3() -> Iterator[dict[str, Any]]:
    """Every variant on every profile that it runs on, then strategies, features and refusals."""
    yield {}
    nvidia = ("h100", "h200", "b200", "b300", "gb200", "gb300")
    amd = ("mi300x", "mi325x", "mi350x", "mi355x")
    runs = {
        "default": (*nvidia, *amd),
        "mxfp8": (*nvidia, *amd),
        "nvfp4": nvidia[2:],
        "mxfp4": ("mi355x",),
    }
    for variant, profiles in runs.items():
        for hardware in profiles:
            yield {"hardware": hardware, "variant": variant}
    for variant, hardware in (("mxfp8", "h200"), ("nvfp4", "gb200"), ("mxfp8", "mi355x")):
        for given in _strategies(
            hardware, "multi_node_tp", "multi_node_tep", "multi_node_dep", "multi_node_tp_pp"
        ):
            yield {**given, "variant": variant}
    for hardware in ("b200", "mi355x"):
        for features in (
            {"spec_decoding": True},
            {"spec_decoding": "eagle3_gqa", "thinking_always_on": True},
            {"encoder_parallel": True, "reasoning": False},
            {"text_only": True, "encoder_parallel": True},
            {"spec_decoding": "eagle9"},
        ):
            yield {"hardware": hardware, "features": features}
    yield {"hardware": "h200", "variant": "nvfp4"}
    yield {"hardware": "h300"}
    yield {"hardware": "h200", "strategy": "multi_node_tp_dp"}
    yield {"hardware": "h200", "strategy": "single_node_tp", "nodes": 2}
    yield {"hardware": "h200", "strategy": "multi_node_tp", "nodes": 1}
    yield {"hardware": "h100", "nodes": 3}
    yield {"hardware": "h200", "instances": 2}


def _strategies(hardware: str, *on_several: str) -> Iterator[dict[str, Any]]:
    for strategy in _ON_ONE_NODE[1:]:
        yield {"hardware": hardware, "strategy": strategy}
    for strategy in on_several:
        yield {"hardware": hardware, "strategy": strategy, "nodes": 2}
    yield {"hardware": hardware, "strategy": "pd_cluster"}


def _pools(*profiles: str) -> Iterator[dict[str, Any]]:
    for hardware in profiles:
        for pools in _POOLS:
            yield {"hardware": hardware, "strategy": "pd_cluster", "pd": pools}


def _offload(*profiles: str) -> Iterator[dict[str, Any]]:
    for hardware in profiles:
        for option in ("simple", "lmcache", "offloading_cpu", "offloading_fs"):
            yield {"hardware": hardware, "kv_offload": option}
        for strategy in ("multi_node_tep", "pd_cluster"):
            yield {"hardware": hardware, "strategy": strategy, "kv_offload": "lmcache"}
        for store in _STORES:
            yield {"hardware": hardware, "kv_offload": store}
            yield {"hardware": hardware, "kv_offload": store, "instances": 3}
            for strategy in ("multi_node_tp", "pd_cluster"):
                yield {"hardware": hardware, "strategy": strategy, "kv_offload": store}


def _presets() -> Iterator[dict[str, Any]]:
    """Every point of every preset, each preset alone, and what contradicts one."""
    for preset, points in _points():
        yield {"preset": preset}
        for point in points:
            yield {"preset": preset, "point": point}
    yield {"preset": "h200_agentx", "hardware": "b200"}
    yield {"preset": "h200_agentx", "strategy": "single_node_tep"}
    yield {"preset": "h200_agentx", "variant": "default"}
    yield {"preset": "h200_agentx", "point": "c3"}
    yield {"preset": "agentx"}
    yield {"point": "c1"}


def _points() -> Iterable[tuple[str, Iterable[str]]]:
    presets = Resolvers(Shelf())(M3).recipe.presets.values()
    return [(preset.id, list(preset.points)) for preset in presets]


if __name__ == "__main__":
    sys.exit(main())
