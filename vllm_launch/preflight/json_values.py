"""JSON values, and the keys inside them."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.record import Record
from .plan import arguments, loads
from .renames import FIELDS
from .target import target
from .unknown import unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..model.vllm import VllmOptions
    from .plan import Given
    from .situation import Situation
    from .target import Target

# The configuration class behind each flag; what is left out takes any key.
CLASSES = {
    "--attention-config": "AttentionConfig",
    "--aux-output-config": "AuxOutputConfig",
    "--compilation-config": "CompilationConfig",
    "--diffusion-config": "DiffusionConfig",
    "--ec-manager-config": "EncoderCacheManagerConfig",
    "--ec-transfer-config": "ECTransferConfig",
    "--engram-config": "EngramConfig",
    "--eplb-config": "EPLBConfig",
    "--fault-tolerance-config": "FaultToleranceConfig",
    "--ir-op-priority": "IrOpPriorityConfig",
    "--kernel-config": "KernelConfig",
    "--kv-events-config": "KVEventsConfig",
    "--kv-transfer-config": "KVTransferConfig",
    "--logging-config": "LoggingConfig",
    "--pooler-config": "PoolerConfig",
    "--profiler-config": "ProfilerConfig",
    "--quantization-config": "QuantizationConfigArgs",
    "--reasoning-config": "ReasoningConfig",
    "--speculative-config": "SpeculativeConfig",
    "--structured-outputs-config": "StructuredOutputsConfig",
    "--watchdog-config": "WatchdogConfig",
    "--watermark-config": "WatermarkConfig",
    "--weight-transfer-config": "WeightTransferConfig",
}
# Classes inside classes, by key.
NESTED = {
    ("AttentionConfig", "hisparse_config"): "HiSparseConfig",
    ("CompilationConfig", "dynamic_shapes_config"): "DynamicShapesConfig",
    ("CompilationConfig", "pass_config"): "PassConfig",
    ("KernelConfig", "ir_op_priority"): "IrOpPriorityConfig",
    ("QuantizationConfigArgs", "linear"): "QuantSpec",
    ("QuantizationConfigArgs", "moe"): "QuantSpec",
}
# Other flags whose value is JSON.
PLAIN = (
    "--default-chat-template-kwargs",
    "--default-mm-loras",
    "--limit-mm-per-prompt",
    "--media-io-kwargs",
    "--mm-processor-kwargs",
    "--model-class-overrides",
    "--override-generation-config",
    "--reasoning-effort-map",
)
# Those of the classes that are read as plain JSON first: null is a value, and 80G is none.
STRICT = ("--diffusion-config", "--speculative-config", "--watermark-config")
# JSON where it begins like it, else plain text.
MAYBE = ("--additional-config", "--hf-overrides", "--model-loader-extra-config")
_LONGEST = 60


def readable(situation: Situation) -> Iterable[Finding] | None:
    """Every JSON value, read; true and false that became text inside one."""
    found: list[Finding] = []
    any_json = False
    for given in arguments(situation.process):
        if given.key or len(given.values) != 1 or not is_json(situation.options, given):
            continue
        any_json = True
        if "$" not in given.text and not is_none(situation.options, given):
            found += faults(given)
    return found if any_json else None


def is_none(options: VllmOptions | None, given: Given) -> bool:
    """Whether a value stands for none, which options with such a default take."""
    forms = options.forms(given.flag) if options is not None else ()
    return given.text in ("", "None") and (not forms or forms[-1].type == "_optional_type")


def faults(given: Given) -> Iterator[Finding]:
    """What is wrong with a JSON value by itself."""
    numbers = given.flag in CLASSES and given.flag not in STRICT
    try:
        value = loads(given.text, suffixes=numbers)
    except ValueError as error:
        yield _broken(given, f"it is no JSON: {error}")
        return
    if given.flag in CLASSES and not isinstance(value, dict):
        if value is not None or given.flag not in STRICT:
            yield _broken(given, "it is no mapping")
        return
    yield from _spelt_booleans(given, value)


def is_json(options: VllmOptions | None, given: Given) -> bool:
    """Whether a flag's value is JSON."""
    flag = given.flag
    if flag in CLASSES or flag in PLAIN or (flag in MAYBE and given.text.lstrip().startswith("{")):
        return True
    forms = options.forms(flag) if options is not None else ()
    return bool(forms) and forms[-1].type == "loads"


def _broken(given: Given, fault: str) -> Finding:
    text = given.text if len(given.text) <= _LONGEST else given.text[: _LONGEST - 1] + "…"
    # What may be plain text, and is not in braces, is taken for it, and means something else.
    plain = given.flag in MAYBE and not given.text.rstrip().endswith("}")
    return Finding(
        severity="warn" if plain else "fail",
        what=f"{given.flag} {text!r}: {fault}",
        why="Quotes are easily lost between shells. The server does not start."
        if not plain
        else "Quotes are easily lost between shells. vLLM takes it for plain text.",
        remedy="Put the whole value into single quotes, with double quotes inside.",
        cause=given.flag,
        source=given.source,
    )


def _spelt_booleans(given: Given, value: Any, path: str = "", depth: int = 0) -> Iterator[Finding]:
    """ "false" in quotes is text, and text counts as true."""
    if isinstance(value, dict) and depth < 32:
        for key, below in value.items():
            yield from _spelt_booleans(given, below, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list) and depth < 32:
        for place, below in enumerate(value):
            yield from _spelt_booleans(given, below, f"{path}[{place}]", depth + 1)
    elif isinstance(value, str) and value.lower() in ("true", "false"):
        yield Finding(
            severity="warn",
            what=f'{given.flag}: {path} is "{value}" in quotes, which is text',
            why="Where a switch is expected, any text counts as true.",
            remedy=f"Write {value.lower()} without quotes.",
            cause=given.flag,
            source=given.source,
        )


def keys_known(situation: Situation) -> Iterable[Finding] | None:
    """The keys of JSON and dotted values, by the target's configuration classes."""
    at = target(situation)
    if at is None:
        return None
    given = [one for one in arguments(situation.process) if one.flag in CLASSES]
    if not given:
        return None
    return [finding for one in given for finding in _keys(situation, at, one)]


def _keys(situation: Situation, at: Target, given: Given) -> Iterator[Finding]:
    options = situation.options
    assert options is not None
    for one in keys(options, given):
        among = options.known(f"fields:{one.of}", at.among)
        if one.having & at.among or not among:
            continue
        yield unknown(
            situation,
            at,
            f"the key {one.key} of {one.path}",
            one.key,
            having=one.having,
            among=among,
            consequence="the server does not start.",
            instead=FIELDS.get((one.of, one.key)),
            cause=given.flag,
            source=given.source,
        )


class Key(Record):
    """A key of a configuration, and the releases that have it."""

    of: str  # the configuration's class
    key: str
    path: str  # what it is a key of: "--kernel-config.ir_op_priority"
    having: int


def keys(options: VllmOptions, given: Given) -> Iterator[Key]:
    """The keys of a JSON or dotted value, as far as the classes behind them are known."""
    name = CLASSES.get(given.flag)
    if name is not None:
        yield from _of_class(options, name, _value(given), given.flag)


def _value(given: Given) -> Any:
    """An argument's mapping; None for what is none."""
    if given.key:
        value: Any = given.text
        for key in reversed(given.key.split(".")):
            value = {key: value}
        return value
    try:
        return loads(given.text) if len(given.values) == 1 else None
    except ValueError:
        return None


def _of_class(
    options: VllmOptions, name: str, value: Any, path: str, depth: int = 0
) -> Iterator[Key]:
    if not isinstance(value, dict) or not options.names.get(f"fields:{name}") or depth > 8:
        return
    for key, below in value.items():
        spelt = key.replace("-", "_") if name == "SpeculativeConfig" else key
        having = options.having(f"fields:{name}", spelt)
        yield Key(of=name, key=key, path=path, having=having)
        if having and (name, key) in NESTED:
            yield from _of_class(options, NESTED[name, key], below, f"{path}.{key}", depth + 1)
        elif having and key == "kv_connector_extra_config" and isinstance(below, dict):
            nested = below.get("connectors")
            for place, one in enumerate(nested if isinstance(nested, list) else ()):
                there = f"{path} (connector {place + 1})"
                yield from _of_class(options, name, one, there, depth + 1)


CHECKS = (
    Check(
        code="JSON_VALUE",
        subject="arguments",
        about="JSON values can be read, and hold no true or false in quotes",
        run=readable,
    ),
    Check(
        code="CONFIG_KEY",
        subject="arguments",
        about="keys of JSON and dotted values against the target's configuration classes",
        run=keys_known,
    ),
)
