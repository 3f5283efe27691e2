"""What --help shows of a command: how it is called, examples to copy, its options by subject."""

from __future__ import annotations

from typer.core import TyperCommand

from .options import COMMANDS, Command, Option
from .options.export import EXPORT_KUBERNETES, EXPORT_SLURM, EXPORT_SYSTEMD
from .options.groups import CHECKS, CHOICE, LOCK, RUNTIME, SUPERVISED, WAITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_SEVERAL = (
    "nodes", "node_rank", "role", "prefill", "decode", "prefill_port", "decode_port", "instances",
    "endpoint",
)  # fmt: skip
_FEW = 12  # as many options as need no subjects


def _names(options: Iterable[Option]) -> tuple[str, ...]:
    return tuple(option.name for option in options)


_SUBJECTS = (
    ("Choice", tuple(name for name in _names(CHOICE) if name not in _SEVERAL)),
    ("Several nodes, pools and stores", _SEVERAL),
    ("Runtime", _names(RUNTIME)),
    ("Checks", _names(CHECKS)),
    ("Lock", _names(LOCK)),
    ("Waiting and background", _names((*SUPERVISED, *WAITING))),
    ("For kubernetes", _names(EXPORT_KUBERNETES)),
    ("For slurm", _names(EXPORT_SLURM)),
    ("For systemd", _names(EXPORT_SYSTEMD)),
)
_BY_NAME = {command.name: command for command in COMMANDS}


class HelpedCommand(TyperCommand):
    """A command whose help is written for who reads it at 80 columns."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What stands behind the command's name in the first line."""
        command = _of(ctx)
        passed = ["[-- VLLM ARGS]"] if command.passes_on else []
        return ["[OPTIONS]", *_argument(command), *passed]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """What the command does, and lines that can be copied: they are never broken."""
        command = _of(ctx)
        passes = " What follows -- is handed to vLLM, and wins." if command.passes_on else ""
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"{command.help}{passes}")
        formatter.write_paragraph()
        formatter.write("Examples:\n" + "".join(f"  {line}\n" for line in command.examples))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The argument, then the options by subject."""
        shown = [(one, one.get_help_record(ctx)) for one in self.get_params(ctx)]
        records = {str(one.name): record for one, record in shown if record is not None}
        argument = records.pop("argument", None)
        if argument is not None:
            with formatter.section("Arguments"):
                formatter.write_dl([(_of(ctx).argument, argument[1])])
        for title, rows in _sections(records):
            with formatter.section(title):
                formatter.write_dl(rows, col_max=28)


def _of(ctx: Any) -> Command:
    return _BY_NAME[ctx.command_path.partition(" ")[2]]


def _argument(command: Command) -> list[str]:
    """The argument as the first line has it: [MODEL], WORDS…"""
    if not command.argument:
        return []
    name = command.argument if command.argument_required else f"[{command.argument}]"
    return [f"{name}…" if command.argument_many else name]


def _sections(
    records: dict[str, tuple[str, str]],
) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """What is of no subject first; options of a subject under its title."""
    subjects = _SUBJECTS if len(records) > _FEW else ()
    of_subject = {name for _, names in subjects for name in names}
    yield "Options", [row for name, row in records.items() if name not in of_subject]
    for title, names in subjects:
        about = f"{title.removeprefix('For ')}: "
        rows = [records[name] for name in records if name in names]
        if rows:
            yield title, [(flags, _without(about, text)) for flags, text in rows]


def _without(about: str, text: str) -> str:
    """A text without the word for what it is about, which its heading says."""
    rest = text.removeprefix(about)
    return rest[:1].upper() + rest[1:]
