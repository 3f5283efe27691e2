"""Records as plain values, to be sent from one process to another."""

from __future__ import annotations

from ...model import system
from ...model.record import Record
from ...model.system import SystemFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MARK = "record"


def plain(value: Any) -> Any:
    """A value with its records as tuples of a mark, their class's name and their fields."""
    if isinstance(value, Record):
        cls = type(value)
        return _MARK, cls.__name__, {field: plain(getattr(value, field)) for field in cls._fields}
    if isinstance(value, tuple):
        return tuple(plain(one) for one in value)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def _record(value: Any) -> Any:
    if isinstance(value, tuple):
        if len(value) == 3 and value[0] == _MARK:
            cls = getattr(system, value[1])
            return cls(**{field: _record(one) for field, one in value[2].items()})
        return tuple(_record(one) for one in value)
    return value


def facts_from(values: dict[str, Any]) -> SystemFacts:
    """System facts of plain values or of records."""
    return SystemFacts(**{field: _record(value) for field, value in values.items()})
