"""Recipes as text: the smallest, and one that has everything that the format has."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml

from vllm_launch.model.record import Record
from vllm_launch.model.source import Source

SHOWN = "recipes/models/org/repo"  # how messages name the recipe of the fixtures

# Four lines: what a test adds begins on the fifth.
SMALL = """\
model:
  model_id: org/repo
variants:
  default: {}
"""

FULL = """\
meta:
  title: "A Model"
  slug: a-model
  provider: Org
  description: "Does everything"
  date_added: 2026-06-12
  date_updated: "2026-07-01"
  difficulty: advanced
  tasks: [text, multimodal]
  performance_headline: "Fast"
  related_recipes: [org/other]
  hardware: {h200: verified, mi355x: verified}
  default_hardware: h200
  platforms: {linux: true}
model:
  model_id: org/repo
  min_vllm_version: "0.30"
  nightly_required: true
  docker_image: {nvidia: {cu129: "img:cu129", cu130: "img:cu130"}, amd: "rocm:x"}
  architecture: moe
  parameter_count: "427B"
  active_parameters: "26B"
  context_length: 1048576
  base_args: ["--block-size", 128, "--enable-x", "--ratio", 0.5]
  base_env: {SOME_VALUE: 0, OTHER_VALUE: "on"}
  mandatory_args: ["--block-size", "128"]
  prerequisites: {min_rocm: "7.2"}
  install: {pip: {command: "pip install vllm"}}
  smg_grpc: {parser: x}
  docker_source: {url: "https://example.org"}
  flashinfer_autotune: false
  supports_dcp: true
features:
  reasoning:
    description: "Thinks"
    args: ["--reasoning-parser", x]
    env: {R: "1"}
    hardware: {hopper: supported}
    hardware_overrides: {amd: {args: ["--reasoning-parser", y], env: {R: "2"}}}
    strategies: [single_node_tp]
    excludes: [spec]
  spec:
    description: "Drafts"
    default_mode: eagle
    modes:
      eagle:
        label: E
        description: "One head"
        args: ["--speculative-config", '{"method": "eagle"}']
        env: {S: "1"}
        variants: [default]
        hardware: {amd: unsupported}
        hardware_overrides: {default: {args: ["--speculative-config", '{"method": "x"}']}}
      mtp: {args: ["--speculative-config", '{"method": "mtp"}']}
opt_in_features: [spec]
hardware_opt_in_features: {h200: [reasoning]}
variants:
  default:
    label: BF16
    precision: bf16
    vram_minimum_gb: 1025.5
    description: "The original"
    min_vllm_version: "0.31"
    supported_hardware: [hopper, amd]
    tp: {h200: 4, default: 8}
    default_modes: {spec: mtp}
    extra_args: ["--max-model-len", 65536]
    extra_env: {V: "1"}
    docker_image: "img:default"
    hardware_overrides:
      h200:
        extra_args: ["--kv-cache-dtype", fp8]
        extra_env: {H: "1"}
        docker_image: "img:h200"
  fp8:
    model_id: org/repo-FP8
    precision: fp8
    precision_hardware: {brand: NVIDIA, generation: hopper}
    tp: 4
compatible_strategies: [single_node_tp, single_node_dep, pd_cluster]
default_strategy: single_node_tp
strategy_hardware: {single_node_dep: {amd: unsupported}}
strategy_min_gpus: {single_node_tp: 8, h200: {single_node_dep: 16}}
hardware_overrides:
  hopper: {extra_args: ["--moe-backend", marlin], extra_env: {G: "1"}}
strategy_overrides:
  single_node_tp: {tp: 8, extra_args: ["--a"], extra_env: {T: "1"}}
  pd_cluster:
    vllm_args: ["--b"]
    env: {P: "1"}
    hardware_overrides: {h200: {extra_args: ["--c"]}}
    pool_modes: [tp, dep]
    prefill:
      extra_args: ["--e"]
      vllm_args: ["--port", 8100]
      env: {Q: "1"}
      parallelism: {h200: dep, default: tp}
      tp: 1
      nodes: {h200: 2}
      gpus: {h200: 4}
      hardware_overrides: {h200: {extra_args: ["--d"]}}
    decode: {parallelism: dep}
    router:
      policy: round_robin
      install: "pip install vllm-router"
      port: 30080
      intra_node_data_parallel_size: 4
kv_offload_support: {simple: verified}
presets:
  tuned:
    label: Tuned
    hardware: h200
    strategy: single_node_tp
    variants: [fp8]
    workload: chat
    description: "Measured"
    source: {label: L, href: "https://example.org", key: k, revision: abc}
    tp: 4
    args: ["--max-num-seqs", 64]
    remove_args: ["--enable-x"]
    json_args: {--speculative-config: {attention: x, method: null}}
    env: {E: "1"}
    image: {vllm: "img:tuned", pip: [a, b]}
    select: {features: {spec: mtp, reasoning: false}, kv_offload: "off", nodes: 1}
    points:
      c1:
        label: "1"
        description: "One at a time"
        concurrency: 1
        tp: {h200: 2}
        args: ["--max-num-seqs", 1]
        remove_args: ["--a"]
        json_args: {--speculative-config: {k: 1}}
        env: {E: "2"}
        image: "img:c1"
        select: {features: {spec: true}, kv_offload: simple}
    runbook: "How it was measured"
notes:
  - title: Mind this
    when:
      hardware: [h200]
      strategy: [pd_cluster]
      variant: [fp8]
      role: [prefill]
      preset: [tuned]
      feature: [spec]
    body: "Long contexts"
dependencies:
  - note: DeepGEMM
    command: "pip install deep_gemm"
    brand: NVIDIA
    optional: true
    install_modes: [pip]
  - command: "pip install aiter"
    brand: [AMD, NVIDIA]
hardware_notes: {h200: "warm"}
client: {temperature: 0.6, stream: true}
benchmark: {input_len: 1024}
omni: {stages: 2}
guide: |
  # A Model
  Serve it.
"""

# Blocks that are kept as they are: a null in them is data.
DATA = {
    "platforms", "prerequisites", "install", "smg_grpc", "docker_source", "json_args",
    "hardware_notes", "client", "benchmark", "omni",
}  # fmt: skip


_FULL = yaml.safe_load(FULL)
_FULL["meta"]["date_added"] = "2026-06-12"


def full() -> Any:
    """The full recipe as data, to be changed at will."""
    return copy.deepcopy(_FULL)


def as_yaml(data: Any) -> str:
    """Data in YAML's block style."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(data, Dumper=dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return text


def published() -> str:
    """The full recipe as the public site has it: JSON, with the keys that it adds."""
    data = full()
    first, *others = data.pop("compatible_strategies")
    stores = ["kv_store_centralized_mooncake", "kv_store_distributed_mooncake"]
    alternatives = {name: f"/org/repo/{name}.json" for name in (*others, *stores)}
    for name, variant in data["variants"].items():
        variant["json"] = f"/org/repo-{name}.json"
    for name, preset in data["presets"].items():
        preset["json"] = f"/org/repo/presets/{name}.json"
    recommended = {
        "hardware": "h200",
        "strategy": first,
        "variant": "default",
        "node_count": 1,
        "command": "vllm serve org/repo",
        "argv": ["vllm", "serve", "org/repo"],
        "alternatives": alternatives,
    }
    source = {"repo": "vllm-project/vllm", "sha": "0" * 40, "overlays": []}
    whole = {"hf_id": "org/repo", "recommended_command": recommended, **data, "source": source}
    return json.dumps(whole, indent=2, ensure_ascii=False)


def without_places(value: Any) -> Any:
    """A record as plain data, without the lines and files that its parts came from."""
    if isinstance(value, Source):
        return None
    if isinstance(value, Record):
        fields = type(value)._fields
        return {field: without_places(getattr(value, field)) for field in fields}
    if isinstance(value, dict):
        return {key: without_places(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(each) for each in value]
    return value
