"""Recipes as a list, for people and for programs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..model.entry import Entry
    from .paper import Paper

_HEADINGS = ("RECIPE", "PARAMS", "VARIANTS", "SOURCE")


def list_text(
    entries: Sequence[Entry], fitting: Mapping[str, Sequence[str]] | None, paper: Paper
) -> str:
    """One recipe a line: its id, size and variants, and its source where there are several.

    ``fitting`` are the variants to name, by recipe, where not all are meant. On a terminal there
    are headings, and no line is longer than that is wide.
    """
    if not entries:
        return ""
    rows = [_row(entry, fitting) for entry in entries]
    if len({entry.source for entry in entries}) < 2:
        rows = [row[:3] for row in rows]
    if paper.is_terminal:
        rows.insert(0, _HEADINGS[: len(rows[0])])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_line(row, widths) for row in rows]
    if paper.is_terminal:
        lines = [_cut(line, paper.width) for line in lines]
        lines[0] = paper.heading(lines[0])
    return "\n".join(lines) + "\n"


def _row(entry: Entry, fitting: Mapping[str, Sequence[str]] | None) -> tuple[str, ...]:
    names = fitting[entry.id] if fitting is not None else [v.id for v in entry.variants]
    return entry.id, entry.parameter_count, ", ".join(names), entry.source


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)]
    cells[1] = f"{row[1]:>{widths[1]}}"
    return "  ".join(cells).rstrip()


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def list_record(
    entries: Sequence[Entry], fitting: Mapping[str, Sequence[str]] | None
) -> list[dict[str, Any]]:
    """The same for programs."""
    records = []
    for entry in entries:
        record: dict[str, Any] = {
            "id": entry.id,
            "title": entry.title,
            "provider": entry.provider,
            "tasks": list(entry.tasks),
            "parameter_count": entry.parameter_count,
            "active_parameters": entry.active_parameters or None,
            "context_length": entry.context_length,
            "variants": [variant.id for variant in entry.variants],
            "checkpoints": {variant.id: variant.checkpoint for variant in entry.variants},
            "hardware": dict(entry.hardware),
            "source": entry.source,
        }
        if fitting is not None:
            record["fits"] = list(fitting[entry.id])
        records.append(record)
    return records
