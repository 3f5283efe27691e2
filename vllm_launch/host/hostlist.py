"""Slurm's host lists: "n[1-3,7],gpu-[001-004]" is seven names and four."""

from __future__ import annotations

_MOST = 65536  # names; Slurm's own limit is the same


def expand(text: str) -> tuple[str, ...]:
    """The names of a host list, in its order. Raises ValueError for what is none."""
    found: list[str] = []
    for word in _words(text):
        found += _names(word, _MOST - len(found))
    return tuple(found)


def _words(text: str) -> list[str]:
    """The parts between commas that stand outside of brackets."""
    words, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            raise ValueError(f"brackets that do not match in {text!r}")
        if character == "," and not depth:
            words.append("")
        else:
            words[-1] += character
    if depth:
        raise ValueError(f"a bracket is not closed in {text!r}")
    return [word for each in words if (word := each.strip())]


def _names(word: str, most: int) -> list[str]:
    """The names of one part: the last bracket counts fastest."""
    names = [""]
    while word:
        before, bracket, rest = word.partition("[")
        inside, _, word = rest.partition("]")
        numbers = [n for each in inside.split(",") for n in _range(each)] if bracket else [""]
        if len(names) * len(numbers) > most:
            raise ValueError(f"more than {_MOST} names")
        names = [name + before + number for name in names for number in numbers]
    return names


def _range(text: str) -> list[str]:
    """ "007-010" as its numbers, as wide as the first one."""
    first, dash, last = text.partition("-")
    last = last if dash else first
    if not (_is_number(first) and _is_number(last)) or int(first) > int(last):
        raise ValueError(f"{text!r} is no range of numbers")
    if int(last) - int(first) >= _MOST:
        raise ValueError(f"more than {_MOST} names")
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 16
