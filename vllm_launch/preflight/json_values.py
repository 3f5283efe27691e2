"""JSON values, and the keys inside them."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .plan import arguments, loads
from .renames import FIELDS
from .target import target
from .unknown import unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

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
        if given.key or len(given.values) != 1 or not _is_json(situation, given):
            continue
        any_json = True
        if "$" not in given.text and not _is_none(situation, given):
            found += _faults(given)
    return found if any_json else None


def _is_none(situation: Situation, given: Given) -> bool:
    """Whether a value stands for none, which options with such a default take."""
    options = situation.options
    forms = options.forms(given.flag) if options is not None else ()
    return given.text in ("", "None") and (not forms or forms[-1].type == "_optional_type")


def _faults(given: Given) -> Iterator[Finding]:
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


def _is_json(situation: Situation, given: Given) -> bool:
    flag, options = given.flag, situation.options
    if flag in CLASSES or flag in PLAIN or (flag in MAYBE and given.text.lstrip().startswith("{")):
        return True
    forms = options.forms(flag) if options is not None else ()
    return bool(forms) and forms[-1].type == "loads"


def _broken(given: Given, fault: str) -> Finding:
    text = given.text if len(given.text) <= _LONGEST else given.text[: _LONGEST - 1] + "…"
    return Finding(
        # What may be plain text is taken for it, and means something else.
        severity="warn" if given.flag in MAYBE else "fail",
        what=f"{given.flag} {text!r}: {fault}",
        why="Quotes are easily lost between shells. The server does not start."
        if given.flag not in MAYBE
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
    name = CLASSES[given.flag]
    if given.key:
        value: Any = given.text
        for key in reversed(given.key.split(".")):
            value = {key: value}
    elif len(given.values) == 1:
        try:
            value = loads(given.text)
        except ValueError:
            return
    else:
        return
    yield from _of_class(situation, at, given, name, value, given.flag)


def _of_class(
    situation: Situation, at: Target, given: Given, name: str, value: Any, path: str, depth: int = 0
) -> Iterator[Finding]:
    options = situation.options
    assert options is not None
    fields = options.known(f"fields:{name}", at.among)
    if not isinstance(value, dict) or not fields or depth > 8:
        return
    for key, below in value.items():
        spelt = key.replace("-", "_") if name == "SpeculativeConfig" else key
        if not options.having(f"fields:{name}", spelt) & at.among:
            yield unknown(
                situation,
                at,
                f"the key {key} of {path}",
                key,
                having=options.having(f"fields:{name}", spelt),
                among=fields,
                consequence="the server does not start.",
                instead=FIELDS.get((name, key)),
                cause=given.flag,
                source=given.source,
            )
        elif (name, key) in NESTED:
            inner = NESTED[name, key]
            yield from _of_class(situation, at, given, inner, below, f"{path}.{key}", depth + 1)
        elif key == "kv_connector_extra_config" and isinstance(below, dict):
            nested = below.get("connectors")
            for place, one in enumerate(nested if isinstance(nested, list) else ()):
                there = f"{path} (connector {place + 1})"
                yield from _of_class(situation, at, given, name, one, there, depth + 1)


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
