"""A paragraph in lines, with every word whole: flags, paths and commands are there to be copied."""

from __future__ import annotations

import sys

from ..streams import columns

USUAL = 80  # columns: any terminal's, and what a file or a pipe is given
WIDEST = 100  # longer lines are hard to read
_MARGIN = 2


def width() -> int:
    """How wide an answer's lines are: to the terminal's edge, in a pipe always the same."""
    return room(columns(sys.stdout) if sys.stdout.isatty() else USUAL)


def room(columns: int) -> int:
    """How wide lines are on so many columns."""
    return max(min(columns, WIDEST) - _MARGIN, 1)


def wrapped(
    text: str, first: str = "", rest: str | None = None, most: int | None = None
) -> list[str]:
    """The lines of a paragraph, the first and the others indented; "" has none."""
    from textwrap import wrap

    return wrap(
        text, width() if most is None else most,
        initial_indent=first, subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
