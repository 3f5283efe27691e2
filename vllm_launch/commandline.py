"""The ordinary command line, read without importing a parser library.

Typer is an order of magnitude slower to import than a dry run takes, so a line that this
small reader understands never loads it. Anything else (help, completion, a mistake) makes
it answer None, and Typer reads the line again. Both are made from the table in options,
and a test holds them to the same answers.
"""

from __future__ import annotations

from .model.record import Record
from .options import COMMANDS, GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .options import Command, Option


COMPLETION = "_VLLM_LAUNCH_COMPLETE"  # how Typer names the variable that asks for completion


class Invocation(Record):
    """A command line, taken apart. ``given`` holds text, lists of text, or True for flags."""

    command: Command
    argument: str | None
    given: dict[str, Any]
    more: tuple[str, ...] = ()  # further arguments, of a command that takes several
    passed: tuple[str, ...] = ()  # for vLLM, from behind "--"
    line: tuple[str, ...] = ()  # all of it, as it was typed


def split(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The launcher's own part, and what stands behind the first "--" (None: there is none)."""
    words = list(argv)
    if "--" not in words:
        return words, None
    at = words.index("--")
    return words[:at], words[at + 1 :]


def parse(words: Sequence[str]) -> Invocation | None:
    """Take an ordinary line apart; None for one that Typer should see."""
    given: dict[str, Any] = {}
    rest = _read(list(words), GLOBAL, given, stop_at_word=True)
    if not rest:
        return None
    command, rest = _command(rest)
    if command is None:
        return None
    positional = _read(rest, command.options, given, stop_at_word=False)
    most = len(positional or ()) if command.argument_many else bool(command.argument)
    if positional is None or len(positional) > most:
        return None
    if command.argument and command.argument_required and not positional:
        return None
    first, more = (positional[0], positional[1:]) if positional else (None, [])
    return Invocation(command=command, argument=first, given=given, more=tuple(more))


def leading(words: Sequence[str]) -> dict[str, Any]:
    """The options before the command, as far as they can be understood."""
    given: dict[str, Any] = {}
    _read(list(words), GLOBAL, given, stop_at_word=True)
    return given


def _command(words: list[str]) -> tuple[Command | None, list[str]]:
    for command in COMMANDS:
        parts = command.name.split(" ")
        if words[: len(parts)] == parts:
            return command, words[len(parts) :]
    return None, words


def _read(
    words: list[str], options: tuple[Option, ...], given: dict[str, Any], *, stop_at_word: bool
) -> list[str] | None:
    """Take options off; the words left over, or None where something is not understood."""
    by_flag = {flag: option for option in options for flag in option.flags}
    left: list[str] = []
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            left.append(word)
            if stop_at_word:
                return left + words
            continue
        flag, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = by_flag.get(flag)
        if option is None:
            return None
        if option.kind == "flag":
            if equals:
                return None
            given[option.name] = True
            continue
        if not equals:
            if not words or (words[0].startswith("-") and words[0] != "-"):
                return None
            value = words.pop(0)
        if option.many:
            given.setdefault(option.name, []).append(value)
        else:
            given[option.name] = value
    return left
