"""A parsed file as plain nested tuples with places, so that it can be cached as it is.

A node is ``(kind, line, column, value, raw)``. ``value`` is a str, int, float, bool or
None for a scalar, nodes for "list", and ``(key, line, column, node)`` entries for "map".
``raw`` is the text as written for a plain scalar that is not text, else "". The kind
"odd" is a plain scalar that YAML 1.1 reads as something its writer cannot have meant,
such as ``no`` or ``12:30``; its value says what it would be read as.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Node: TypeAlias = tuple[str, int, int, Any, str]

MAX_BYTES = 1 << 20  # a recipe is some tens of kilobytes
MAX_NODES = 100_000  # after aliases are expanded
MAX_DEPTH = 64

TOO_MANY = f"over {MAX_NODES} values, counting each use of an alias"
TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"


class Line(int):
    """A line of an overlay: it knows its file, in a tree that is otherwise of another."""

    file: str

    def __new__(cls, number: int, file: str) -> Line:
        """The line ``number`` of ``file``."""
        line = super().__new__(cls, number)
        line.file = file
        return line


def plain(node: Node) -> Any:
    """The node's data without places: dict, list and scalars."""
    kind, _, _, value, raw = node
    if kind == "map":
        return {key: plain(child) for key, _, _, child in value}
    if kind == "list":
        return [plain(child) for child in value]
    return raw if kind == "odd" else value


def child(node: Node, key: str) -> Node | None:
    """What stands under a key of a mapping; None for nothing, and for null, which is the same."""
    if node[0] != "map":
        return None
    found = next((value for name, _, _, value in node[3] if name == key), None)
    return None if found is None or found[0] == "null" else found


class SyntaxFault(Exception):
    """The text cannot be read as YAML or JSON at all, or must not be."""

    def __init__(
        self, line: int, column: int, message: str, hint: str = "", path: str = ""
    ) -> None:
        super().__init__(message)
        self.line, self.column, self.message = line, column, message
        self.hint, self.path = hint, path


def decode(data: bytes) -> str:
    """The text of a file of at most 1 MiB in UTF-8.

    Raises SyntaxFault.
    """
    if len(data) > MAX_BYTES:
        raise SyntaxFault(1, 1, "the file is over 1 MiB, which no recipe needs")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise SyntaxFault(*place(before, len(before)), message, "save the file as UTF-8") from None


def place(text: str, at: int) -> tuple[int, int]:
    """Line and column of a character, or of the end."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
