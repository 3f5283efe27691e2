"""Where two locks of a launch differ, field by field. Pure."""

from __future__ import annotations

from .model.flags import is_flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_MARK = "—"  # a field that one of them has not


def drift(locked: Any, here: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Each field that differs: its path, what was locked, what is here."""
    if locked == here:
        return
    if isinstance(locked, dict) and isinstance(here, dict):
        for key in dict.fromkeys((*locked, *here)):
            below = f"{path}.{_shown(key)}" if path else _shown(key)
            yield from drift(locked.get(key), here.get(key), below)
    elif _is_argv(path) and _are_words(locked) and _are_words(here):
        yield from _words(path, locked, here)
    elif _are_records(locked) and _are_records(here) and len(locked) == len(here):
        for number, (one, other) in enumerate(zip(locked, here, strict=True)):
            yield from drift(one, other, f"{path}.{_named(one, number)}")
    else:
        yield path, _shown(locked), _shown(here)


def _is_argv(path: str) -> bool:
    return path.rpartition(".")[2] == "argv"


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_records(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _named(entry: Any, number: int) -> str:
    """What a list's record is called: its own name, else its number."""
    return _shown(entry.get("name", number))


def _words(path: str, locked: Sequence[str], here: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The flags that differ; what stands before the first one counts as one of them."""
    before, now = _flags(locked), _flags(here)
    for flag in dict.fromkeys((*before, *now)):
        if before.get(flag) != now.get(flag):
            yield f"{path} {_shown(flag)}".rstrip(), _shown(before.get(flag)), _shown(now.get(flag))
    if before == now:
        yield f"{path} (order)", _shown(" ".join(locked)), _shown(" ".join(here))


def _flags(argv: Sequence[str]) -> dict[str, str]:
    """Each flag with its values as one text; a flag that comes again goes on its own list."""
    found: dict[str, list[str]] = {}
    flag = ""
    for word in argv:
        if is_flag(word):
            flag = word
            found.setdefault(flag, [])
        else:
            found.setdefault(flag, []).append(word)
    return {name: " ".join(values) for name, values in found.items()}


def _shown(value: Any) -> str:
    """A value as text that does no harm to a terminal: a lock may be anybody's."""
    return "".join(char for char in _text(value) if char.isprintable())


def _text(value: Any) -> str:
    if value is None:
        return _MARK
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value)) or _MARK
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(each)}" for key, each in value.items())
    return str(value)
