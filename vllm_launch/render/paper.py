"""What text is written on: a terminal with a width, bold letters and Markdown, or a pipe."""

from __future__ import annotations

import os
import sys

from ..model.record import Record
from ..streams import columns, is_dumb
from .wrapping import USUAL, WIDEST, room, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_BOLD, _PLAIN = "\033[1m", "\033[0m"


class Paper(Record):
    """Where an answer is written."""

    is_terminal: bool = False
    width: int = USUAL
    styled: bool = False

    def heading(self, text: str) -> str:
        """A heading, in bold letters where there are any."""
        return f"{_BOLD}{text}{_PLAIN}" if self.styled else text

    def wrapped(self, text: str, first: str = "  ", rest: str = "      ") -> list[str]:
        """A paragraph in lines, the first and the others indented."""
        return wrapped(text, first, rest, room(self.width))

    def narrowed(self, columns: int) -> Paper:
        """The same, for what is indented afterwards."""
        return self.replace(width=self.width - columns)

    def markdown(self, text: str) -> str:
        """Markdown as a terminal can show it; as it stands where there is none."""
        return _rendered(text, self) if self.is_terminal else text.rstrip() + "\n"


def paper(no_color: bool) -> Paper:
    """The standard output."""
    if not sys.stdout.isatty():
        return Paper()
    return Paper(
        is_terminal=True,
        width=columns(sys.stdout),
        styled=not (no_color or is_dumb() or os.environ.get("NO_COLOR")),
    )


def _rendered(text: str, on: Paper) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(
        width=min(on.width, WIDEST), force_terminal=on.styled, no_color=not on.styled,
        color_system="standard" if on.styled else None, legacy_windows=False,
    )  # fmt: skip
    with console.capture() as shown:
        # Links are spelt out: what they lead to is a recipe's word, and to be seen.
        console.print(Markdown(text, hyperlinks=False))
    return _trimmed(shown.get().splitlines())


def _trimmed(lines: Iterable[str]) -> str:
    """Lines without the spaces that fill them up."""
    return "".join(f"{line.rstrip()}\n" for line in lines)
