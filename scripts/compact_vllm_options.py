#!/usr/bin/env python3
"""Fold a directory of VERSION.json files into the one file that the launcher ships.

    compact_vllm_options.py DIRECTORY [OUTPUT]

Each VERSION.json is what collect_vllm_options.py writes. The output is text in sections. A name
stands there once, with the releases that have it: "X" all of them, "X@3-" the fourth and later
ones, "X@0-4,7" some. An option is a line of fields with "|" between: flags, kind, type, nargs,
choices, releases, releases that call it deprecated.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from textwrap import wrap
from typing import Any

from vllm_launch.vllm_options.answer import flags, nargs

OUTPUT = Path(__file__).parents[1] / "vllm_launch" / "vllm_options" / "releases.txt"
LISTS = {
    "variables": "env",
    "attention_backends": "attention_backends",
    "kv_connectors": "kv_connectors",
    "tool_parsers": "tool_parsers",
    "reasoning_parsers": "reasoning_parsers",
}
WIDTH = 100


def main(argv: list[str]) -> int:
    """Read, fold, write."""
    if len(argv) not in (1, 2):
        sys.exit(__doc__)
    paths = sorted(Path(argv[0]).glob("*.json"), key=lambda path: order(path.stem))
    if not paths:
        sys.exit(f"no VERSION.json in {argv[0]}")
    output = Path(argv[1]) if len(argv) == 2 else OUTPUT
    output.write_text(compact([json.loads(path.read_text()) for path in paths]))
    print(f"{output}: {len(paths)} releases, {output.stat().st_size} bytes")
    return 0


def order(version: str) -> tuple[int, ...]:
    """A release's place among others."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def compact(releases: list[dict[str, Any]]) -> str:
    """All releases in one text."""
    last = len(releases) - 1
    sections = {"releases": " ".join(one["vllm"] for one in releases)}
    for section, key in LISTS.items():
        sections[section] = fold([one[key] for one in releases], last)
    for name in sorted({name for one in releases for name in one["config_fields"]}):
        fields = [one["config_fields"].get(name, []) for one in releases]
        sections[f"fields:{name}"] = fold(fields, last)
    written = [f"[{section}]\n{wrapped(names)}\n" for section, names in sections.items() if names]
    rows = "\n".join(options(releases, last))
    head = "# Written by scripts/compact_vllm_options.py, which says what the marks mean.\n"
    return "\n".join([head, *written, f"[options]\n{rows}\n"])


def wrapped(names: str) -> str:
    """Names over several lines."""
    lines = wrap(names, WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def fold(names: list[list[str]], last: int) -> str:
    """Names with the releases that have them."""
    having: dict[str, list[int]] = {}
    for index, present in enumerate(names):
        for name in present:
            having.setdefault(name, []).append(index)
    return " ".join(name + span(indices, last) for name, indices in sorted(having.items()))


def span(indices: list[int], last: int) -> str:
    """Releases as "@0-4,7-", or nothing where it is all of them."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    if runs == [[0, last]]:
        return ""
    return "@" + ",".join(
        f"{first}" if first == end else f"{first}-{'' if end == last else end}"
        for first, end in runs
    )


def options(releases: list[dict[str, Any]], last: int) -> list[str]:
    """A line for each form of each option."""
    forms: dict[tuple[str, ...], dict[int, dict[str, Any]]] = {}
    for index, release in enumerate(releases):
        for option in release["options"]:
            form = (option["dest"], option["kind"], option["type"] or "", nargs(option))
            forms.setdefault(form, {})[index] = option
    return [_row(form, having, last) for form, having in sorted(forms.items())]


def _row(form: tuple[str, ...], having: dict[int, dict[str, Any]], last: int) -> str:
    _, kind, kind_of_value, words = form
    at = range(last + 1)
    choices = [(having[i]["choices"] or []) if i in having else [] for i in at]
    deprecated = [i for i in having if having[i]["deprecated"]]
    fields = [
        spelt({i: flags(option) for i, option in having.items()}, last),
        kind,
        kind_of_value,
        words,
        fold(choices, last),
        span(list(having), last),
        (span(deprecated, last) or "@0-") if deprecated else "",
    ]
    return "|".join(fields).rstrip("|")


def spelt(by_release: dict[int, list[str]], last: int) -> str:
    """An option's flags, its name first; one that not all its releases have says which do."""
    places: dict[str, list[int]] = {}
    for index, present in by_release.items():
        for flag in present:
            places.setdefault(flag, []).append(index)
    everywhere = list(by_release)
    return " ".join(
        flag + ("" if indices == everywhere else span(indices, last))
        for flag, indices in places.items()
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
