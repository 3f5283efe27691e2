"""Reads units as systemd does: lines, words, specifiers and variables of its own kind.

After src/shared/conf-parser.c, src/basic/extract-word.c, escape.c and env-util.c of systemd 252,
in as far as an export uses it: what it does not is an error here.
"""

from __future__ import annotations

import re

Sections = dict[str, list[tuple[str, str]]]
_WHITESPACE = " \t\n\r"
_SINGLE = {
    "a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, '"': 34, "'": 39, "s": 32,
}  # fmt: skip
_DIGITS = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}


def sections(text: str) -> Sections:
    """The assignments of each section, lines that a backslash continues as one."""
    found: Sections = {}
    current = ""
    for line in _lines(text):
        stripped = line.strip(_WHITESPACE)
        if not stripped:
            continue
        if stripped[0] == "[":
            assert stripped[-1] == "]", line
            current = stripped[1:-1]
            found.setdefault(current, [])
            continue
        key, equals, value = stripped.partition("=")
        assert equals, f"no assignment: {line!r}"
        assert current, f"in no section: {line!r}"
        found[current].append((key.strip(_WHITESPACE), value.strip(_WHITESPACE)))
    return found


def _lines(text: str) -> list[str]:
    lines, joined = [], None
    for line in re.split("\n|\r\n?", text):
        if line.lstrip(_WHITESPACE)[:1] in ("#", ";") and line.strip():
            continue
        ends = len(line) - len(line.rstrip("\\"))
        whole = line if joined is None else joined + line
        if ends % 2:
            joined = whole[:-1] + " "
        else:
            lines.append(whole)
            joined = None
    assert joined is None, "the last line is continued"
    return lines


def words(text: str) -> list[bytes]:
    """A value's words, quotes and escapes undone."""
    data = text.encode("utf-8", "surrogateescape").decode("latin-1")
    found: list[bytes] = []
    at = 0
    while True:
        while at < len(data) and data[at] in _WHITESPACE:
            at += 1
        if at == len(data):
            return found
        word, at = _word(data, at)
        found.append(word)


def _word(data: str, at: int) -> tuple[bytes, int]:
    word, quote = bytearray(), ""
    while at < len(data):
        char = data[at]
        if char == "\\":
            more, at = _escape(data, at + 1)
            word += more
            continue
        if quote:
            if char == quote:
                quote = ""
            else:
                word += char.encode("latin-1")
        elif char in "'\"":
            quote = char
        elif char in _WHITESPACE:
            break
        else:
            word += char.encode("latin-1")
        at += 1
    assert not quote, f"an open quotation: {data!r}"
    return bytes(word), at


def _escape(data: str, at: int) -> tuple[bytes, int]:
    kind = data[at]
    if kind in _SINGLE:
        return bytes([_SINGLE[kind]]), at + 1
    if kind in _DIGITS:
        count, base = _DIGITS[kind]
        code = int(data[at + 1 : at + 1 + count], base)
        assert code, "NUL"
        text = bytes([code]) if kind == "x" else chr(code).encode()
        return text, at + 1 + count
    assert kind in "01234567", f"an unknown escape: {data!r}"
    return bytes([int(data[at : at + 3], 8)]), at + 3


def specified(word: bytes) -> bytes:
    """A word with its specifiers put in; of those only %% is expected."""

    def single(match: re.Match[bytes]) -> bytes:
        assert match[0] == b"%%", f"a specifier: {word!r}"
        return b"%"

    return re.sub(rb"%.?", single, word, flags=re.DOTALL)


def expanded(word: bytes) -> bytes:
    """A word with its variables put in; of those only $$ is expected."""
    assert not re.search(rb"(?<!\$)(?:\$\$)*\$(?!\$)[A-Za-z_{]", word), f"a variable: {word!r}"
    assert not word.startswith(b"$") or word.startswith(b"$$"), f"a variable: {word!r}"
    return word.replace(b"$$", b"$")


def command(value: str) -> list[bytes]:
    """The words that ExecStart= starts a process with."""
    path, *arguments = words(value)
    assert path.startswith(b"/"), value
    assert not re.search(r"(^|\s);(\s|$)", value), "the end of one of several commands"
    return [specified(path), *(expanded(specified(word)) for word in arguments)]


def process(text: str) -> tuple[list[bytes], dict[bytes, bytes]]:
    """A unit's command and the variables that it sets."""
    service = sections(text)["Service"]
    (start,) = (value for key, value in service if key == "ExecStart")
    env = {}
    for key, value in service:
        if key == "Environment":
            for word in words(value):
                name, equals, content = specified(word).partition(b"=")
                assert equals
                env[name] = content
    return command(start), env


def values(text: str, section: str, key: str) -> list[str]:
    return [value for name, value in sections(text).get(section, []) if name == key]
