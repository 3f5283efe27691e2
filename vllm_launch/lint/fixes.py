"""Mend a file's text word by word, and leave every other byte of it as it is."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .fault import Edit

_QUOTES = ('"', "'")
_SPACES = " \t"
# What stands around a word: nothing is changed in the middle of another.
_BEFORE = ("", " ", "\t", "\n", "[", "{", ",")
_BEHIND = ("", " ", "\t", "\n", "\r", "]", "}", ",", ":")


def with_edits(text: str, edits: Iterable[Edit]) -> tuple[str, list[Edit]]:
    """The text with the edits made, and those that were not: a word is not as it was expected.

    ``text`` has its line ends as they are in the file.
    """
    left: list[Edit] = []
    once = {(edit.line, edit.column): edit for edit in edits}
    starts = _line_starts(text)
    # From the end to the beginning, so that places stay true.
    for edit in sorted(once.values(), key=lambda e: (e.line, e.column), reverse=True):
        changed = _one(text, starts, edit)
        if changed is None:
            left.append(edit)
        else:
            text = changed
    return text, left


def _line_starts(text: str) -> list[int]:
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


def _one(text: str, starts: list[int], edit: Edit) -> str | None:
    """The text with one word replaced; None where it does not stand there as expected."""
    if not 0 < edit.line <= len(starts):
        return None
    start = starts[edit.line - 1] + edit.column - 1
    written = _written(text, start, edit.word)
    if written is None:
        return None
    quote, end = written
    line_start = starts[edit.line - 1]
    if not edit.words:
        return _without(text, line_start, start, end)
    new = [_quoted(word, quote) for word in edit.words]
    before = text[line_start:start]
    if before.strip() == "-":  # an item of a block list: one line each
        line_end = text.find("\n", end)
        line_end = len(text) if line_end < 0 else line_end
        newline = "\r\n" if text[line_end - 1 : line_end] == "\r" else "\n"
        more = "".join(f"{newline}{before}{word}" for word in new[1:])
        rest = text[end:line_end].removesuffix("\r")
        cut = end + len(rest)
        return text[:start] + new[0] + rest + more + text[cut:]
    return text[:start] + ", ".join(new) + text[end:]


def _written(text: str, start: int, word: str) -> tuple[str, int] | None:
    """The quotes that a word is written in, and where it ends."""
    for quote in ("", *_QUOTES):
        shown = _escaped(word, quote)
        if shown is None or not text.startswith(shown, start):
            continue
        end = start + len(shown)
        if text[end : end + 1] in _BEHIND and text[start - 1 : start] in _BEFORE:
            return quote, end
    return None


def _escaped(word: str, quote: str) -> str | None:
    """A word in YAML; None where it is more than these quotes can hold plainly."""
    if "\n" in word or (quote == '"' and ("\\" in word or '"' in word)):
        return None
    inner = word.replace("'", "''") if quote == "'" else word
    return f"{quote}{inner}{quote}"


def _quoted(word: str, quote: str) -> str:
    """A new word in the quotes of the old one; plain only where that is plainly a word."""
    letters = word.replace("-", "a").replace("_", "a")
    if not quote and word.startswith(("--", "VLLM_")) and letters.isalnum():
        return word
    for each in (quote or '"', *_QUOTES):
        shown = _escaped(word, each)
        if shown is not None:
            return shown
    raise ValueError(word)


def _without(text: str, line_start: int, start: int, end: int) -> str:
    """The text without an item: with its line in a block list, with its comma in another."""
    before = text[line_start:start]
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end + 1
    rest = text[end:line_end]
    if before.strip() == "-":
        if rest.strip().startswith("#"):  # what is said there stays
            return text[:line_start] + before.replace("-", " ") + rest.lstrip() + text[line_end:]
        return text[:line_start] + text[line_end:]
    tail = text[end:]
    gap = len(tail) - len(tail.lstrip())
    if tail[gap : gap + 1] == ",":
        after = end + gap + 1
        while text[after : after + 1] in tuple(_SPACES):
            after += 1
        if text[after : after + 1] in ("\r", "\n"):  # nothing more on its line
            kept = text[line_start:start].rstrip()
            after = after if kept else text.find("\n", after) + 1
            return text[:line_start] + kept + text[after:]
        return text[:start] + text[after:]
    head = text[:start].rstrip()
    return (head.removesuffix(",") if head.endswith(",") else text[:start]) + tail
