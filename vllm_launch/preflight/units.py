"""Bytes as people read them, and words as shells do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def size(count: float) -> str:
    """Bytes in binary units: "560 GiB", "1.5 MiB"."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(count) >= unit:
            return f"{rounded(count / unit)} {name}"
    return f"{int(count)} bytes"


def rounded(number: float) -> str:
    """One decimal, and none where it says nothing."""
    return f"{number:.1f}".removesuffix(".0")


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 GPU", "8 GPUs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def page_size(value: Any) -> int | None:
    """Bytes of a page size such as "1GB", "2MiB" or 2097152; None where it is none.

    Pages come in powers of two, so GB means GiB.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value > 0 else None
    text = str(value).strip().upper().removesuffix("B").removesuffix("I").rstrip()
    unit = text[-1:] if text[-1:] in ("K", "M", "G", "T") else ""
    number = text.removesuffix(unit).rstrip()
    if not number.isascii() or not number.isdecimal() or not int(number):
        return None
    return int(number) << (10 * _POWERS[unit])


def as_bytes(value: Any) -> int | None:
    """Bytes of a number, or of text such as "500GB" or "80g"; None where it is neither."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return int(value)
    text = str(value).strip()
    digits = text.rstrip("kKmMgGtTiIbB ")
    unit = text[len(digits) :].strip()
    try:
        number = float(digits)
    except ValueError:
        return None
    base = 1000 if unit[:1].islower() else 1024  # as vLLM reads its own suffixes
    return int(number * base ** _POWERS.get(unit[:1].upper(), 0))


def quoted(word: str) -> str:
    """A word of a command, quoted where a shell would otherwise change it."""
    from shlex import quote  # where a command is told at all: it imports re

    return quote(word)
