"""Recipes to resolve: the project's own, and small ones written in a test."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from vllm_launch.catalog.library import Library, bundled
from vllm_launch.errors import LaunchError
from vllm_launch.model.choice import Choice, Request
from vllm_launch.model.deployment import Deployment, ProcessPlan
from vllm_launch.model.source import Source, paired
from vllm_launch.model.taxonomy import HardwareProfile
from vllm_launch.resolve.resolver import Resolver

if TYPE_CHECKING:
    from vllm_launch.model.source import Arguments, Variables

Keys: TypeAlias = dict[str, Any]

M3 = "MiniMaxAI/MiniMax-M3"
M31 = "MiniMaxAI/MiniMax-M3.1-Flash"

MINIMAL = """
    model:
      model_id: org/model
    variants:
      default:
        precision: bf16
    compatible_strategies: [single_node_tp, single_node_tep, single_node_dep, multi_node_tp,
      multi_node_tep, multi_node_dep, multi_node_tp_pp, multi_node_tp_dp, pd_cluster]
"""


@functools.cache
def library() -> Library:
    """The project's own recipes directory."""
    return bundled()


@functools.cache
def own(recipe_id: str) -> Resolver:
    """One of the project's own recipes."""
    return _resolver(library(), recipe_id)


def profile(hardware: str) -> HardwareProfile:
    """One of the project's own hardware profiles."""
    return library().taxonomy.hardware_profiles[hardware]


def recipe(
    text: str | Keys = "",
    *,
    strategies: Mapping[str, str | Keys] | None = None,
    stores: Mapping[str, str | Keys] | None = None,
    taxonomy: str | Keys = "",
) -> Resolver:
    """A recipe written in a test: ``MINIMAL`` with the keys of ``text`` in place of its own.

    ``strategies`` and ``stores`` replace files of the project's own by name; hardware profiles
    and KV offload options of ``taxonomy`` join the project's own.
    """
    files = {"models/org/model.yaml": {**_keys(MINIMAL), **_keys(text)}}
    for name, body in (strategies or {}).items():
        files[f"strategies/{name}.yaml"] = {"name": name, **_keys(body)}
    for name, body in (stores or {}).items():
        files[f"kv_store/{name}.yaml"] = {"name": name, **_keys(body)}
    more = _keys(taxonomy)
    if more:
        words = _words()
        files["taxonomy.yaml"] = {**words, **{key: {**words[key], **more[key]} for key in more}}
    return _resolver(Library(_written(files), own=True, fallback=library()), "org/model")


def _resolver(lib: Library, recipe_id: str) -> Resolver:
    return Resolver(lib.recipe(recipe_id), lib)


def _keys(given: str | Keys) -> Keys:
    keys: Keys = yaml.safe_load(dedent(given)) or {} if isinstance(given, str) else given
    return keys


@functools.cache
def _words() -> Keys:
    """The project's own taxonomy, as its file has it."""
    text = Path(library().directory, "taxonomy.yaml").read_text(encoding="utf-8")
    words: Keys = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return words


@functools.cache
def _shelf() -> tempfile.TemporaryDirectory[str]:
    """Where recipes of tests are written, and removed from at the end."""
    return tempfile.TemporaryDirectory(prefix="recipes-")


def _written(files: dict[str, Keys]) -> str:
    """A recipes directory with these files."""
    directory = tempfile.mkdtemp(dir=_shelf().name)
    for name, keys in files.items():
        path = Path(directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        text = yaml.dump(keys, Dumper=dumper, sort_keys=False, allow_unicode=True)
        path.write_text(text, encoding="utf-8")
    return directory


def deploy(resolver: Resolver, **request: Any) -> Deployment:
    """Choose and resolve; on h200 where no hardware is named."""
    if not request.keys() & {"hardware", "profile", "preset"}:
        request["hardware"] = "h200"
    return resolver.resolve(resolver.choose(Request(**request)))


def server(resolver: Resolver, **request: Any) -> ProcessPlan:
    """The first process of a deployment."""
    return deploy(resolver, **request).processes[0]


def flags(plan: ProcessPlan) -> list[str]:
    """A process's arguments, behind the model's name."""
    return plan.argv[3:]


def told(error: LaunchError) -> tuple[str, str, str]:
    """What an operator gets to read of an error, and its code."""
    return error.code, error.message, error.hint


OPERATOR = Source(layer="operator")


def arguments(*tokens: str, source: Source = OPERATOR) -> Arguments:
    """Arguments as an operator gives them."""
    return paired((token, source) for token in tokens)


def variables(**values: str) -> Variables:
    """Variables as an operator gives them."""
    return tuple((name, value, OPERATOR) for name, value in values.items())


def choose(resolver: Resolver, **request: Any) -> Choice:
    return resolver.choose(Request(**request))


def why(choice: Choice, subject: str) -> str:
    """The reason for one thing that was picked."""
    return next(reason for about, _, reason in choice.reasons if about == subject)
