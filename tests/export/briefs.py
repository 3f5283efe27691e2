"""Briefs to export: deployments of the project's own recipes, and of recorded inputs."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.resolve.build import M3, own
from vllm_launch.batch import request_of
from vllm_launch.export import Brief
from vllm_launch.model.deployment import Deployment
from vllm_launch.resolve.parts import parts

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(os.environ.get("VLLM_LAUNCH_CONFORMANCE") or ROOT.parent / "shared/conformance")
CRDS = Path(os.environ.get("VLLM_LAUNCH_CRDS") or ROOT.parent / "shared/reference/crds")


def resolved(recipe: str = M3, **given: Any) -> Deployment:
    """A deployment as the batch would have it."""
    resolver = own(recipe)
    return resolver.resolve(resolver.choose(request_of(given)))


def brief(deployment: Deployment, **options: Any) -> Brief:
    return Brief(
        name="model",
        deployment=deployment,
        parts=parts(deployment),
        header=(deployment.recipe.id, "recipe: a file", f"choice: {deployment.choice.strategy}"),
        options=options,
    )


@cache
def recorded() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Recipe and input of every recorded case of the project's own recipes; none elsewhere."""
    return tuple(_recorded())


def _recorded() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("seed_m3.jsonl.gz", "seed_m31.jsonl"):
        path = RECORDED / name
        if path.is_file():
            text = path.read_bytes()
            text = gzip.decompress(text) if name.endswith(".gz") else text
            for line in text.decode().splitlines():
                case = json.loads(line)
                yield case["recipe"], case["input"]


DEP = "dep"
LAYOUTS: dict[str, dict[str, Any]] = {
    "one node": {"hardware": "h200"},
    "AMD": {"hardware": "mi355x"},
    "host memory": {"hardware": "h200", "kv_offload": "simple"},
    "companion": {"hardware": "h200", "kv_offload": "lmcache"},
    "two nodes": {"hardware": "h200", "nodes": 2},
    "four nodes": {"hardware": "h200", "nodes": 4, "strategy": "multi_node_tp"},
    "data-parallel on two nodes": {"hardware": "h200", "nodes": 2, "strategy": "multi_node_dep"},
    "data-parallel on four nodes": {"hardware": "h200", "nodes": 4, "strategy": "multi_node_dep"},
    "pools on one node": {"hardware": "h200", "strategy": "pd_cluster", "pd": None},
    "pools of one node each": {
        "hardware": "h200",
        "strategy": "pd_cluster",
        "pd": {"prefill": {"nodes": 1}, "decode": {"nodes": 1}},
    },
    "pools of several nodes": {
        "hardware": "h200",
        "strategy": "pd_cluster",
        "pd": {
            "prefill": {"nodes": 2, "parallelism": "tp"},
            "decode": {"nodes": 4, "parallelism": "dep"},
        },
    },
    "instances and their store": {
        "hardware": "h200",
        "kv_offload": "kv_store_centralized_mooncake",
        "instances": 3,
    },
    "one instance": {
        "hardware": "h200",
        "kv_offload": "kv_store_distributed_mooncake",
        "instances": 1,
    },
    "instances of two nodes": {
        "hardware": "h200",
        "strategy": "multi_node_tp",
        "nodes": 2,
        "kv_offload": "kv_store_centralized_mooncake",
        "instances": 2,
    },
    "pools with a store": {
        "hardware": "h200",
        "strategy": "pd_cluster",
        "kv_offload": "kv_store_centralized_mooncake",
    },
}
