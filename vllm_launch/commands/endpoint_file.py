"""A file of endpoints: NAME=VALUE lines, and comments that begin with "#"."""

from __future__ import annotations

from ..errors import UsageError

_LARGEST_BYTES = 1 << 20


def lines_of(path: str, asked_by: str) -> list[tuple[int, str]]:
    """The lines that say something, with their numbers. Raises UsageError where it is no text."""
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(
            f"{asked_by}: cannot read {path}: {why}",
            hint="@FILE names a file of NAME=VALUE lines",
        ) from None
    if len(content) > _LARGEST_BYTES or "\0" in text:
        raise UsageError(f"{asked_by}: {path} is no file of NAME=VALUE lines")
    numbered = enumerate((line.strip() for line in text.splitlines()), 1)
    return [
        (number, _plain(line)) for number, line in numbered if line and not line.startswith("#")
    ]


def _plain(line: str) -> str:
    """A line without what a shell would take off: "export" before it, quotes around the value."""
    name, equals, value = line.removeprefix("export ").partition("=")
    name, value = name.strip(), value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return f"{name}{equals}{value}"
