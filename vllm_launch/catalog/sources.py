"""Synced sources: how one is written, where its copy lies, and which revision holds.

A copy is made by ``recipes sync`` alone. Here it is only read, so that serving never waits for
a network: ``sources/NAME/REVISION/`` is a recipes directory, and the file ``current`` beside the
revisions says which one holds.
"""

from __future__ import annotations

import os

from ..errors import LaunchError, UsageError
from ..model.record import Record
from .files import cache_directory, read_bytes
from .library import Library, bundled

_FORM = "[NAME=]https://HOST/PATH[#PIN]"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_MAX_URL = 500
_MAX_NAME = 80


class SourceSpec(Record):
    """A source as an operator names it."""

    name: str  # its directory's
    url: str
    pin: str = ""  # the revision, branch or tag to stay at; "" follows the newest

    def __str__(self) -> str:
        return self.url


class Current(Record):
    """What a synced source holds: the file ``current``."""

    revision: str
    url: str
    kind: str = ""  # "git" or "json"
    pin: str = ""
    previous: str = ""  # the revision before; it is kept
    synced: str = ""  # when, ISO 8601 in UTC
    recipes: int = 0
    broken: int = 0  # of these, how many cannot be read


def parse(text: str) -> SourceSpec:
    """A source out of text, ``[NAME=]URL[#PIN]``. Raises ValueError with what was expected."""
    name, equals, rest = text.partition("=https://")
    url, hash_mark, pin = (f"https://{rest}" if equals else text).partition("#")
    if not is_address(url) or (equals and not is_name(name)):
        raise ValueError(_FORM)
    if "?" in url:
        raise ValueError(f"{_FORM}; what follows a ? may be a secret, and an address is kept")
    if hash_mark and not is_pin(pin):
        raise ValueError(f"{_FORM}, PIN being a commit, a branch or a tag")
    return SourceSpec(name=name if equals else name_of(url), url=url.rstrip("/"), pin=pin)


def masked(text: str) -> str:
    """A text that is no source, as it can be told: without a password and without a query."""
    head, at, rest = text.rpartition("@")
    if at and ":" in head:
        scheme, colon, _ = head.partition("://")
        text = f"{scheme}{colon}…@{rest}" if colon else f"…@{rest}"
    plain, question, _ = text.partition("?")
    return f"{plain}?…" if question else text


def is_address(url: str) -> bool:
    """Whether this is an https address, without a password and short enough to be shown."""
    host = url.removeprefix("https://").partition("/")[0]
    plain = url.isascii() and url.isprintable() and " " not in url and len(url) <= _MAX_URL
    return plain and url.startswith("https://") and _is_host(host)


def _is_host(text: str) -> bool:
    """Whether this is a host with or without a port, and nothing of a user's name or password."""
    inner, _, port = text[1:].partition("]") if text[:1] == "[" else text.partition(":")
    letters = f"{_LETTERS}.-_" + (":" if text[:1] == "[" else "")
    return bool(inner) and set(inner.lower()) <= set(letters) and set(port) <= set(":0123456789")


def is_name(text: str) -> bool:
    """Whether a text can name a source's directory; small letters, for disks that see no case."""
    within = set(text) <= set(f"{_LETTERS}.-_")
    return 0 < len(text) <= _MAX_NAME and within and text[0] in _LETTERS


def is_pin(text: str) -> bool:
    """Whether a text can be a commit, a branch or a tag, and no option of a program."""
    allowed = set(_LETTERS + _LETTERS.upper() + "._/-")
    return (
        0 < len(text) <= 200
        and set(text) <= allowed
        and text[0] not in "-/."
        and (".." not in text)
    )


def name_of(url: str) -> str:
    """The name that a source has where it was given none."""
    plain = url.removeprefix("https://").rstrip("/").removesuffix(".git").lower()
    name = "".join(char if char in _LETTERS or char == "." else "-" for char in plain)
    return name[:_MAX_NAME].strip("-.") or "source"


def directory_of(name: str) -> str:
    """Where the revisions of a source are kept. Raises UsageError without a home."""
    cache = cache_directory()
    if not os.path.isabs(cache):
        raise UsageError("there is no cache directory", hint="set HOME or XDG_CACHE_HOME")
    return os.path.join(cache, "sources", name)


def current_of(name: str) -> Current | None:
    """What a source holds; None where it was never synced, or its record cannot be read."""
    try:
        path = os.path.join(directory_of(name), "current")
        lines = read_bytes(path, path).decode().splitlines()
    except (LaunchError, UnicodeDecodeError):
        return None
    said = {key: value for key, colon, value in (line.partition(": ") for line in lines) if colon}
    if not is_name(said.get("revision", "")) or not _is_kept(said.get("url", "")):
        return None
    return Current(
        revision=said["revision"],
        url=said["url"],
        kind=said.get("kind", ""),
        pin=said.get("pin", ""),
        previous=said.get("previous", ""),
        synced=said.get("synced", ""),
        recipes=_number(said.get("recipes", "")),
        broken=_number(said.get("broken", "")),
    )


def _is_kept(url: str) -> bool:
    return is_address(url) and "?" not in url


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def no_source(text: str, error: ValueError) -> UsageError:
    """The error for a text that cannot be parsed."""
    return UsageError(f"{masked(text)!r} is no source of recipes", hint=f"write {error}")


def synced_names() -> list[str]:
    """The sources that have a copy, in alphabetical order."""
    try:
        names = sorted(os.listdir(directory_of("")))
    except (OSError, UsageError):
        return []
    return [name for name in names if is_name(name) and current_of(name) is not None]


def synced(text: str) -> Library:
    """The copy of a source. Raises UsageError where there is none, or one of another pin."""
    try:
        spec = parse(text)
    except ValueError as error:
        raise no_source(text, error) from None
    name, current = _copy_of(spec)
    if current is None:
        raise UsageError(f"{spec.url} has not been synced", hint=_sync(spec))
    if spec.pin and spec.pin != current.pin:
        at = f"at {current.pin or current.revision}"
        raise UsageError(
            f"{spec.url} is synced {at}, and {spec.pin} is asked for", hint=_sync(spec)
        )
    directory = os.path.join(directory_of(name), current.revision)
    if not os.path.isdir(os.path.join(directory, "models")):
        raise UsageError(f"the copy of {spec.url} is gone: {directory}", hint=_sync(spec))
    library = Library(directory, own=False, fallback=bundled(), source=spec.url)
    library.synced = current.revision
    return library


def kept(text: str) -> Library | None:
    """A revision of a synced source, ``NAME`` or ``NAME@REVISION``; None where no name is meant.

    A revision may be shortened; "previous" is the one before the one that holds. Raises
    UsageError where it is not kept.
    """
    name, at, asked = text.partition("@")
    current = current_of(name) if is_name(name) else None
    if current is None:
        return None
    asked = current.previous if asked == "previous" else asked if at else current.revision
    there = _revisions(name)
    found = [revision for revision in there if asked and revision.startswith(asked)]
    if len(found) != 1:
        raise UsageError(
            f"{text}: {'several revisions begin so' if found else 'this revision is not kept'}",
            hint=f"kept: {', '.join(there) or 'none'}",
        )
    library = Library(
        os.path.join(directory_of(name), found[0]), own=False, fallback=bundled(),
        source=current.url,
    )  # fmt: skip
    library.synced = found[0]
    return library


def _revisions(name: str) -> list[str]:
    """The revisions of a source that are kept whole."""
    there = directory_of(name)
    return [
        revision
        for revision in sorted(os.listdir(there))
        if is_name(revision) and os.path.isdir(os.path.join(there, revision, "models"))
    ]


def _sync(spec: SourceSpec) -> str:
    from shlex import quote

    pin = f" --pin {spec.pin}" if spec.pin else ""
    return f"vllm-launch recipes sync {quote(spec.url)}{pin}"


def _copy_of(spec: SourceSpec) -> tuple[str, Current | None]:
    """The name and state of an address's copy, whatever name it was synced under."""
    for name in (spec.name, *synced_names()):
        current = current_of(name)
        if current is not None and current.url == spec.url:
            return name, current
    return spec.name, None
