"""One file being read: where its faults go, and how they are worded."""

from __future__ import annotations

from ..errors import did_you_mean
from ..model.problem import Problem
from ..model.source import Source
from .tree import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Any, TypeAlias

    from .tree import Node

    Reader: TypeAlias = Callable[[Node, str, "Reading"], Any]

ABSENT: Any = object()
# A file with more faults than this is no recipe with a slip in it: no guessing at what was meant.
_HINTS = 100
_NAMES = {
    "text": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "a boolean",
    "null": "nothing",
    "date": "a date",
    "list": "a list",
    "map": "a mapping",
}


class Reading:
    """One file being read: where its faults go, and how strict to be about unknown keys."""

    __slots__ = ("file", "key", "overlays", "own", "problems")

    def __init__(self, file: str, own: bool) -> None:
        self.file = file
        self.own = own  # this project's own recipes: an unknown key is an error
        self.key = ""  # the key whose value a keyed reader hands on
        self.problems: list[Problem] = []
        self.overlays: list[str] = []  # the files that were laid over it

    def problem(
        self, node: Node, path: str, message: str, hint: str = "", warning: bool = False
    ) -> Any:
        """Note a fault; ABSENT, which is what its reader returns."""
        self.problems.append(
            Problem(
                file=self.file_of(node),
                line=int(node[1]),
                column=node[2],
                path=path,
                message=message,
                hint=hint,
                warning=warning,
            )
        )
        return ABSENT

    def unknown_key(self, place: Node, path: str, known: Iterable[str]) -> None:
        """Note a key that the format does not have."""
        message = f"unknown key {place[3]!r}"
        strict = self.own or isinstance(place[1], Line)  # an overlay is written for this project
        self.problem(place, path, message, self.closest(place[3], known), warning=not strict)

    def closest(self, word: str, words: Iterable[str]) -> str:
        """What may have been meant, or nothing."""
        return did_you_mean(word, words) if len(self.problems) < _HINTS else ""

    def known(self, words: Collection[str]) -> str:
        """What there is, unless that is too much to read."""
        if len(words) > _HINTS or len(self.problems) >= _HINTS:
            return ""
        return f"known: {', '.join(words) or 'none'}"

    def source(self, node: Node, path: str) -> Source:
        """The place of a node."""
        return Source(layer=path, file=self.file_of(node), line=int(node[1]))

    def file_of(self, node: Node) -> str:
        """The file that a node stands in: the one being read, or an overlay of it."""
        line = node[1]
        return line.file if isinstance(line, Line) else self.file


def describe(node: Node) -> str:
    """What was found, in a few words."""
    kind, _, _, value, raw = node
    if kind == "text":
        # A file that is all text is no recipe, and may be one that nobody should see.
        return "text" if (node[1], node[2]) == (1, 1) else f"the text {value[:40]!r}"
    shown = " ".join(raw.split())[:40]
    if kind == "odd":
        return f"{shown}, which YAML 1.1 reads as {value}"
    return f"{_NAMES[kind]} ({shown})" if shown else _NAMES[kind]


def in_quotes(node: Node) -> str:
    """The hint for text that YAML reads as something else."""
    raw = node[4]
    return f'write "{raw}" in quotes' if raw and raw.isprintable() and len(raw) <= 40 else ""


def mismatch(node: Node, path: str, reading: Reading, wanted: str, hint: str = "") -> Any:
    """Note that something else was found than what is wanted; ABSENT."""
    return reading.problem(node, path, f"found {describe(node)}; expected {wanted}", hint)
