"""Frozen, keyword-only, slotted records.

Importing the standard ``dataclasses`` takes longer than a whole dry run may
(``scripts/bench.py`` prints both), so this small metaclass stands in for it.
Type checkers see frozen, keyword-only dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda cls: cls


class _RecordType(type):
    _fields: tuple[str, ...]
    _defaults: dict[str, Any]
    _setters: tuple[tuple[str, Callable[[Any, Any], None]], ...]

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _RecordType:
        own = tuple(namespace.get("__annotations__", ()))
        defaults = {field: namespace.pop(field) for field in own if field in namespace}
        namespace["__slots__"] = own
        cls = super().__new__(mcls, name, bases, namespace)
        parent = bases[0] if bases else None
        cls._fields = tuple(dict.fromkeys((*getattr(parent, "_fields", ()), *own)))
        cls._defaults = {**getattr(parent, "_defaults", {}), **defaults}
        cls._setters = tuple((field, getattr(cls, field).__set__) for field in cls._fields)
        return cls


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(metaclass=_RecordType):
    """Base of every record: fields are the class's annotations, in order."""

    def __init__(self, **values: Any) -> None:
        cls = type(self)
        if len(values) != len(cls._setters):
            values = {**cls._defaults, **values}
        try:
            for field, set_field in cls._setters:
                set_field(self, values[field])
        except KeyError:
            raise _misfit(cls, values) from None
        if len(values) != len(cls._setters):
            raise _misfit(cls, values)

    def __setattr__(self, field: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {field!r}")

    def __delattr__(self, field: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {field!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, field) == getattr(other, field) for field in type(self)._fields
        )

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, field) for field in type(self)._fields))

    def __repr__(self) -> str:
        fields = ", ".join(f"{field}={getattr(self, field)!r}" for field in type(self)._fields)
        return f"{type(self).__name__}({fields})"

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        return type(self)(**{**{f: getattr(self, f) for f in type(self)._fields}, **changes})


def _misfit(cls: type[Record], values: dict[str, Any]) -> TypeError:
    """What is wrong with a record's arguments: a field that it has not, or one left out."""
    unknown = [name for name in values if name not in cls._fields]
    if unknown:
        return TypeError(f"{cls.__name__} has no field {', '.join(unknown)}")
    missing = next(field for field in cls._fields if field not in values)
    return TypeError(f"{cls.__name__} needs {missing!r}")
