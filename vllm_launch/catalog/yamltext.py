"""YAML text to a tree, with every place kept and every YAML 1.1 surprise named."""

from __future__ import annotations

import yaml

from .characters import bad_key, refused, unreadable
from .tree import MAX_BYTES, MAX_DEPTH, MAX_NODES, TOO_DEEP, TOO_MANY, SyntaxFault, decode, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from .tree import Node

    Wanted: TypeAlias = Mapping[str, Any]
    _Safe: TypeAlias = yaml.SafeLoader
else:
    _Safe = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_YAML = "tag:yaml.org,2002:"
_TEXT = f"{_YAML}str"
# What a number, a date or any other plain word that is no text begins with; "" is nothing at all.
_NO_TEXT = frozenset(_Safe.yaml_implicit_resolvers)
_BOOLEANS = {"true": True, "false": False}
_NULLS = ("", "~", "null", "Null", "NULL")
_NAMES = {
    "null": "nothing",
    "bool": "a boolean",
    "float": "a number",
    "date": "a date",
}
_ODD = {
    "bool": "a boolean",
    "int": "a number in another notation",
    "float": "a number in another notation",
    "merge": "a merge mark",
    "value": "a default mark",
}


class _Loader(_Safe):
    """The safe loader, which need not think about most of what is text: a third of its time."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node: as the safe loader has it, sooner."""
        if kind is yaml.ScalarNode and not (implicit[0] and value[:1] in _NO_TEXT):
            return _TEXT
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]


def parse(data: bytes, faults: list[SyntaxFault], only: Wanted | None = None) -> Node:
    """Read one YAML document; ``faults`` collects what can be read past, such as duplicate keys.

    ``only`` leaves out what nobody asks for: the keys that are wanted, each with those below it,
    "*" being any key and None everything.

    Raises SyntaxFault for what cannot: not UTF-8, too large, not YAML, several documents,
    nesting or aliases without end.
    """
    text = decode(data)
    bad = unreadable(text)
    if bad is not None:
        at, message = bad
        raise SyntaxFault(*place(text, at), message)
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text) from None
    except RecursionError:
        raise SyntaxFault(1, 1, TOO_DEEP) from None
    if root is None:
        raise SyntaxFault(1, 1, "the file is empty")
    if only is not None:
        _prune(root, only)
    return _Converter(faults).convert(root, "", 0)


def _prune(node: yaml.Node, wanted: Wanted) -> None:
    """Take the keys out of a mapping that are not wanted."""
    if not isinstance(node, yaml.MappingNode):
        return
    every = "*" in wanted
    node.value = [entry for entry in node.value if every or entry[0].value in wanted]
    for key, value in node.value:
        below = wanted.get("*" if every else key.value)
        if below is not None:
            _prune(value, below)


def _not_yaml(error: yaml.MarkedYAMLError, text: str) -> SyntaxFault:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    if error.problem == "exceeded maximum nesting depth":
        return SyntaxFault(line, column, TOO_DEEP)
    message = " ".join(part for part in (error.context, error.problem) if part)
    tab = mark is not None and text[mark.index : mark.index + 1] == "\t"
    hint = "indent with spaces, not tabs" if tab else ""
    return SyntaxFault(line, column, f"not valid YAML: {message}", hint)


def _is_plain_integer(raw: str) -> bool:
    return len(raw) < 20 and raw.lstrip("+-").isdecimal() and str(int(raw)) == raw


def _is_plain_float(raw: str) -> bool:
    """Whether a number is written in digits, and is one that can be counted with."""
    try:
        return "_" not in raw and raw.isascii() and abs(float(raw)) < float("inf")
    except ValueError:
        return False


class _Converter:
    """Turns the parser's nodes into tree nodes, counting them as aliases are expanded."""

    def __init__(self, faults: list[SyntaxFault]) -> None:
        self.count = 0
        self.characters = 0
        self.faults = faults

    def convert(self, node: yaml.Node, path: str, depth: int) -> Node:
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        self.count += 1
        if self.count > MAX_NODES:
            raise SyntaxFault(line, column, TOO_MANY, path=path)
        if depth > MAX_DEPTH:
            raise SyntaxFault(line, column, TOO_DEEP, path=path)
        if isinstance(node, yaml.MappingNode):
            self.check_tag(node, "map", path)
            return ("map", line, column, self.entries(node, path, depth), "")
        if isinstance(node, yaml.SequenceNode):
            self.check_tag(node, "seq", path)
            children = tuple(
                self.convert(child, f"{path}[{i}]", depth + 1) for i, child in enumerate(node.value)
            )
            return ("list", line, column, children, "")
        assert isinstance(node, yaml.ScalarNode)
        return self.scalar(node, path)

    def check_tag(self, node: yaml.Node, expected: str, path: str) -> None:
        if node.tag != _YAML + expected:
            shown = node.tag.replace(_YAML, "!!", 1)
            self.fault(node, path, f"the tag {shown!r} is not part of the format", "remove it")

    def entries(
        self, node: yaml.MappingNode, path: str, depth: int
    ) -> tuple[tuple[str, int, int, Node], ...]:
        found: dict[str, tuple[str, int, int, Node]] = {}
        for key_node, value_node in node.value:
            line, column = key_node.start_mark.line + 1, key_node.start_mark.column + 1
            key = self.key(key_node, path)
            if key is None:
                continue
            if key in found:
                self.fault(
                    key_node,
                    path,
                    f"duplicate key {key!r}; the first is on line {found[key][1]}",
                    "keep one of the two",
                )
                continue
            below = f"{path}.{key}" if path else key
            found[key] = (key, line, column, self.convert(value_node, below, depth + 1))
        return tuple(found.values())

    def key(self, node: yaml.Node, path: str) -> str | None:
        """A mapping's key as text; None, with a fault, for one that YAML reads otherwise."""
        if not isinstance(node, yaml.ScalarNode):
            self.fault(node, path, "a key must be text, not a list or a mapping")
            return None
        kind, _, _, value, raw = self.scalar(node, path)
        if kind in ("text", "int"):
            key = raw or str(value)
            message = bad_key(key)
            if message:
                self.fault(node, path, message)
            return None if message or refused(key) else key
        if raw == "<<":
            message = "merge keys (<<) are not part of the format"
            self.fault(node, path, message, "write the keys out")
        elif not raw:
            self.fault(node, path, "a key must be text, not nothing")
        else:
            read_as = value if kind == "odd" else _NAMES[kind]
            self.fault(node, path, f"YAML reads the key {raw} as {read_as}", f'write "{raw}"')
        return None

    def scalar(self, node: yaml.ScalarNode, path: str) -> Node:
        """One scalar, by the tag that YAML resolves it to."""
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        tag, raw = node.tag.removeprefix(_YAML), node.value
        self.characters += len(raw)
        if self.characters > MAX_BYTES:
            message = f"aliases expand to over {MAX_BYTES} characters"
            raise SyntaxFault(line, column, message, path=path)
        message = refused(raw)
        if message:
            self.fault(node, path, message, "remove it")
            return ("text", line, column, raw, "")
        if tag == "null" and raw in _NULLS:
            return ("null", line, column, None, raw)
        if tag == "timestamp":
            return ("date", line, column, raw, raw)
        if tag == "bool" and raw.lower() in _BOOLEANS:
            return ("bool", line, column, _BOOLEANS[raw.lower()], raw)
        if tag == "int" and _is_plain_integer(raw):
            return ("int", line, column, int(raw), raw)
        if tag == "float" and _is_plain_float(raw):
            return ("float", line, column, float(raw), raw)
        if tag in _ODD:
            return ("odd", line, column, _ODD[tag], raw)
        self.check_tag(node, "str", path)
        return ("text", line, column, raw, "")

    def fault(self, node: yaml.Node, path: str, message: str, hint: str = "") -> None:
        mark = node.start_mark
        self.faults.append(SyntaxFault(mark.line + 1, mark.column + 1, message, hint, path))
