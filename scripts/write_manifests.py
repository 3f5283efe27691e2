"""Write tests/export/manifests/*.yaml: what ``export --to kubernetes`` makes of four plans.

    python scripts/write_manifests.py

Run it after a change that is meant to change manifests, and read the difference.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from vllm_launch.batch import request_of
from vllm_launch.catalog.library import bundled
from vllm_launch.export import Brief
from vllm_launch.export.kubernetes import files
from vllm_launch.resolve.parts import parts
from vllm_launch.resolve.resolver import Resolver

MANIFESTS = Path(__file__).resolve().parent.parent / "tests" / "export" / "manifests"
_M3 = "MiniMaxAI/MiniMax-M3"
_M31 = "MiniMaxAI/MiniMax-M3.1-Flash"
_PLANS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "one-node": (_M3, {"hardware": "h200"}, {"hub_cache_claim": "models"}),
    "three-nodes": (
        _M3,
        {"hardware": "h200", "nodes": 3, "strategy": "multi_node_dep"},
        {"hub_cache_path": "/mnt/models", "rdma_resource": "rdma/hca_shared_devices_a"},
    ),
    "prefill-decode": (
        _M31,
        {"hardware": "gb300", "strategy": "pd_cluster"},
        {"disaggregated_set": True, "part_image": ("router=example/vllm-router:1",)},
    ),
    "kv-store": (
        _M3,
        {"hardware": "h200", "kv_offload": "kv_store_centralized_mooncake"},
        {"namespace": "serving", "node_selector": ("nvidia.com/gpu.product=NVIDIA-H200",)},
    ),
}


def main() -> int:
    MANIFESTS.mkdir(exist_ok=True)
    for name, text in manifests().items():
        (MANIFESTS / name).write_text(text, encoding="utf-8")
    return 0


def manifests() -> dict[str, str]:
    """The files' texts by name."""
    return {f"{name}.yaml": _text(*plan) for name, plan in _PLANS.items()}


def _text(recipe_id: str, given: dict[str, Any], options: dict[str, Any]) -> str:
    library = bundled()
    resolver = Resolver(library.recipe(recipe_id), library)
    deployment = resolver.resolve(resolver.choose(request_of(given)))
    brief = Brief(
        name="model",
        deployment=deployment,
        parts=parts(deployment),
        header=(recipe_id, "recipe: its file", f"choice: {deployment.choice.strategy}"),
        passed_by_name=("HF_TOKEN",),
        options=options,
    )
    (file,) = files(brief)
    return file.text


if __name__ == "__main__":
    sys.exit(main())
