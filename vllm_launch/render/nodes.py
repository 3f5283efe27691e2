"""Machines side by side: each thing that was compared, its values, and who has them."""

from __future__ import annotations

from .findings import finding_lines, finding_record
from .wrapping import width, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..model.finding import Finding
    from ..preflight.nodes import Compared, Node
    from .paper import Paper

_ODD = "*"


def nodes_text(
    nodes: Sequence[Node],
    rows: Sequence[Compared],
    findings: Sequence[Finding],
    on: Paper,
) -> str:
    """The table, what differs marked with a star, then the findings."""
    cells = [cell for row in rows for cell in _cells(nodes, row)]
    table = _rich(cells, on) if on.styled else _plain(cells)
    lines = [line for finding in findings for line in finding_lines(finding)]
    counts = {s: sum(f.severity == s for f in findings) for s in ("fail", "warn", "note")}
    words = [f"{counts[s]} {word}" for s, word in
             (("fail", "failed"), ("warn", "warned"), ("note", "noted")) if counts[s]]  # fmt: skip
    last = f"{len(nodes)} nodes: {', '.join(words) or 'alike'}"
    return table + "\n" + "\n".join([*lines, last]) + "\n"


def _cells(nodes: Sequence[Node], row: Compared) -> Iterator[tuple[str, str, str, str]]:
    """A thing's values, the usual one first: its name, a mark, the value, who has it."""
    who: dict[str, list[str]] = {}
    for node, value in zip(nodes, row.values, strict=True):
        who.setdefault(value, []).append(node.name)
    odd = {row.values[at] for at in row.odd}
    values = sorted(who, key=lambda value: value in odd)
    for number, value in enumerate(values):
        yield (
            "" if number else row.what,
            _ODD if value in odd else "",
            value or "none",
            "all" if len(who[value]) == len(nodes) else ", ".join(who[value]),
        )


def _plain(cells: Sequence[tuple[str, str, str, str]]) -> str:
    first, third = (max((len(cell[at]) for cell in cells), default=0) for at in (0, 2))
    third, most = min(third, 40), width()
    lines = []
    for what, mark, value, who in cells:
        head = f"{what:{first}} {mark:1} {value:{third}}  "
        line = (head + who).rstrip()
        fits = len(line) <= most
        lines += [line] if fits else wrapped(line, "", " " * min(len(head), most * 3 // 5))
    return "\n".join(lines) + "\n"


def _rich(cells: Sequence[tuple[str, str, str, str]], on: Paper) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("", "", "value", "nodes"):
        table.add_column(heading, overflow="fold")
    for what, mark, value, who in cells:
        style = "bold red" if mark else ""
        table.add_row(
            Text(what, "bold"), Text(mark, style), Text(value, style), Text(who, style)
        )  # fmt: skip
    stream = StringIO()
    Console(file=stream, force_terminal=True, width=on.width).print(table)
    return stream.getvalue()


def nodes_record(
    nodes: Sequence[Node],
    rows: Sequence[Compared],
    findings: Sequence[Finding],
    processes: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The same for programs."""
    return {
        "nodes": [node.name for node in nodes],
        "compared": [
            {
                "what": row.what,
                "values": list(row.values),
                "usual": row.usual if row.alike else None,
                "differing": [nodes[at].name for at in row.odd],
            }
            for row in rows
        ],
        "findings": [finding_record(finding) for finding in findings],
        "processes": list(processes),
    }
