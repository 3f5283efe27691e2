"""The algebra of argument lists and environments."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    from ..model.source import Argument, Arguments, Source, Variables


def last_wins(arguments: Iterable[Argument]) -> Arguments:
    """Keep the last occurrence of each flag, at its place."""
    held: dict[str, Argument] = {}
    for argument in arguments:
        flag = argument[0]
        if "=" in flag:
            flag = flag.partition("=")[0]
        held.pop(flag, None)
        held[flag] = argument
    return tuple(held.values())


def without(arguments: Iterable[Argument], flags: Collection[str]) -> Arguments:
    """Take flags away, with their values."""
    return tuple(a for a in arguments if a[0].partition("=")[0] not in flags)


def merge_json(
    arguments: Arguments, flag: str, values: dict[str, Any], source: Source
) -> Arguments:
    """Merge values deep into a flag's JSON; None deletes a key; a missing flag is appended.

    A value that changed is written compact, keys in order.
    Raises ValueError where the flag's present value is no JSON mapping.
    """
    for i, (name, tokens, _) in enumerate(arguments):
        bare, equals, joined = name.partition("=")
        if bare == flag:
            present = _mapping(flag, (joined, *tokens[1:]) if equals else tokens[1:])
            written = _compact(deep_merge(present, values))
            return (*arguments[:i], (flag, (flag, written), source), *arguments[i + 1 :])
    return (*arguments, (flag, (flag, _compact(deep_merge({}, values))), source))


def _mapping(flag: str, words: tuple[str, ...]) -> dict[str, Any]:
    """A flag's value as the JSON mapping that it must be."""
    import json

    try:
        present = json.loads(words[0]) if len(words) == 1 else None
    except (ValueError, RecursionError):
        present = None
    if not isinstance(present, dict):
        raise ValueError(f"{flag} holds {' '.join(words)!r}, which is no JSON mapping")
    return present


def deep_merge(present: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """A mapping with another's values laid over it; None takes a key away."""
    merged = dict(present)
    for key, value in values.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            below = merged.get(key)
            merged[key] = deep_merge(below if isinstance(below, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def _compact(value: object) -> str:
    import json

    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def first_place_last_value(variables: Variables) -> Variables:
    """One of each variable: at its first place, with its last value."""
    held = {}
    for variable in variables:
        held[variable[0]] = variable
    return tuple(held.values())
