"""Go through a record and all that is in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vllm_launch.model.record import Record


def records(value: Any) -> Iterator[Record]:
    """A record and every record in it."""
    if isinstance(value, Record):
        yield value
        for field in type(value)._fields:
            yield from records(getattr(value, field))
    elif isinstance(value, dict):
        for each in value.values():
            yield from records(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from records(each)
