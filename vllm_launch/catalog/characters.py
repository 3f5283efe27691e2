"""Characters that no text may hold, written out or escaped.

What a recipe says is shown in terminals, so it holds nothing that a terminal obeys or that
makes a command read otherwise than it runs: control characters, changes of the writing direction,
line ends beside the usual one. Halves of surrogate pairs cannot be shown at all.
"""

from __future__ import annotations

import re

MAX_KEY = 200  # characters; a place is told by the keys of every level

_REFUSED = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What YAML does not allow, each by itself: all that it allows would take milliseconds to compile.
_UNREADABLE = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


def refused(text: str) -> str:
    """What is wrong with a text, or nothing."""
    found = _REFUSED.search(text)
    return _message(found.group()) if found else ""


def bad_key(key: str) -> str:
    """What makes a text no key, or nothing."""
    if len(key) > MAX_KEY:
        return f"a key of {len(key)} characters; at most {MAX_KEY} are allowed"
    return "a key must be one line, without tabs" if "\n" in key or "\t" in key else ""


def unreadable(text: str) -> tuple[int, str] | None:
    """The first character that YAML cannot be written with: where, and what is wrong."""
    found = _UNREADABLE.search(text)
    return (found.start(), _message(found.group())) if found else None


def _message(char: str) -> str:
    return f"the character U+{ord(char):04X} is not allowed"
