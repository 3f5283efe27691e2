"""Deployments to export, and what their processes have to be given."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from tests.resolve.build import M3, M31, own
from vllm_launch.batch import request_of
from vllm_launch.export import Brief
from vllm_launch.model.choice import Request
from vllm_launch.model.deployment import Deployment
from vllm_launch.model.part import Part
from vllm_launch.model.source import Source
from vllm_launch.resolve.container import ContainerSetup
from vllm_launch.resolve.endpoints import fill
from vllm_launch.resolve.parts import parts

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(os.environ.get("VLLM_LAUNCH_CONFORMANCE") or ROOT.parent / "shared/conformance")

# What an operator would say about machines of their own.
ENDPOINTS = {
    "HEAD_IP": "10.0.0.1",
    "IFACE_NAME": "bond0",
    "MOONCAKE_MASTER_IP": "10.0.0.1",
    "ETCD_HOST": "10.0.0.1",
    "NATS_HOST": "10.0.0.1",
    **{f"PREFILL_NODE_{n}": f"10.0.1.{n}" for n in range(1, 9)},
    **{f"DECODE_NODE_{n}": f"10.0.2.{n}" for n in range(1, 9)},
    **{f"VLLM_INSTANCE_{n}": f"10.0.3.{n}" for n in range(1, 9)},
}
# What stands for a placeholder that nobody says anything about.
DEFAULTS = {
    "PREFILL_DP_RPC_PORT": "29550",
    "DECODE_DP_RPC_PORT": "29551",
    "ROUTER_HOST": "0.0.0.0",
    "ROUTER_PORT": "30000",  # that of a store: its own
    "MOONCAKE_DEVICE_NAME": "",
    "MOONCAKE_STORE_DEVICE_NAME": "",
}
FILES = {
    "MOONCAKE_CONFIG_PATH": "mooncake_config.json",
    "MOONCAKE_STORE_CONFIG_PATH": "mooncake_store_config.json",
    "NATS_CONFIG_PATH": "nats.conf",
}
_OPERATOR = Source(layer="operator")
SETUP = ContainerSetup(hub_cache="/cache")

SHARED = {"strategy": "pd_cluster", "hardware": "h200", "pd": None}
LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "one server": (M3, {"hardware": "h200"}),
    "AMD": (M3, {"hardware": "mi355x"}),
    "companion": (M3, {"hardware": "h200", "kv_offload": "lmcache"}),
    "two nodes": (M3, {"hardware": "h200", "nodes": 2}),
    "data parallel": (M3, {"hardware": "h200", "nodes": 2, "strategy": "multi_node_dep"}),
    "pools on one node": (M3, SHARED),
    "pools of the 3.1 on GB300": (M31, {"hardware": "gb300", "strategy": "pd_cluster"}),
    "pools of several nodes": (
        M3,
        {
            "hardware": "h200",
            "strategy": "pd_cluster",
            "pd": {
                "prefill": {"nodes": 2, "parallelism": "tp"},
                "decode": {"nodes": 3, "parallelism": "dep"},
            },
        },
    ),
    "instances and a store": (
        M3,
        {"hardware": "h200", "kv_offload": "kv_store_centralized_mooncake", "instances": 2},
    ),
    "one instance": (M3, {"hardware": "h200", "kv_offload": "kv_store_distributed_mooncake"}),
    "pools with a store": (
        M3,
        {
            "hardware": "h200",
            "strategy": "pd_cluster",
            "kv_offload": "kv_store_centralized_mooncake",
        },
    ),
}


def deployment(recipe: str = M3, **given: Any) -> Deployment:
    """A deployment as a batch would have it."""
    resolver = own(recipe)
    return resolver.resolve(resolver.choose(request_of(given)))


def layout(name: str, *, endpoints: bool = True) -> Deployment:
    recipe, given = LAYOUTS[name]
    found = deployment(recipe, **given)
    return fill(found, ENDPOINTS) if endpoints else found


def brief(found: Deployment, **keys: Any) -> Brief:
    return Brief(
        **{
            "name": "model",
            "deployment": found,
            "parts": parts(found),
            "header": (found.recipe.id, "recipe: a file", "command: vllm-launch export"),
            "setup": SETUP,
            **keys,
        }
    )


def recorded(*, endpoints: bool = True) -> Iterator[tuple[str, Deployment]]:
    """Every recorded deployment of the project's own recipes, addresses filled in."""
    for name in ("seed_m3.jsonl.gz", "seed_m31.jsonl"):
        path = RECORDED / name
        data = path.read_bytes()
        text = (gzip.decompress(data) if name.endswith(".gz") else data).decode()
        for number, line in enumerate(text.splitlines(), 1):
            case = json.loads(line)
            found = deployment(case["recipe"], **case["input"])
            yield f"{name}:{number}", fill(found, ENDPOINTS) if endpoints else found


needs_recorded = pytest.mark.skipif(not RECORDED.is_dir(), reason="no recorded commands here")


def said(text: str, plan: Brief, directory: str, *, alone: bool = False) -> str:
    """A text of a recipe as a process gets it. ``alone``: all parts are on one machine."""
    values = {**DEFAULTS, **{name: f"{directory}/{file}" for name, file in FILES.items()}}
    if plan.deployment.router_port is not None:
        values["ROUTER_PORT"] = str(plan.deployment.router_port)
    if alone:
        values |= dict.fromkeys((n for n in ENDPOINTS if n != "IFACE_NAME"), "127.0.0.1")
    for name in sorted(values, key=len, reverse=True):
        text = text.replace(f"${name}", values[name])
    return text


def expected(
    part: Part, plan: Brief, directory: str, *, alone: bool = False
) -> tuple[list[str], dict[str, str]]:
    """A part's words and variables with everything filled in."""

    def filled(text: str) -> str:
        return said(text, plan, directory, alone=alone)

    return [filled(word) for word in part.argv], {n: filled(v) for n, v in part.env}


# Of any characters that a word can have: not NUL, and whole characters.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=20)

# Words that one reader of YAML or another takes for something else, and those that shells,
# Compose and systemd give a meaning.
ODD = [
    "yes", "no", "on", "off", "y", "n", "~", "null", "true", "1e3", "0o17", "0x1F", "1_000",
    "12:30", "2001-01-01", "-", "--", "- a", "? a", ": a", "a: b", "a #b", "#a", "&a", "*a", "!a",
    "|", ">", "@a", "`a`", "%a", "%", "%%", "%n", "$HOME", "${HOME}", "$$", "$", "$(date)",
    "{{.Name}}", "'", '"', "\\", "\\n", "a\\", "a\nb", "a\n", "\n", " a ", "\t", "", "é", "\u2028",
    "\x85", "\x1b[0m", "\x7f", "😀", "=", "<<", ".5", "+1", "-1", "-0o1", ".inf", "[a]", "{a}",
    "a,b", "\ufeff", ";", "a;", "$HEAD_IP", "'a'", '"a b"', "a'b\"c",
]  # fmt: skip


def spelt(words: list[str], value: str, **given: Any) -> Brief:
    """A deployment with words and a value of the operator's own."""
    resolver = own(M3)
    request = Request(
        hardware="h200",
        args=tuple((word if word[:1] == "-" else "", (word,), _OPERATOR) for word in words),
        env=(("OWN", value, _OPERATOR),),
    )
    return brief(resolver.resolve(resolver.choose(request)), **given)
