"""Readers of values: a node in, a checked value out, every fault noted on the way.

A reader never raises for what a file says: it notes the fault and returns ``ABSENT``, so
that one pass finds them all. ``table`` builds a record from a mapping: its keyword
arguments are the format, key by key.
"""

from __future__ import annotations

from ..model.image import holds_login
from ..model.secrets import is_secret, secret_among, secret_in
from ..model.source import paired
from .reading import ABSENT, in_quotes, mismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..model.record import Record
    from ..model.source import Source
    from .reading import Reader, Reading
    from .tree import Node

# What composed readers are made of, for who looks at the format itself: a form and its parts.
SHAPES: dict[Any, tuple[Any, ...]] = {}

# Beyond any machine, and few enough to be counted through.
MOST = 100_000

_RUNS = frozenset("\"'`|;&<>()!*\\")
_NAME = 'a name of letters, digits, ".", "_" and "-" that begins with a letter or digit'


def text(node: Node, path: str, reading: Reading) -> Any:
    """Text. What YAML reads as a number, date or boolean is refused, not guessed at."""
    if node[0] != "text":
        return mismatch(node, path, reading, "text", in_quotes(node))
    return node[3]


def one_line(node: Node, path: str, reading: Reading) -> Any:
    """Text to be told on a line of ours, and so on one line itself."""
    value = text(node, path, reading)
    return " ".join(value.split()) if value is not ABSENT and "\n" in value else value


def name(node: Node, path: str, reading: Reading) -> Any:
    """A name that is typed, and part of commands and paths: it is no option and leads nowhere."""
    value = text(node, path, reading)
    if value is not ABSENT and not _is_name(value):
        return mismatch(node, path, reading, _NAME)
    return value


def _is_name(text: str) -> bool:
    body = text.translate({ord("."): "a", ord("_"): "a", ord("-"): "a"})
    return body.isalnum() and text.isascii() and text[0].isalnum()


def file_name(node: Node, path: str, reading: Reading) -> Any:
    """The name that the file itself has."""
    value = name(node, path, reading)
    if value is not ABSENT and value != reading.key:
        return mismatch(node, path, reading, f"{reading.key!r}, as the file is named")
    return value


def checkpoint(node: Node, path: str, reading: Reading) -> Any:
    """What a server loads: a repository, a directory or an address, but no option.

    It stands in commands that are told, so nothing is in it that has a shell run something.
    """
    value = text(node, path, reading)
    if value is ABSENT:
        return value
    odd = not value or value[0] == "-" or value.split() != [value] or ".." in value.split("/")
    if odd or not _RUNS.isdisjoint(value):
        return mismatch(node, path, reading, "a checkpoint, such as org/repo")
    return value


def image(node: Node, path: str, reading: Reading) -> Any:
    """A container image. Whether it is a good reference is seen where it would be used."""
    value = text(node, path, reading)
    if value is not ABSENT and (not value or value[0] == "-"):
        return mismatch(node, path, reading, "a container image")
    if value is not ABSENT and holds_login(value):
        _secret(node, path, reading, "what stands before the @")
    return value


def flag(node: Node, path: str, reading: Reading) -> Any:
    """A command-line flag without its value."""
    value = text(node, path, reading)
    if value is not ABSENT and not (value.startswith("-") and value.split() == [value]):
        return mismatch(node, path, reading, "a flag, such as --max-num-seqs")
    return value


def command(node: Node, path: str, reading: Reading) -> Any:
    """A shell command, without the line end that a YAML block leaves behind it."""
    value = text(node, path, reading)
    if value is ABSENT:
        return value
    found = secret_among(value.replace("\\\n", " ").split(), in_shell=True)
    if found:
        _secret(node, path, reading, found)
    return value.rstrip("\n")


def date(node: Node, path: str, reading: Reading) -> Any:
    """A date as text; YAML's own date is taken as it is written."""
    return node[4] if node[0] == "date" else text(node, path, reading)


def integer(node: Node, path: str, reading: Reading) -> Any:
    """A whole number of any size."""
    if node[0] != "int":
        return mismatch(node, path, reading, "a whole number")
    return node[3]


def count(node: Node, path: str, reading: Reading) -> Any:
    """How many there are of something."""
    if node[0] != "int" or not 1 <= node[3] <= MOST:
        return mismatch(node, path, reading, f"a whole number from 1 to {MOST}")
    return node[3]


def number_from(least: int) -> Reader:
    """A number, with or without a fraction."""

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] not in ("int", "float") or not least <= node[3] <= MOST:
            return mismatch(node, path, reading, f"a number from {least} to {MOST}")
        return node[3]

    SHAPES[read] = ("number", least)
    return read


def boolean(node: Node, path: str, reading: Reading) -> Any:
    """True or false, as YAML 1.2 writes them."""
    if node[0] != "bool":
        return mismatch(node, path, reading, "true or false")
    return node[3]


def data(node: Node, path: str, reading: Reading) -> Any:
    """Anything, kept as it is, where it is clear what it is."""
    from .tree import plain

    _refuse_odd(node, path, reading)
    return plain(node)


def mapping(node: Node, path: str, reading: Reading) -> Any:
    """A mapping to anything, kept as it is."""
    if node[0] != "map":
        return mismatch(node, path, reading, "a mapping")
    return data(node, path, reading)


def _refuse_odd(node: Node, path: str, reading: Reading) -> None:
    kind, _, _, value, _ = node
    if kind == "odd":
        mismatch(node, path, reading, "a plain value", in_quotes(node))
    elif kind == "map":
        for key, _, _, child in value:
            _refuse_odd(child, f"{path}.{key}", reading)
    elif kind == "list":
        for i, child in enumerate(value):
            _refuse_odd(child, f"{path}[{i}]", reading)


def word(node: Node, path: str, reading: Reading) -> Any:
    """One token of a command or environment, always text in the end.

    A plain scalar that is its own canonical text (``128``, ``true``) is taken as written;
    one that is not (``0.30``, ``no``) could mean two things and is refused.
    """
    kind, _, _, value, raw = node
    if kind == "int" or (kind == "bool" and raw in ("true", "false")):
        return raw
    if kind == "float" and repr(value) == raw:
        return raw
    return text(node, path, reading)


def listed(reader: Reader) -> Reader:
    """A list of what ``reader`` reads, as a tuple."""

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] != "list":
            return mismatch(node, path, reading, "a list")
        values = [reader(child, f"{path}[{i}]", reading) for i, child in enumerate(node[3])]
        return tuple(value for value in values if value is not ABSENT)

    SHAPES[read] = ("list", reader)
    return read


def one_or_listed(reader: Reader) -> Reader:
    """One of what ``reader`` reads, or a list of them, as a tuple."""
    many = listed(reader)

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] == "list":
            return many(node, path, reading)
        value = reader(node, path, reading)
        return ABSENT if value is ABSENT else (value,)

    SHAPES[read] = ("one or listed", reader)
    return read


def keyed(reader: Reader) -> Reader:
    """A mapping from any key to what ``reader`` reads."""

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] != "map":
            return mismatch(node, path, reading, "a mapping")
        values = {}
        for key, _, _, child in node[3]:
            if child[0] != "null":
                reading.key = key
                value = reader(child, f"{path}.{key}", reading)
                if value is not ABSENT:
                    values[key] = value
        return values

    SHAPES[read] = ("keyed", reader)
    return read


def named(reader: Reader) -> Reader:
    """``keyed`` by names."""
    read_all = keyed(reader)

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] == "map":
            for key, line, column, _ in node[3]:
                name(("text", line, column, key, ""), f"{path}.{key}", reading)
        return read_all(node, path, reading)

    SHAPES[read] = ("named", reader)
    return read


def one_of(*words: str) -> Reader:
    """One of some words."""

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] == "text" and node[3] in words:
            return node[3]
        hint = reading.closest(node[3], words) if node[0] == "text" else ""
        return mismatch(node, path, reading, " or ".join(words), hint)

    SHAPES[read] = ("words", words)
    return read


def arguments(node: Node, path: str, reading: Reading) -> Any:
    """A list of command-line tokens, as flags with their values and the place of each."""
    if node[0] != "list":
        return mismatch(node, path, reading, "a list of arguments")
    tokens = []
    for i, child in enumerate(node[3]):
        token = word(child, f"{path}[{i}]", reading)
        if token is not ABSENT:
            tokens.append((token, reading.source(child, path)))
    found = secret_among([token for token, _ in tokens])
    if found:
        _secret(node, path, reading, found)
    return paired(tokens)


def variables(node: Node, path: str, reading: Reading) -> Any:
    """Environment variables, each with its place."""
    if node[0] != "map":
        return mismatch(node, path, reading, "a mapping from variable names to values")
    found: list[tuple[str, str, Source]] = []
    for key, line, column, child in node[3]:
        below = f"{path}.{key}"
        if not key.replace("_", "a").isalnum() or not key.isascii() or key[0].isdigit():
            place: Node = ("text", line, column, key, "")
            mismatch(place, below, reading, "the name of a variable")
        elif child[0] != "null":
            value = word(child, below, reading)
            if value is not ABSENT:
                place = ("text", line, column, key, "")
                if (value and value[0] != "$" and is_secret(key)) or secret_in(value):
                    _secret(place, below, reading, f"the value of {key}")
                found.append((key, value, reading.source(place, path)))
    return tuple(found)


def _secret(node: Node, path: str, reading: Reading, what: str) -> None:
    """Note a secret: who may read a recipe may read it, and a plan is printed and kept."""
    hint = "leave it out, export it, and hand it on by name: -e NAME"
    reading.problem(node, path, f"{what} is a secret, and a recipe holds none", hint)


def table(
    record: type[Record],
    shared: Mapping[str, Reader] | None = None,
    *,
    required: tuple[str, ...] = (),
    ignored: tuple[str, ...] = (),
    placed: tuple[str, ...] = (),
    **keys: Reader,
) -> Reader:
    """A mapping with known keys, as a record.

    A record's ``id`` is the key that it stands under, its ``where`` the mapping's place.
    ``shared`` are more keys; ``ignored`` ones may stand there and mean nothing here; the places of
    ``placed`` ones, and of the keys below them, are the record's ``places``.
    """
    keys.update(shared or {})
    takes_id = "id" in record._fields and "id" not in keys
    takes_where = "where" in record._fields

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] != "map":
            return mismatch(node, path, reading, "a mapping")
        values: dict[str, Any] = {"id": reading.key} if takes_id else {}
        for key, line, column, child in node[3]:
            reader = keys.get(key)
            below = f"{path}.{key}" if path else key
            if reader is None:
                if key not in ignored:
                    reading.unknown_key(("text", line, column, key, ""), below, keys)
            elif child[0] != "null":
                value = reader(child, below, reading)
                if value is not ABSENT:
                    values[key] = value
        missing = [key for key in required if key not in values]
        if missing:
            return _missing(node, path, reading, missing)
        if takes_where:
            values["where"] = reading.source(node, path)
        if placed:
            values["places"] = tuple(_places(node, path, reading, placed))
        return record(**values)

    SHAPES[read] = ("table", keys, required, ignored, record)
    return read


def _places(
    node: Node, path: str, reading: Reading, keys: Sequence[str]
) -> Iterator[tuple[str, Source]]:
    for key, line, column, child in node[3]:
        if key in keys and child[0] != "null":
            yield key, reading.source(("text", line, column, key, ""), f"{path}.{key}")
            for inner, at, beside, value in child[3] if child[0] == "map" else ():
                if value[0] != "null":
                    below = f"{key}.{inner}"
                    place: Node = ("text", at, beside, inner, "")
                    yield below, reading.source(place, f"{path}.{below}")


def _missing(node: Node, path: str, reading: Reading, keys: list[str]) -> Any:
    present = {key: child for key, _, _, child in node[3]}
    for key in keys:
        child = present.get(key)
        if child is None or child[0] == "null":
            reading.problem(node, path, f"the key {key!r} is missing")
    return ABSENT
