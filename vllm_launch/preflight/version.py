"""Compare version numbers as packages order them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Key: TypeAlias = tuple[tuple[int, ...], int, int]

_PHASES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "c": -1, "post": 1}


def key(version: str) -> Key | None:
    """What a version sorts by; None where it has no number at its start.

    "0.33.0.dev3+g1a2b" < "0.33.0rc1" < "0.33.0" < "0.33.0.post1"; what stands behind + is a build.
    """
    import re

    found = re.match(
        r"v?(\d+(?:\.\d+)*)(?:[.\-_]?([a-z]+)[.\-_]?(\d*))?(.*)", version.strip().lower()
    )
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    phase = _PHASES.get(found[2] or "", 0)
    if ".dev" in found[4].partition("+")[0]:
        phase = _PHASES["dev"]
    return tuple(numbers), phase, int(found[3] or 0) if phase else 0


def is_less(version: str, other: str) -> bool | None:
    """Whether a version is older; None where one of them cannot be read."""
    first, second = key(version), key(other)
    return None if first is None or second is None else first < second


def is_development(version: str) -> bool:
    """Whether a version is a build between releases, whose number says little."""
    return ".dev" in version.partition("+")[0]


def major(version: str | None) -> int | None:
    """The first number of a version."""
    first = (version or "").strip().partition(".")[0]
    return int(first) if first.isdecimal() else None
