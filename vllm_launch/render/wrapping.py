"""A paragraph in lines, with every word whole: flags, paths and commands are there to be copied."""

from __future__ import annotations

WIDTH = 78  # fits any terminal, and a mail


def wrapped(text: str, first: str = "", rest: str | None = None, width: int = WIDTH) -> list[str]:
    """The lines of a paragraph, the first and the others indented; "" has none."""
    from textwrap import wrap

    return wrap(
        text, width, initial_indent=first, subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
