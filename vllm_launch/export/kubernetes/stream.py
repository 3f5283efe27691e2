"""Objects as a YAML stream that every YAML reader takes for the same."""

from __future__ import annotations

from ...errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

# Kubernetes reads YAML with rules of its own: 1e3 is a number there, y may be a truth value.
_OF_NUMBERS = frozenset("0123456789abcdefABCDEFxXoO_.:+-")
_WORDS = ("y", "n", "Y", "N")


class Block(str):
    """Text of several lines that is written as it reads."""

    __slots__ = ()


def stream(objects: Sequence[Any]) -> str:
    """The objects with ``---`` before each, in ASCII: no reader breaks lines elsewhere.

    Raises UsageError for text that no process could be handed.
    """
    import yaml

    for text in _texts(objects):
        _refuse_unwritable(text)

    class Dumper(yaml.SafeDumper):
        """Quotes what any YAML reader might not take for text, and shares no nodes."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked with it
            return True

    def plain(dumper: Dumper, value: str) -> yaml.ScalarNode:
        style = "'" if _is_doubtful(value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def block(dumper: Dumper, value: Block) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", str(value), style="|")

    Dumper.add_representer(str, plain)
    Dumper.add_representer(Block, block)
    return yaml.dump_all(
        objects, Dumper=Dumper, sort_keys=False, explicit_start=True, width=1 << 30
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _refuse_unwritable(text: str) -> None:
    """Raise UsageError for a NUL character, and for bytes that are no UTF-8."""
    bad = next((c for c in text if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if bad is not None:
        raise UsageError(
            f"{text!a}: {bad!a} is no character that Kubernetes can hand on",
            hint="write the words of the command in UTF-8",
        )


def _is_doubtful(value: str) -> bool:
    if value in _WORDS:
        return True
    return _OF_NUMBERS.issuperset(value) and value.lstrip("+-.")[:1].isdecimal()
