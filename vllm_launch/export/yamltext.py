"""YAML that readers of YAML 1.1 and 1.2 take alike."""

from __future__ import annotations

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# What is text to PyYAML and is none to every reader: 1e3 and 0o17 are numbers, y may be true.
_OF_NUMBERS = frozenset("0123456789abcdefABCDEFxXoO_.:+-")
_WORDS = ("y", "n", "Y", "N")


class Block(str):
    """Text of several lines that is written as it reads."""

    __slots__ = ()


def yaml_text(data: Any) -> str:
    """Data as ASCII YAML text, one value a line and keys in the order given.

    Raises UsageError for text that no UTF-8 file can hold.
    """
    return _dumped([data], explicit_start=False)


def yaml_stream(objects: Iterable[Any]) -> str:
    """Several objects in one text, ``---`` before each. Raises UsageError as yaml_text does."""
    return _dumped(objects, explicit_start=True)


def _dumped(objects: Iterable[Any], *, explicit_start: bool) -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes what any YAML reader might not take for text, and shares no nodes."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked with it
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", writable(value), _style(value))

    def block(dumper: yaml.SafeDumper, value: Block) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", writable(str(value)), "|")

    Dumper.add_representer(str, text)
    Dumper.add_representer(Block, block)
    written: str = yaml.dump_all(
        objects, Dumper=Dumper, sort_keys=False, width=1 << 30, explicit_start=explicit_start
    )
    return written


def _style(value: str) -> str | None:
    """How a text is quoted, where it is not plain for every reader."""
    if not value.isprintable():
        return '"'
    number = _OF_NUMBERS.issuperset(value) and value.lstrip("+-.")[:1].isdecimal()
    return "'" if number or value in _WORDS else None


def writable(text: str) -> str:
    """The text. Raises UsageError for NUL, and for bytes that are no UTF-8."""
    bad = next((c for c in text if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if bad is None:
        return text
    raise UsageError(
        f"{text!a}: {bad!a} is no character that the file could hold",
        hint="write words and values in UTF-8",
    )
