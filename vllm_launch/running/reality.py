"""What a plan intends and what a server reports of itself, side by side. Pure."""

from __future__ import annotations

import json

from ..model.record import Record
from ..preflight.version import is_less
from .smoke import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from ..model.deployment import Deployment, ProcessPlan

_UNKNOWN = object()  # a reported value that is no plain data
_SHORT = {"-tp": "tensor_parallel_size", "-pp": "pipeline_parallel_size",
          "-dp": "data_parallel_size"}  # fmt: skip
# Flags that the server reports in other words than they were given in, or not at all.
_NOT_COMPARED = ("model", "model_tag", "host", "port", "api_key", "hf_token", "config")
_MULTIPLES = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
_CACHE = {"--gpu-memory-utilization": "gpu_memory_utilization", "--block-size": "block_size",
          "--kv-cache-dtype": "cache_dtype"}  # fmt: skip


class Intent(Record):
    """What a plan wants of one server."""

    model: str = ""
    arguments: tuple[tuple[str, ...], ...] = ()  # each flag with its values
    context: int | None = None  # tokens that the recipe gives the model
    version: str = ""  # the least release of vLLM
    gpus: int | None = None  # of this machine; None: the plan does not say
    devices: tuple[str, ...] = ()  # these of them, by index or UUID


class Reported(Record):
    """What a server says, as far as it does."""

    arguments: Mapping[str, Any] | None = None  # those that differ from vLLM's defaults
    models: tuple[tuple[str, str, int | None], ...] = ()  # name, weights, context in tokens
    version: str = ""
    cache: Mapping[str, str] | None = None  # of its KV cache
    cache_tokens: int | None = None
    gpus: tuple[tuple[int, str], ...] | None = None  # those it sits on: index, UUID


def intent_of(deployment: Deployment, process: ProcessPlan) -> Intent:
    """What a plan says of one of its processes."""
    recipe, choice = deployment.recipe, deployment.choice
    variant = recipe.variants.get(choice.variant)
    least = (variant.min_vllm_version if variant is not None else "") or (
        recipe.model.min_vllm_version
    )
    accelerated = choice.hardware.brand in ("NVIDIA", "AMD")
    alone = deployment.deploy_type == "single_node" and accelerated
    return Intent(
        model=process.model,
        arguments=tuple(words for _, words, _ in process.arguments),
        context=recipe.model.context_length,
        version=least,
        gpus=_gpus(process) if alone else None,
        devices=(choice.devices or ()) if alone else (),
    )


def _gpus(process: ProcessPlan) -> int:
    """How many GPUs the parallelism of one node's server takes."""
    flags = ("--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size")
    count = 1
    for flag in flags:
        count *= process.number(flag) or 1
    return count


def compare(intent: Intent, reported: Reported) -> Iterator[Result]:
    """A result for each thing that the server says: what it is, or where it is not as intended."""
    for name, judge in (
        ("weights", _weights),
        ("context", _context),
        ("version", _version),
        ("arguments", _arguments),
        ("KV cache", _cache),
        ("GPUs", _on_gpus),
    ):
        said = judge(intent, reported)
        if said is not None:
            what, differs = said
            yield Result(test=name, held=not differs, what=what, intent=True)


def _weights(intent: Intent, reported: Reported) -> tuple[str, bool] | None:
    root = reported.models[0][1] if reported.models else ""
    if not root or not intent.model:
        return None
    if root.rstrip("/") == intent.model.rstrip("/"):
        return root, False
    return f"of {root}, and the plan is for {intent.model}", True


def _context(intent: Intent, reported: Reported) -> tuple[str, bool] | None:
    length = reported.models[0][2] if reported.models else None
    if length is None:
        return None
    asked = _asked(intent, "max_model_len")
    wanted = _number(asked[0]) if asked else None
    if wanted is not None and wanted > 0 and length != wanted:
        return f"{length:,} tokens, and --max-model-len asks for {wanted:,.0f}", True
    if not asked and intent.context is not None and length < intent.context:
        return f"{length:,} tokens, and the recipe gives the model {intent.context:,}", True
    return f"{length:,} tokens", False


def _version(intent: Intent, reported: Reported) -> tuple[str, bool] | None:
    if not reported.version:
        return None
    if intent.version and is_less(reported.version, intent.version):
        return f"vLLM {reported.version}, and the recipe needs {intent.version}", True
    return f"vLLM {reported.version}", False


def _arguments(intent: Intent, reported: Reported) -> tuple[str, bool] | None:
    """Only where both say something: the server leaves out what is its default."""
    if reported.arguments is None:
        return None
    differ, same = [], 0
    for words in intent.arguments:
        for name, wanted in _named(words):
            there = reported.arguments.get(name, _UNKNOWN)
            if name in _NOT_COMPARED or there is _UNKNOWN:
                continue
            if is_same(wanted, there):
                same += 1
            else:
                differ.append(f"{_flag(name)} is {there}, planned {' '.join(wanted) or 'on'}")
    if differ:
        return "; ".join(differ), True
    return (f"{same} as planned", False) if same else None


def _named(words: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The server's name for a flag, with its values; both of ``--no-x`` and ``--x``."""
    flag, equals, value = words[0].partition("=")
    values = (value,) if equals else words[1:]
    name = _SHORT.get(flag, flag.lstrip("-").replace("-", "_"))
    if flag.startswith("--no-") and not values:
        yield name.removeprefix("no_"), ("false",)
    if "." in name:
        return  # a key of a JSON value, which is compared nowhere
    yield name, values


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _asked(intent: Intent, name: str) -> tuple[str, ...] | None:
    """The values of a flag that the plan has."""
    for words in intent.arguments:
        for each, values in _named(words):
            if each == name:
                return values
    return None


def is_same(wanted: tuple[str, ...], there: Any) -> bool:
    """Whether a flag's words come to a value that the server reports."""
    if isinstance(there, bool):
        return (not wanted or wanted[0].lower() not in ("false", "0")) is there
    if isinstance(there, (list, tuple)):
        return [str(each) for each in there] == list(wanted) or _is_json(wanted, list(there))
    if isinstance(there, dict):
        return _is_json(wanted, there)
    if there is None or not wanted:
        return there is None and not wanted
    number = _number(wanted[0])
    if isinstance(there, (int, float)):
        return number is None or float(there) == number  # "auto" comes to a number
    return str(there) == wanted[0]


def _is_json(wanted: tuple[str, ...], there: Any) -> bool:
    """Whether a JSON value's keys have what was asked: the server fills in more."""
    try:
        read = json.loads(wanted[0])
    except (ValueError, IndexError, RecursionError):
        return False
    return _is_within(read, there)


def _is_within(some: Any, there: Any) -> bool:
    if isinstance(some, dict) and isinstance(there, dict):
        return all(key in there and _is_within(value, there[key]) for key, value in some.items())
    return bool(some == there)


def _number(text: str) -> float | None:
    """A number, also one with a letter for a multiple; None for what is none."""
    factor = _MULTIPLES.get(text[-1:], 1)
    try:
        return float(text[:-1] if factor > 1 else text) * factor
    except ValueError:
        return None


def _cache(intent: Intent, reported: Reported) -> tuple[str, bool] | None:
    """What the plan sets of the KV cache, against the server's own figures."""
    labels = reported.cache or {}
    tokens = _count(labels.get("kv_cache_size_tokens", "")) or reported.cache_tokens
    differ = []
    for flag, label in _CACHE.items():
        asked = _asked(intent, flag.lstrip("-").replace("-", "_"))
        there = labels.get(label)
        if asked and there is not None and asked[0] != "auto" and not _is_text(asked[0], there):
            differ.append(f"{flag} is {there}, planned {asked[0]}")
    if differ:
        return "; ".join(differ), True
    if tokens is None:
        return None
    length = reported.models[0][2] if reported.models else None
    times = f": {tokens / length:.1f} requests of {length:,}" if length else ""
    return f"{tokens:,} tokens{times}", False


def _is_text(asked: str, there: str) -> bool:
    number, other = _number(asked), _number(there)
    if number is None or other is None:
        return there.startswith(asked)  # fp8 becomes the form of it that the kernels take
    return number == other


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _on_gpus(intent: Intent, reported: Reported) -> tuple[str, bool] | None:
    """The GPUs that its processes are on. None where the driver names no process of it."""
    if intent.gpus is None or not reported.gpus:
        return None
    there = ", ".join(str(index) for index, _ in reported.gpus)
    if len(reported.gpus) != intent.gpus:
        return f"on {len(reported.gpus)} ({there}), and the plan is for {intent.gpus}", True
    names = {str(index) for index, _ in reported.gpus} | {uuid for _, uuid in reported.gpus}
    others = [device for device in intent.devices if device not in names]
    if others:
        return f"on {there}, and the plan is for {', '.join(intent.devices)}", True
    return f"on {there}", False


# Out of what a server says.


def arguments_of(text: str) -> dict[str, Any]:
    """The mapping that a server's log has behind "non-default args:"; what is no plain data is out.

    It is how Python writes a mapping, and it may have objects in it that only vLLM can read.
    """
    import ast

    inside = text.partition("{")[2].rpartition("}")[0]
    found = {}
    for item in _split(inside):
        name, _, value = item.partition(":")
        try:
            key = ast.literal_eval(name.strip())
            found[str(key)] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return found


def _split(text: str) -> Iterator[str]:
    """The items of a mapping's text, at the commas that are in no bracket and no string."""
    depth, quote, start, skip = 0, "", 0, False
    for place, char in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth <= 0:
            yield text[start:place]
            start = place + 1
    if text[start:].strip():
        yield text[start:]


def cache_labels(metrics: str) -> dict[str, str] | None:
    """What the metrics say of the first engine's KV cache; None where they say nothing."""
    import re

    for line in metrics.splitlines():
        if line.startswith("vllm:cache_config_info{"):
            return dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line))
    return None


def to_record(intent: Intent) -> dict[str, Any]:
    """As plain data, to be kept beside a server's state."""
    return {
        "model": intent.model,
        "arguments": [list(words) for words in intent.arguments],
        "context": intent.context,
        "version": intent.version,
        "gpus": intent.gpus,
        "devices": list(intent.devices),
    }


def from_record(kept: Any) -> Intent | None:
    """An intent out of plain data; None for what is none."""
    if not isinstance(kept, dict) or not isinstance(kept.get("arguments"), list):
        return None
    arguments = [each for each in kept["arguments"] if isinstance(each, list) and each]
    devices = kept.get("devices")
    return Intent(
        model=str(kept.get("model") or ""),
        arguments=tuple(tuple(map(str, words)) for words in arguments),
        context=kept["context"] if isinstance(kept.get("context"), int) else None,
        version=str(kept.get("version") or ""),
        gpus=kept["gpus"] if isinstance(kept.get("gpus"), int) else None,
        devices=tuple(map(str, devices)) if isinstance(devices, list) else (),
    )
