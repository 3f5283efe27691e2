"""Words with placeholders, and how bash writes them so that it reads back the very same."""

from __future__ import annotations

from ...errors import UsageError
from ...render.shell import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    # What a word is put together from: ("text", literal), ("name", a variable of the script)
    # or ("sum", arithmetic of the node's number).
    Piece: TypeAlias = tuple[str, str]
    Word: TypeAlias = tuple[Piece, ...]

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def literal(text: str) -> Word:
    """A word in which nothing is filled in."""
    return (("text", text),) if text else ()


def with_names(text: str) -> Word:
    """A recipe's word: each placeholder in it is a variable of the script."""
    if "$" not in text:
        return literal(text)
    import re

    pieces: list[Piece] = []
    end = 0
    for match in re.finditer(r"\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*))", text):
        pieces += literal(text[end : match.start()])
        pieces.append(("name", match[1] or match[2]))
        end = match.end()
    return (*pieces, *literal(text[end:]))


def written(word: Word) -> str:
    """A word as bash reads it."""
    if all(kind == "text" for kind, _ in word):
        return quoted("".join(text for _, text in word))
    if all(kind != "text" or _PLAIN.issuperset(text) for kind, text in word):
        return f'"{_in_double_quotes(word)}"'
    return "".join(
        quoted(piece[1]) if piece[0] == "text" else f'"{_in_double_quotes((piece,))}"'
        for piece in word
    )


def _in_double_quotes(word: Word) -> str:
    """Names and sums between text that means nothing to bash."""
    followers = [text for _, text in word[1:]] + [""]
    return "".join(
        {"text": text, "name": _named_before(follower, text), "sum": f"$(({text}))"}[kind]
        for (kind, text), follower in zip(word, followers, strict=True)
    )


def _named_before(follower: str, name: str) -> str:
    """A variable's value; braces where the text behind it could be more of its name."""
    joined = follower[:1] == "_" or follower[:1].isalnum() or follower[:1] == "["
    return f"${{{name}}}" if joined else f"${name}"


def quoted(text: str) -> str:
    """Literal text; control characters by name, for sbatch takes no carriage returns.

    Raises UsageError for a NUL, which no command can hold.
    """
    if "\0" in text:
        raise UsageError(f"a NUL character is in {text!r}, and no command can hold one")
    if not any(ord(character) < 32 or ord(character) == 127 for character in text):
        return quote(text)
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    control = ord(character) < 32 or ord(character) == 127
    return f"\\{ord(character):03o}" if control else character


def in_document(text: str) -> str:
    """Text for a here-document, its placeholders as variables of the script."""
    pieces = with_names(text)
    followers = [part for _, part in pieces[1:]] + [""]
    return "".join(
        _named_before(follower, part) if kind == "name" else _plain_in_document(part)
        for (kind, part), follower in zip(pieces, followers, strict=True)
    )


def _plain_in_document(text: str) -> str:
    for character in "\\$`":
        text = text.replace(character, "\\" + character)
    return text
