"""Which options, keys and variables each vLLM release has. Data, and what reads it."""

from __future__ import annotations

import os

from ..model.vllm import Option, VllmOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PATH = os.path.join(os.path.dirname(__file__), "releases.txt")
COLLECT = os.path.join(os.path.dirname(__file__), "collect.py")  # runs in a vLLM's own Python
_CHOICES = 4  # the fields of an option's line: flags, kind, type, nargs, choices, …
_RELEASES = 5
_DEPRECATED = 6


def load(path: str = _PATH) -> VllmOptions:
    """The table that scripts/compact_vllm_options.py wrote."""
    with open(path, encoding="utf-8") as file:
        sections = dict(_sections(file.read()))
    releases = tuple(sections.pop("releases").split())
    everywhere = (1 << len(releases)) - 1
    rows = sections.pop("options").splitlines()
    names = {kind: _names(text, everywhere) for kind, text in sections.items()}
    options: dict[str, tuple[Option, ...]] = {}
    for row in rows:
        _add(row, everywhere, options, names)
    return VllmOptions(releases=releases, names=names, options=options)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    for section in text.split("\n[")[1:]:
        name, _, body = section.partition("]\n")
        yield name, body


def _names(text: str, everywhere: int) -> dict[str, int]:
    """Names with their releases, "X" or "X@3-"."""
    found = {}
    for word in text.split():
        name, _, spans = word.partition("@")
        found[name] = _bits(spans, everywhere) if spans else everywhere
    return found


def _bits(spans: str, everywhere: int) -> int:
    """The set of releases that "0-4,7-" means."""
    bits = 0
    for span in spans.split(","):
        first, dash, end = span.partition("-")
        end = end or ("" if dash else first)
        upto = (2 << int(end)) - 1 if end else everywhere
        bits |= upto >> int(first) << int(first)
    return bits


def _add(
    row: str,
    everywhere: int,
    options: dict[str, tuple[Option, ...]],
    names: dict[str, dict[str, int]],
) -> None:
    """Enter one form of an option under each of its flags."""
    fields = row.split("|")
    fields += [""] * (_DEPRECATED + 1 - len(fields))
    spans, deprecated = fields[_RELEASES], fields[_DEPRECATED]
    releases = _bits(spans[1:], everywhere) if spans else everywhere
    flags = _names(fields[0], releases)
    option = Option(
        flags=tuple(flags),
        kind=fields[1],
        type=fields[2],
        nargs=fields[3],
        deprecated=_bits(deprecated[1:], everywhere) if deprecated else 0,
        releases=releases,
    )
    for flag in flags:
        options[flag] = (*options.get(flag, ()), option)
    _join(names, "flags", flags)
    if fields[_CHOICES]:
        _join(names, f"choices:{option.flags[0]}", _names(fields[_CHOICES], everywhere))


def _join(names: dict[str, dict[str, int]], kind: str, more: dict[str, int]) -> None:
    """Add the releases of names that may be there already: an option can have several forms."""
    present = names.setdefault(kind, {})
    for name, bits in more.items():
        present[name] = present.get(name, 0) | bits
