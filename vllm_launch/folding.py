"""Lines made to end at a terminal's edge, with words whole and commands in one piece."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAMS = ("vllm-launch", "hf")  # a command is copied, so it stays in one piece
_ENDS = (",", ";", ":", ")", "?", "'")  # what a command ends with inside of a sentence
_DEEPER = "    "


def folded(text: str, width: int) -> str:
    """A text whose lines are no wider than ``width`` columns, where words allow it.

    What a line begins with (blanks, the ``#`` of a comment) its continuations begin with too.
    """
    lines = text.split("\n")
    whole = (len(line) <= width for line in lines)
    return "\n".join(
        line if stays else _folded(line, width) for line, stays in zip(lines, whole, strict=True)
    )


def _folded(line: str, width: int) -> str:
    body = line.lstrip(" #")
    start = line[: len(line) - len(body)]
    done, current = [], ""
    for piece in _pieces(body.split(" ")):
        longer = f"{current} {piece}" if current else start + piece
        if current and len(longer) > width:
            done.append(current)
            longer = start + _DEEPER + piece
        current = longer
    return "\n".join([*done, current])


def _pieces(words: list[str]) -> Iterator[str]:
    """Words; a quoted text, a command, and an option with the word behind it are one piece."""
    at = 0
    while at < len(words):
        end = _end(words, at)
        yield " ".join(words[at:end])
        at = end


def _end(words: list[str], at: int) -> int:
    """Where the piece that begins with a word ends."""
    word = words[at].lstrip("(")
    if word.startswith("'") and "'" not in word[1:]:
        ends = [i for i in range(at + 1, len(words)) if "'" in words[i]]
        return ends[0] + 1 if ends else at + 1
    if word in _PROGRAMS:
        ends = [i for i in range(at + 1, len(words)) if words[i].endswith(_ENDS)]
        return ends[0] + 1 if ends else len(words)
    return at + 2 if word.startswith("-") and not word.endswith(_ENDS) else at + 1
