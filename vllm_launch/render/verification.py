"""What a server was found to hold, for a person and for a program."""

from __future__ import annotations

from .wrapping import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..running.smoke import Result
    from .paper import Paper

_WORDS = {True: "held", False: "FAILED", None: "-"}
_INTENDED = {True: "is", False: "DIFFERS", None: "-"}
_COLOURS = {"held": "green", "FAILED": "bold red", "DIFFERS": "yellow", "is": "green", "-": "dim"}


def verification_text(title: str, results: Sequence[Result]) -> str:
    """A line for each test, and under one that failed what to look at."""
    wide = max((len(each.test) for each in results), default=0)
    indent = " " * (wide + 11)
    lines = [title]
    for each in results:
        head = f"{_word(each):7}  {each.test:{wide}}  "
        lines += wrapped(each.what + _took(each), head, indent) or [head.rstrip()]
        lines += wrapped(each.remedy, indent)
    return "\n".join(lines) + "\n"


def print_verification(title: str, results: Sequence[Result], on: Paper) -> None:
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
        word = Text(_word(each), style=_COLOURS[_word(each)])
        took = f"{each.seconds:.2f}" if each.held is not None and not each.intent else ""
        table.add_row(word, Text(each.test), what, took)
    Console(width=on.width, highlight=False).print(table)


def _word(each: Result) -> str:
    """Whether it held; of what the server reports, whether it is as planned."""
    return (_INTENDED if each.intent else _WORDS)[each.held]


def _took(each: Result) -> str:
    return f" [{each.seconds:.0f} s]" if each.seconds >= 1 else ""


def result_records(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Each test as plain data."""
    return [
        {
            "test": each.test,
            "held": each.held,
            "kind": "intent" if each.intent else "promise",
            "what": each.what,
            "remedy": each.remedy or None,
            "seconds": round(each.seconds, 3),
        }
        for each in results
    ]
