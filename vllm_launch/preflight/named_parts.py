"""Backends, connectors and parsers that arguments name."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .layout import connectors
from .plan import config, place, value
from .renames import CONNECTOR_KEYS
from .target import target
from .unknown import ahead, unknown
from .version import is_less

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.deployment import ProcessPlan
    from .situation import Situation

# Flags that name a parser, what brings one's own, the kind of name, and a noun for it.
PARSERS = (
    ("--tool-call-parser", "--tool-parser-plugin", "tool_parsers", "tool call parser"),
    ("--reasoning-parser", "--reasoning-parser-plugin", "reasoning_parsers", "reasoning parser"),
)
_AUTOMATIC = ("AUTO", "NONE", "CUSTOM", "")


def backends_known(situation: Situation) -> Iterable[Finding] | None:
    """Attention backends, also those of drafts and of kinds of layers."""
    named = [(flag, name) for flag, name in backends(situation.process) if "$" not in name]
    return _all_known(situation, "attention_backends", "attention backend", named)


def backends(process: ProcessPlan) -> Iterator[tuple[str, str]]:
    """Attention backends by the flags that name them, "" where one names none of vLLM's."""
    for flag in ("--attention-backend", "--mm-encoder-attn-backend"):
        yield flag, _backend(value(process, flag))
    attention = config(process, "--attention-config")
    yield "--attention-config", _backend(attention.get("backend"))
    kinds = attention.get("backend_per_kind")
    for name in kinds.values() if isinstance(kinds, dict) else ():
        yield "--attention-config", _backend(name)
    speculative = config(process, "--speculative-config")
    yield "--speculative-config", _backend(speculative.get("attention_backend"))


def _backend(name: object) -> str:
    """As vLLM reads it; a class by its path is none of its own."""
    if not isinstance(name, str) or "." in name or name.upper() in _AUTOMATIC:
        return ""
    return name.upper()


def connectors_known(situation: Situation) -> Iterable[Finding] | None:
    """KV connectors, those of other packages left out."""
    named = [(one.flag, one.name) for one in connectors(situation.process) if not one.module]
    return _all_known(situation, "kv_connectors", "KV connector", named)


def connector_keys_read(situation: Situation) -> Iterable[Finding] | None:
    """Keys of connectors that are ahead of the releases."""
    at = target(situation)
    newer = [
        (one, key, last_without)
        for one in connectors(situation.process)
        for (name, key), last_without in CONNECTOR_KEYS.items()
        if one.name == name and key in one.extra
    ]
    if at is None or not newer:
        return None
    return [
        Finding(
            severity="warn",
            what=f"the key {key} of {one.name} is not read by vLLM {at.version}",
            why="It is ignored there, and the connector does without what it stands for.",
            remedy=ahead(situation),
            cause=one.flag,
            source=one.source,
        )
        for one, key, last_without in newer
        if at.sure and is_less(last_without, at.version) is False
    ]


def parsers_known(situation: Situation) -> Iterable[Finding] | None:
    """Tool call and reasoning parsers, unless a plugin brings its own."""
    found: list[Finding] = []
    needed = False
    for flag, plugin, kind, noun in PARSERS:
        name = value(situation.process, flag) or ""
        if not name or name.lower() == "none" or value(situation.process, plugin):
            continue
        needed = True
        found += _all_known(situation, kind, noun, [(flag, name)]) or []
    return found if needed and target(situation) is not None else None


def _all_known(
    situation: Situation, kind: str, noun: str, named: list[tuple[str, str]]
) -> list[Finding] | None:
    options, at = situation.options, target(situation)
    named = [(flag, name) for flag, name in named if name]
    if options is None or at is None or not named:
        return None
    return [
        unknown(
            situation,
            at,
            f"the {noun} {name} of {flag}",
            name,
            having=options.having(kind, name),
            among=options.known(kind, at.among),
            consequence="the server does not start.",
            cause=flag,
            source=place(situation.process, flag),
        )
        for flag, name in dict.fromkeys(named)
        if not options.having(kind, name) & at.among
    ]


CHECKS = (
    Check(
        code="CONNECTOR_KEY",
        subject="arguments",
        about="keys of KV connectors that the target vLLM does not read",
        run=connector_keys_read,
    ),
    Check(
        code="BACKEND_UNKNOWN",
        subject="arguments",
        about="attention backends against those of the target vLLM",
        run=backends_known,
    ),
    Check(
        code="CONNECTOR_UNKNOWN",
        subject="arguments",
        about="KV connectors against those of the target vLLM",
        run=connectors_known,
    ),
    Check(
        code="PARSER_UNKNOWN",
        subject="arguments",
        about="tool call and reasoning parsers against those of the target vLLM",
        run=parsers_known,
    ),
)
