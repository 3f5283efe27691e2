"""YAML that readers of YAML 1.1 and 1.2 take alike."""

from __future__ import annotations

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NUMBERS_BEGIN = frozenset("0123456789+.")


def yaml_text(data: Any) -> str:
    """Data as ASCII YAML text, one value a line and keys in the order given.

    Raises UsageError for text that no UTF-8 file can hold.
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - asked with it
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", writable(value), _style(value))

    Dumper.add_representer(str, text)
    written: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, width=1 << 30)
    return written


def _style(value: str) -> str | None:
    """How a text is quoted, where it is not plain for every reader."""
    if not value.isprintable():
        return '"'
    # YAML 1.2 has numbers, such as 0o17 and 1e3, that are text in 1.1; 1.1 has y and n.
    doubtful = len(value) == 1 or value.lstrip("-")[:1] in _NUMBERS_BEGIN
    return "'" if doubtful and value.isascii() else None


def writable(text: str) -> str:
    """The text. Raises UsageError for NUL, and for bytes that are no UTF-8."""
    bad = next((c for c in text if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if bad is None:
        return text
    raise UsageError(
        f"{text!a}: {bad!a} is no character that the file could hold",
        hint="write words and values in UTF-8",
    )
