"""What changes between two sources, for people and for programs."""

from __future__ import annotations

from ..model.record import Record
from ..resolve.difference import AXES, boxes
from .shell import one_line, quote
from .wrapping import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..resolve.difference import Change, Combination

_NOUNS = {
    "variant": ("variant", "variants"),
    "preset": ("preset", "presets"),
    "strategy": ("strategy", "strategies"),
    "hardware": ("hardware", "hardware"),
    "feature": ("feature", "features"),
    "kv_offload": ("KV offload", "KV offloads"),
}
_STATUS = {
    "added": "new",
    "removed": "gone",
    "unreadable": "cannot be read any more",
    "readable": "can be read now",
}


class RecipeDifference(Record):
    """How a recipe differs."""

    id: str
    status: str  # "changed", "added", "removed", "unreadable" or "readable"
    changes: tuple[Change, ...] = ()
    among: frozenset[Combination] = frozenset()  # what was compared


def difference_text(old: str, new: str, found: Sequence[RecipeDifference], compared: int) -> str:
    """Each change once, with the combinations that it concerns; then the counts."""
    lines = [f"--- {old}", f"+++ {new}"]
    for one in found:
        if one.status == "changed":
            lines += ["", one.id, *_changes(one)]
    others = [f"{_STATUS[one.status]}: {one.id}" for one in found if one.status in _STATUS]
    lines += ["", *others] if others else []
    return "\n".join([*lines, "", _counts(found, compared)]) + "\n"


def _changes(one: RecipeDifference) -> Iterator[str]:
    """The changes, those of the same combinations together."""
    together: dict[frozenset[Combination], list[Change]] = {}
    for change in one.changes:
        together.setdefault(frozenset(change.where), []).append(change)
    for alike in together.values():
        for change in alike:
            yield from _change(change)
        yield from _where(alike[0], one)


def _counts(found: Sequence[RecipeDifference], compared: int) -> str:
    counts = {
        status: sum(one.status == status for one in found) for status in ("changed", *_STATUS)
    }
    told = [
        f"{counts[status]} {word}"
        for status, word in {"changed": "changed", **_STATUS}.items()
        if counts[status]
    ]
    told.append(f"{compared - len(found)} the same")
    return f"{compared} recipe{'s' * (compared != 1)}: {', '.join(told)}"


def _change(change: Change) -> Iterator[str]:
    role = f"  ({change.role})" if change.role else ""
    for mark, value in (("-", change.old), ("+", change.new)):
        if value is not None:
            yield f"  {mark} {_written(change, value)}{role}"


def _written(change: Change, value: str) -> str:
    """One side of a change as it stands in a command."""
    if change.kind == "flag":
        return one_line(f"{change.name} {_quoted(value)}").rstrip()
    if change.kind == "variable":
        return one_line(f"{change.name}={quote(value)}")
    if change.kind == "offered":
        return "offered"
    return f"{change.kind}{f' {change.name}' if change.name else ''}: {' '.join(value.split())}"


def _quoted(value: str) -> str:
    return quote(value) if "{" in value else value


def _where(change: Change, one: RecipeDifference) -> Iterator[str]:
    """The combinations that a change concerns, a product a line."""
    for box in boxes(change.where, one.among):
        told = [
            f"{_NOUNS[axis][len(part) != 1]} {', '.join(name or 'none' for name in part)}"
            for axis, part in zip(AXES, box, strict=True)
            if part
        ]
        text = f"in {'; '.join(told)}" if told else "everywhere"
        yield from wrapped(text, " " * 6, " " * 9)


def difference_record(
    old: str, new: str, found: Sequence[RecipeDifference], compared: int
) -> dict[str, Any]:
    """The same for programs. A product's empty list stands for whatever there is."""
    return {
        "old": old,
        "new": new,
        "compared": compared,
        "recipes": [
            {
                "id": one.id,
                "status": one.status,
                "changes": [_change_record(change, one) for change in one.changes],
            }
            for one in found
        ],
    }


def _change_record(change: Change, one: RecipeDifference) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "role": change.role or None,
        "name": change.name or None,
        "old": change.old,
        "new": change.new,
        "combinations": len(change.where),
        "where": [
            {axis: list(part) for axis, part in zip(AXES, box, strict=True)}
            for box in boxes(change.where, one.among)
        ],
    }
