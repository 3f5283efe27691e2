"""What a server was found to hold, for a person and for a program."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..running.smoke import Result

_WIDTH = 80
_WORDS = {True: "held", False: "FAILED", None: "-"}
_COLOURS = {True: "green", False: "bold red", None: "dim"}


def verification_text(title: str, results: Sequence[Result]) -> str:
    """A line for each test, and under one that failed what to look at."""
    from textwrap import wrap

    wide = max((len(each.test) for each in results), default=0)
    indent = " " * (wide + 10)
    lines = [title]
    for each in results:
        head = f"{_WORDS[each.held]:6}  {each.test:{wide}}  "
        lines += wrap(each.what + _took(each), _WIDTH, initial_indent=head,
                      subsequent_indent=indent) or [head.rstrip()]  # fmt: skip
        lines += wrap(each.remedy, _WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines) + "\n"


def print_verification(title: str, results: Sequence[Result], *, colour: bool) -> None:
    """The same as a table, on a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", show_edge=False)
    for name in ("", "test", "what", "seconds"):
        table.add_column(name, justify="right" if name == "seconds" else "left")
    for each in results:
        what = Text(each.what)
        if each.remedy:
            what.append(f"\n{each.remedy}", style="dim")
        word = Text(_WORDS[each.held], style=_COLOURS[each.held])
        took = f"{each.seconds:.2f}" if each.held is not None else ""
        table.add_row(word, Text(each.test), what, took)
    Console(no_color=not colour or None, highlight=False).print(table)


def _took(each: Result) -> str:
    return f"  [{each.seconds:.1f} s]" if each.seconds >= 0.05 else ""


def result_records(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Each test as plain data."""
    return [
        {
            "test": each.test,
            "held": each.held,
            "what": each.what,
            "remedy": each.remedy or None,
            "seconds": round(each.seconds, 3),
        }
        for each in results
    ]
