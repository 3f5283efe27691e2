"""JSON text to the same tree as YAML, with places."""

from __future__ import annotations

import re
from bisect import bisect_right
from json import JSONDecodeError, decoder

from .characters import MAX_KEY, bad_key, refused
from .tree import MAX_DEPTH, MAX_NODES, TOO_DEEP, TOO_MANY, SyntaxFault, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tree import Node

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = {"true": ("bool", True), "false": ("bool", False), "null": ("null", None)}
_MAX_DIGITS = 40


def parse(data: bytes, faults: list[SyntaxFault]) -> Node:
    """Read one JSON document; ``faults`` collects what can be read past, such as duplicate keys.

    Raises SyntaxFault for what cannot: not UTF-8, too large, not JSON.
    """
    reader = _Reader(decode(data), faults)
    root, end = reader.value(reader.skip(0), "", 0)
    end = reader.skip(end)
    if end != len(reader.text):
        raise reader.fault(end, "the document ends here, but more text follows")
    return root


class _Reader:
    def __init__(self, text: str, faults: list[SyntaxFault]) -> None:
        self.text = text
        self.faults = faults
        self.count = 0
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, at: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def fault(self, at: int, message: str, hint: str = "", path: str = "") -> SyntaxFault:
        """A fault at an offset, to be raised or kept."""
        return SyntaxFault(*self.place(at), message, hint, path)

    def skip(self, at: int) -> int:
        """The offset behind white space."""
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, path: str, depth: int) -> tuple[Node, int]:
        """The value at an offset, and the offset behind it. Raises SyntaxFault."""
        self.count += 1
        if self.count > MAX_NODES:
            raise self.fault(at, TOO_MANY, path=path)
        if depth > MAX_DEPTH:
            raise self.fault(at, TOO_DEEP, path=path)
        first = self.text[at : at + 1]
        if first == "{":
            return self.map(at, path, depth)
        if first == "[":
            return self.list(at, path, depth)
        if first == '"':
            text, end = self.string(at, path)
            return ("text", *self.place(at), text, ""), end
        return self.word(at, path)

    def string(self, at: int, path: str) -> tuple[str, int]:
        """The text of a string; one with forbidden characters is a fault that can be read past."""
        try:
            text, end = decoder.scanstring(self.text, at + 1, True)  # type: ignore[attr-defined]
        except JSONDecodeError as error:
            what = error.msg.removesuffix(" at").removesuffix(" starting").rstrip(": ")
            raise self.fault(error.pos, f"not valid JSON: {what}", path=path) from None
        message = refused(text)
        if message:
            self.faults.append(self.fault(at, message, "remove it", path))
        return text, end

    def word(self, at: int, path: str) -> tuple[Node, int]:
        """A number, true, false or null."""
        for word, (kind, value) in _WORDS.items():
            if self.text.startswith(word, at):
                return (kind, *self.place(at), value, word), at + len(word)
        match = _NUMBER.match(self.text, at)
        if match is None:
            raise self.fault(at, "not valid JSON: a value was expected here", path=path)
        raw = match.group()
        if len(raw) > _MAX_DIGITS or abs(float(raw)) == float("inf"):
            raise self.fault(at, "not a number of ordinary size", path=path)
        if match.group(1) or match.group(2):
            return ("float", *self.place(at), float(raw), raw), match.end()
        return ("int", *self.place(at), int(raw), raw), match.end()

    def list(self, at: int, path: str, depth: int) -> tuple[Node, int]:
        """The list that a bracket opens."""
        items: list[Node] = []
        here = self.skip(at + 1)
        if self.text[here : here + 1] == "]":
            return ("list", *self.place(at), (), ""), here + 1
        while True:
            item, here = self.value(here, f"{path}[{len(items)}]", depth + 1)
            items.append(item)
            here = self.skip(here)
            if self.text[here : here + 1] == "]":
                return ("list", *self.place(at), tuple(items), ""), here + 1
            here = self.skip(self.expect(here, ",", "',' or ']'", path))

    def map(self, at: int, path: str, depth: int) -> tuple[Node, int]:
        """The mapping that a brace opens; of a key that stands twice the first holds."""
        entries: dict[str, tuple[str, int, int, Node]] = {}
        here = self.skip(at + 1)
        if self.text[here : here + 1] == "}":
            return ("map", *self.place(at), (), ""), here + 1
        while True:
            start = here
            key, here = self.key(here, path)
            if key in entries:
                first = f"the first is on line {entries[key][1]}"
                message = f"duplicate key {key!r}; {first}"
                self.faults.append(self.fault(start, message, "keep one of the two", path))
            here = self.skip(self.expect(self.skip(here), ":", "':'", path))
            below = f"{path}.{key}" if path else key
            item, here = self.value(here, below, depth + 1)
            entries.setdefault(key, (key, *self.place(start), item))
            here = self.skip(here)
            if self.text[here : here + 1] == "}":
                return ("map", *self.place(at), tuple(entries.values()), ""), here + 1
            here = self.skip(self.expect(here, ",", "',' or '}'", path))

    def key(self, at: int, path: str) -> tuple[str, int]:
        """A key and where it ends; a faulty one is returned as it can be shown."""
        if self.text[at : at + 1] != '"':
            message = "not valid JSON: a key in double quotes was expected here"
            raise self.fault(at, message, path=path)
        key, end = self.string(at, path)
        message = bad_key(key)
        if message:
            self.faults.append(self.fault(at, message, path=path))
        return (ascii(key[:MAX_KEY]) if message or refused(key) else key), end

    def expect(self, at: int, mark: str, wanted: str, path: str) -> int:
        """The offset behind a mark that has to stand here. Raises SyntaxFault."""
        if self.text[at : at + 1] != mark:
            raise self.fault(at, f"not valid JSON: {wanted} was expected here", path=path)
        return at + 1
