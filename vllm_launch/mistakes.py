"""What is said of a command line that makes no sense: what is wrong, and what to type instead."""

from __future__ import annotations

from .errors import LaunchError, UsageError, did_you_mean, nearest
from .model.secrets import is_secret
from .options import COMMANDS, GLOBAL, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_NAME = "vllm-launch"
_VERSION = Option(name="version", flags=("--version",), help="")
_EVERY = tuple(option for command in COMMANDS for option in command.options)
_EXTRA = "Got unexpected extra argument(s) ("


def mistake(error: Any, words: Sequence[str], passed: Sequence[str] | None) -> UsageError:
    """The error for a line that Typer refuses, in the launcher's own words."""
    typed = _typed(error, words)
    command = next((each for each in COMMANDS if each.name == typed), None)
    said: str = error.format_message().rstrip(".")
    see = f"see {_NAME} {typed} --help" if typed else f"see {_NAME} --help"
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return _unknown_option(error.option_name, command, see)
    if kind == "BadOptionUsage":
        needs = "requires" in said
        return UsageError(
            f"{error.option_name} {'needs a value' if needs else 'takes no value'}", hint=see
        )
    if kind == "MissingParameter":
        return _no_argument(command, passed, see)
    if said.startswith(_EXTRA):
        extra = said.removeprefix(_EXTRA).removesuffix(")")
        return UsageError(f"{typed} has no use for {_without_secrets(extra, words)!r}", hint=see)
    if said.startswith("No such command"):
        return _unknown_command(said.split("'")[1], typed, see)
    return UsageError(f"{said[:1].lower()}{said[1:]}", hint=see)


def output_form(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """The --output that a line asks for, though the rest of it may make no sense."""
    typed = ""
    for word, following in zip(words, (*words[1:], ""), strict=False):
        if word in ("-o", "--output"):
            typed = following
        elif word.startswith(("--output=", "-o")):
            typed = word.removeprefix("--output=").removeprefix("-o")
    return typed or _set_form(words, environ)


def _set_form(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """What a variable or the settings file says of the output of the command on a line."""
    from .commandline import leading
    from .settings import settle

    name = _named(words)
    options = next((each.options for each in COMMANDS if each.name == name), ())
    own = tuple(option for option in options if option.name == "output")
    try:
        return (settle(own, leading(words), environ)["output"] or "") if own else ""
    except LaunchError:  # the settings may be the very fault that is told
        return ""


def _without_secrets(extra: str, words: Sequence[str]) -> str:
    """Words too many, without those that follow a secret's name: -e HF_TOKEN VALUE."""
    from itertools import pairwise

    left = set(extra.split())
    for name, value in pairwise(words):
        if value in left and is_secret(name.lstrip("-").replace("-", "_").rstrip("=")):
            extra = extra.replace(value, "…")
    return extra


def _typed(error: Any, words: Sequence[str]) -> str:
    """The command that the mistake is in, as far as it was named."""
    context = getattr(error, "ctx", None)
    return _named(words) if context is None else str(context.command_path.partition(" ")[2])


def _named(words: Sequence[str]) -> str:
    """The command that stands on a line; "" where none does."""
    line = f" {' '.join(words)} "
    return max((each.name for each in COMMANDS if f" {each.name} " in line), key=len, default="")


def _unknown_option(flag: str, command: Command | None, see: str) -> UsageError:
    """For an option that a command does not have: where it stands, or what is like it."""
    elsewhere = GLOBAL if command is not None else _EVERY
    option = next((each for each in elsewhere if flag in each.flags), None)
    if option is not None:
        shown = " ".join(filter(None, (flag, option.metavar)))
        side = "before" if command is not None else "behind"
        line = f"{shown} {command.name}" if command is not None else f"serve MODEL {shown}"
        return UsageError(f"{flag} stands {side} the command, as in {_NAME} {line}", hint=see)
    own = "vLLM's own flags go behind --;" if command is not None and command.passes_on else ""
    return UsageError(
        f"{command.name if command else _NAME} has no option {flag}",
        hint=" ".join(filter(None, (_like(flag, command) or _who_has(flag), own, see))),
    )


def _like(flag: str, command: Command | None) -> str:
    """The command's own option that may have been meant; the dashes say nothing."""
    options = command.options if command is not None else (*GLOBAL, _VERSION)
    names = [each[2:] for option in options for each in option.flags if each.startswith("--")]
    near = nearest(flag.lstrip("-"), names)
    return f"did you mean '--{near}'?" if near else ""


def _who_has(flag: str) -> str:
    names = [each.name for each in COMMANDS if any(flag in one.flags for one in each.options)]
    return f"{flag} is an option of {', '.join(names[:3])};" if names else ""


def _no_argument(command: Command | None, passed: Sequence[str] | None, see: str) -> UsageError:
    name = command.argument if command is not None else "an argument"
    where = f"it stands before --, and what follows -- is vLLM's; {see}" if passed else see
    return UsageError(f"{name} is missing", hint=where)


def _unknown_command(name: str, group: str, see: str) -> UsageError:
    start = f"{group} " if group else ""
    names = [each.name.removeprefix(start) for each in COMMANDS if each.name.startswith(start)]
    known = dict.fromkeys(each.split()[0] for each in names)
    near = did_you_mean(name, known)
    return UsageError(
        f"there is no command {f'{start}{name}'!r}", hint=" ".join(filter(None, (near, see)))
    )
