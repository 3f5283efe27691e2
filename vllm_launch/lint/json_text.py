"""JSON values, and the keys inside them and behind dots."""

from __future__ import annotations

from ..preflight.json_values import faults, is_json, is_none, keys
from ..preflight.renames import FIELDS
from .fault import at, of_finding
from .releases import nearest, of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .fault import Fault
    from .releases import Span
    from .written import Block, Written


def readable(block: Block, span: Span) -> Iterator[Fault]:
    """Every JSON value, read, with keys that stand twice in one mapping."""
    for one in block.arguments:
        given, options = one.given, span.options
        if given.key or len(given.values) != 1 or block.merged or not is_json(options, given):
            continue
        if "$" in given.text or is_none(options, given):
            continue
        for found in faults(given):
            yield of_finding("LINT_JSON", found, one.spot)
        yield from _twice(one)


def _twice(one: Written) -> Iterator[Fault]:
    for key in dict.fromkeys(_doubled(one.given.text)):
        yield at(
            one.spot, "LINT_JSON_TWICE", "error",
            f"the key {key} stands twice in one mapping of {one.given.written}",
            "Keep one of the two: the last one counts.",
        )  # fmt: skip


def _doubled(text: str) -> list[str]:
    """The keys that one mapping of a JSON text has twice."""
    import json

    found: list[str] = []

    def seen(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        found.extend(name for place, name in enumerate(names) if name in names[:place])
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=seen)
    except (ValueError, RecursionError):
        return []
    return found


def keys_known(block: Block, span: Span) -> Iterator[Fault]:
    """The keys of JSON and dotted values, by the configuration classes of each release."""
    for one in block.arguments:
        for key in keys(span.options, one.given):
            known = span.options.known(f"fields:{key.of}", span.newest)
            if not known:
                continue
            found = of_name(
                span,
                one.spot,
                "the key",
                key.key,
                key.having,
                shown=f"{key.path}.{key.key}",
                instead=FIELDS.get((key.of, key.key)),
                near="" if key.having else nearest(key.key, known),
            )
            if found is not None:
                yield found
