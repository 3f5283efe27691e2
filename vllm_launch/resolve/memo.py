"""Answers that are worked out once for each key, and kept."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

_NONE: Any = object()


class Memo:
    """Call it with a key and what works the answer out."""

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: dict[Any, Any] = {}

    def __call__(self, key: object, work: Callable[[], T]) -> T:
        found: T = self._answers.get(key, _NONE)
        if found is _NONE:
            found = self._answers[key] = work()
        return found
