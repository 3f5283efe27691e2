"""What a file says, taken apart: lists of arguments, blocks of variables, with every place."""

from __future__ import annotations

from ..catalog import recipe_kinds
from ..catalog.kinds import SHAPES, arguments, variables, word
from ..catalog.places import places
from ..catalog.reading import ABSENT, Reading
from ..catalog.tree import plain
from ..model.deployment import ProcessPlan
from ..model.record import Record
from ..model.source import paired
from ..preflight.plan import Given
from ..preflight.plan import arguments as read_arguments
from .fault import Edit, Spot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..catalog.reading import Reader
    from ..catalog.tree import Node
    from ..model.source import Arguments


class Word(Record):
    """One element of a list, with its place."""

    text: str
    spot: Spot

    def replaced(self, *words: str) -> Edit:
        """The edit that puts other words in its place."""
        at = self.spot
        return Edit(file=at.file, line=at.line, column=at.column, word=self.text, words=words)


class Written(Record):
    """One argument, and the words that it is written with."""

    given: Given
    words: tuple[Word, ...]

    @property
    def spot(self) -> Spot:
        """Its place."""
        assert isinstance(self.given.source, Spot)
        return self.given.source


class Block(Record):
    """One list of arguments or block of variables."""

    path: str
    spot: Spot
    arguments: tuple[Written, ...] = ()
    variables: tuple[tuple[str, str, Spot], ...] = ()
    removed: tuple[tuple[str, Spot], ...] = ()  # flags that a preset takes away
    merged: bool = False  # values are merged into others' JSON

    @property
    def process(self) -> ProcessPlan:
        """The arguments as a process of their own, as checks read them."""
        return _process(
            tuple(
                (one.given.written, (one.given.written, *one.given.values), one.spot)
                if one.given.flag
                else ("", one.given.values, one.spot)
                for one in self.arguments
            )
        )


def _process(pairs: Arguments) -> ProcessPlan:
    return ProcessPlan(
        role="", rank=0, model="", arguments=pairs, layers=(), variables=(), variable_layers=()
    )


def blocks(root: Node, reader: Reader, file: str) -> Iterator[Block]:
    """Every list of arguments and block of variables in a file, overlays laid over it included."""
    here = Reading(file, own=False)
    for reads, node, path in places(root, reader):
        spot = _spot(here, node, path)
        if reads is arguments and node[0] == "list":
            yield Block(path=path, spot=spot, arguments=tuple(_written(node, path, here)))
        elif reads is variables and node[0] == "map":
            yield Block(path=path, spot=spot, variables=tuple(_variables(node, path, here)))
        elif reads is recipe_kinds.json_arguments and node[0] == "map":
            given = tuple(_merged(node, path, here))
            yield Block(path=path, spot=spot, arguments=given, merged=True)
        elif reads is recipe_kinds.flags and node[0] == "list":
            removed = tuple(
                (child[3], _spot(here, child, f"{path}[{i}]"))
                for i, child in enumerate(node[3])
                if child[0] == "text"
            )
            yield Block(path=path, spot=spot, removed=removed)


def _spot(here: Reading, node: Node, path: str, index: int = 0) -> Spot:
    return Spot(layer=path, file=here.file_of(node), line=int(node[1]), column=node[2], index=index)


def images(root: Node, reader: Reader, file: str) -> Iterator[tuple[str, Spot]]:
    """Every image that a file names."""
    here = Reading(file, own=False)
    for reads, node, path in places(root, reader):
        if SHAPES.get(reads, ("",))[0] in ("images", "image or"):
            yield from _images(node, path, here)


def _images(node: Node, path: str, here: Reading) -> Iterator[tuple[str, Spot]]:
    if node[0] == "map":
        for key, _, _, child in node[3]:
            yield from _images(child, f"{path}.{key}", here)
    elif node[0] == "text":
        yield node[3], _spot(here, node, path)


def _written(node: Node, path: str, here: Reading) -> Iterator[Written]:
    """A list's arguments, read as vLLM's parser would."""
    words: list[Word] = []
    for i, child in enumerate(node[3]):
        text = word(child, path, here)  # a fault in it is told by reading the file
        if text is not ABSENT:
            words.append(Word(text=text, spot=_spot(here, child, f"{path}[{i}]", len(words))))
    found = read_arguments(_process(paired([(one.text, one.spot) for one in words])))
    starts = [one.source.index for one in found if isinstance(one.source, Spot)]
    ends = (*starts[1:], len(words))
    for given, start, end in zip(found, starts, ends, strict=False):
        yield Written(given=given, words=tuple(words[start:end]))


def _variables(node: Node, path: str, here: Reading) -> Iterator[tuple[str, str, Spot]]:
    for key, line, column, child in node[3]:
        below = f"{path}.{key}"
        value = word(child, below, here)
        if child[0] != "null" and value is not ABSENT:
            yield key, value, _spot(here, ("text", line, column, key, ""), below)


def _merged(node: Node, path: str, here: Reading) -> Iterator[Written]:
    """JSON that is merged into a flag's: as if the flag were given with it."""
    import json

    for key, line, column, child in node[3]:
        if child[0] != "map":
            continue
        spot = _spot(here, ("text", line, column, key, ""), f"{path}.{key}")
        text = json.dumps(_without_nulls(plain(child)))
        given = Given(flag=key, key="", written=key, values=(text,), source=spot)
        yield Written(given=given, words=(Word(text=key, spot=spot),))


def _without_nulls(value: Any) -> Any:
    """A mapping without the keys that are taken away."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(each) for key, each in value.items() if each is not None}
