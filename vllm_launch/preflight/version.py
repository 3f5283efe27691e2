"""Compare version numbers as packages order them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # epoch, release, candidate or none, post-release or none, development build or none
    Key: TypeAlias = tuple[int, tuple[int, ...], tuple[int, int], int, tuple[int, int]]

_FORM = (
    r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)"
    r"(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)(?![a-z])[-_.]?(\d*))?"
    r"(?:-(\d+)(?!\d)(?=$|[-_.+]|dev(?![a-z]))|[-_.]?(post|rev|r)(?![a-z])[-_.]?(\d*))?"
    r"(?:[-_.]?(dev)(?![a-z])[-_.]?(\d*))?"
)
_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_BEFORE_ALL, _NO_CANDIDATE = (-1, 0), (3, 0)
_NOT_POST = -1
_NO_BUILD = (1, 0)


def key(version: str) -> Key | None:
    """What a version sorts by, as packages do (PEP 440); None where it has no number at its start.

    "0.33.0.dev3+g1a2b" < "0.33.0rc1.dev2" < "0.33.0rc1" < "0.33.0" < "0.33.0.post1". What stands
    behind + is a build of the same version, and what is no part of a version is left out.
    """
    import re

    found = re.match(_FORM, version.strip().lower())
    if found is None:
        return None
    epoch, release, phase, candidate, implied, post, number, dev, build = found.groups()
    numbers = [int(part) for part in release.split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    is_post = post is not None or implied is not None
    if phase is not None:
        before = (_PHASES[phase], int(candidate or 0))
    else:
        before = _BEFORE_ALL if dev is not None and not is_post else _NO_CANDIDATE
    return (
        int(epoch or 0),
        tuple(numbers),
        before,
        int(implied or number or 0) if is_post else _NOT_POST,
        (0, int(build or 0)) if dev is not None else _NO_BUILD,
    )


def is_less(version: str, other: str) -> bool | None:
    """Whether a version is older; None where one of them cannot be read."""
    first, second = key(version), key(other)
    return None if first is None or second is None else first < second


def is_development(version: str) -> bool:
    """Whether a version is a build between releases, whose number says little."""
    found = key(version)
    return found is not None and found[-1] != _NO_BUILD


def major(version: str | None) -> int | None:
    """The first number of a version."""
    first = (version or "").strip().partition(".")[0]
    return int(first) if first.isdecimal() else None
