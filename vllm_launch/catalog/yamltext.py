"""YAML text to a tree, with every place kept and every YAML 1.1 surprise named."""

from __future__ import annotations

import yaml

from .tree import MAX_DEPTH, MAX_NODES, SyntaxFault, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .tree import Node

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS = {"true": True, "false": False}
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


def parse(data: bytes, faults: list[SyntaxFault]) -> Node:
    """Read one YAML document; ``faults`` collects what can be read past, such as duplicate keys.

    Raises SyntaxFault for what cannot: not UTF-8, too large, not YAML, several documents,
    nesting or aliases without end.
    """
    text = decode(data)
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise SyntaxFault(line, column, f"not valid YAML: {message}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise SyntaxFault(
            line, 1, f"character U+{ord(text[error.position]):04X} is not allowed in YAML"
        ) from None
    except RecursionError:
        raise SyntaxFault(1, 1, f"nested more than {MAX_DEPTH} levels deep") from None
    if root is None:
        raise SyntaxFault(1, 1, "the file is empty")
    return _Converter(faults).convert(root, "", 0)


def _is_plain_integer(raw: str) -> bool:
    return len(raw) < 20 and raw.lstrip("+-").isdecimal() and str(int(raw)) == raw


class _Converter:
    """Turns the parser's nodes into tree nodes, counting them as aliases are expanded."""

    def __init__(self, faults: list[SyntaxFault]) -> None:
        self.count = 0
        self.faults = faults

    def convert(self, node: yaml.Node, path: str, depth: int) -> Node:
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        self.count += 1
        if self.count > MAX_NODES:
            raise SyntaxFault(line, column, f"aliases expand to over {MAX_NODES} values", path=path)
        if depth > MAX_DEPTH:
            raise SyntaxFault(line, column, f"nested more than {MAX_DEPTH} levels deep", path=path)
        if isinstance(node, yaml.MappingNode):
            return ("map", line, column, self.entries(node, path, depth), "")
        if isinstance(node, yaml.SequenceNode):
            children = tuple(
                self.convert(child, f"{path}[{i}]", depth + 1) for i, child in enumerate(node.value)
            )
            return ("list", line, column, children, "")
        assert isinstance(node, yaml.ScalarNode)
        return self.scalar(node, path)

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
            return raw or str(value)
        if raw == "<<":
            message = "merge keys (<<) are not part of the format"
            self.fault(node, path, message, "write the keys out")
            return None
        read_as = value if kind == "odd" else _NAMES[kind]
        self.fault(node, path, f"YAML reads the key {raw} as {read_as}", f'write "{raw}"')
        return None

    def scalar(self, node: yaml.ScalarNode, path: str) -> Node:
        """One scalar, by the tag that YAML resolves it to."""
        line, column = node.start_mark.line + 1, node.start_mark.column + 1
        tag, raw = node.tag.removeprefix("tag:yaml.org,2002:"), node.value
        if tag == "str":
            return ("text", line, column, raw, "")
        if tag == "null":
            return ("null", line, column, None, raw)
        if tag == "timestamp":
            return ("date", line, column, raw, raw)
        if tag == "bool" and raw.lower() in _WORDS:
            return ("bool", line, column, _WORDS[raw.lower()], raw)
        if tag == "int" and _is_plain_integer(raw):
            return ("int", line, column, int(raw), raw)
        if tag == "float" and not (":" in raw or "_" in raw or raw.lstrip("+-.").isalpha()):
            return ("float", line, column, float(raw), raw)
        if tag not in _ODD:
            self.fault(node, path, f"the tag {node.tag} is not part of the format", "remove it")
        return ("odd", line, column, _ODD.get(tag, "something else"), raw)

    def fault(self, node: yaml.Node, path: str, message: str, hint: str = "") -> None:
        mark = node.start_mark
        self.faults.append(SyntaxFault(mark.line + 1, mark.column + 1, message, hint, path))
