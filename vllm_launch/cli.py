"""The Typer surface: help, completion and the telling of mistakes, from the options' table."""

from __future__ import annotations

import inspect
import os
from typing import Annotated, Any, Optional

import typer

from . import __version__
from .commandline import Invocation
from .errors import UsageError
from .options import COMMANDS, GLOBAL, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_GROUPS = {"recipes": "List, search and show recipes."}
_ABOUT = "Serve a model with vLLM, with the flags that are known to be right for the hardware."


def run(words: list[str], passed: list[str] | None) -> int:
    """Read a command line with Typer and run it.

    Raises UsageError for a line that makes no sense.
    """
    status: list[int] = []
    app = _app(lambda invocation: status.append(_call(invocation, passed)))
    try:
        app(args=words, prog_name="vllm-launch", standalone_mode=False)
    except SystemExit as stop:
        return int(stop.code or 0)
    except Exception as error:
        told = getattr(error, "format_message", None)
        if told is None:
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(told(), err=True)
            return UsageError.exit_status
        raise UsageError(told().rstrip("."), hint=_hint(told())) from None
    return status[0] if status else 0


def _call(invocation: Invocation, passed: list[str] | None) -> int:
    from .commands import run as run_command

    return run_command(invocation.replace(passed=tuple(passed or ())))


def _hint(message: str) -> str:
    if message.startswith("No such option"):
        return "vLLM's own flags go behind --; see vllm-launch COMMAND --help"
    return "see vllm-launch --help"


def _app(call: Callable[[Invocation], None]) -> typer.Typer:
    """The whole command tree; ``call`` is given the line that was read."""
    common: dict[str, Any] = {
        "add_completion": False,
        "no_args_is_help": True,
        "rich_markup_mode": None,
    }
    app = typer.Typer(
        help=_ABOUT, pretty_exceptions_enable=False, **{**common, "add_completion": True}
    )
    globals_given: dict[str, Any] = {}
    app.callback()(_root(globals_given))
    groups = {name: typer.Typer(help=text, **common) for name, text in _GROUPS.items()}
    for name, group in groups.items():
        app.add_typer(group, name=name)
    for command in COMMANDS:
        head, _, tail = command.name.rpartition(" ")
        function = _function(command, globals_given, call)
        target = groups[head] if head else app
        target.command(tail, help=_help(command), short_help=command.help)(function)
    return app


def _root(given: dict[str, Any]) -> Callable[..., None]:
    """The options that stand before the command."""

    def root(version: bool = False, **values: Any) -> None:
        if version:
            typer.echo(f"vllm-launch {__version__}")
            raise typer.Exit
        given.update(_present(values))

    shown = typer.Option("--version", help="Print the version.", is_eager=True)
    parameters = [_parameter("version", Annotated[bool, shown], False)]
    parameters += [_option(option) for option in GLOBAL]
    return _with_signature(root, parameters)


def _function(
    command: Command, globals_given: dict[str, Any], call: Callable[[Invocation], None]
) -> Callable[..., None]:
    def function(argument: str | None = None, **values: Any) -> None:
        given = {**globals_given, **_present(values)}
        call(Invocation(command=command, argument=argument, given=given))

    parameters = []
    if command.argument:
        shown = typer.Argument(
            help=command.argument_help,
            metavar=command.argument,
            autocompletion=_completer("recipe"),
        )
        parameters.append(_parameter("argument", Annotated[str, shown], inspect.Parameter.empty))
    parameters += [_option(option) for option in command.options]
    return _with_signature(function, parameters)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    """What was given: neither None nor an empty list nor an absent flag."""
    return {
        name: list(value) if isinstance(value, (list, tuple)) else value
        for name, value in values.items()
        if value not in (None, False, [], ())
    }


def _option(option: Option) -> inspect.Parameter:
    text = f"{option.help} [{', '.join(option.choices)}]" if option.choices else option.help
    extra: dict[str, Any] = {"metavar": option.metavar} if option.metavar else {}
    if option.completes or option.choices:
        extra["autocompletion"] = _completer(option.completes, option.choices)
    shown = typer.Option(*option.flags, help=text, show_default=False, **extra)
    if option.kind == "flag":
        return _parameter(option.name, Annotated[bool, shown], False)
    kind: Any = Optional[list[str]] if option.many else Optional[str]  # noqa: UP045
    return _parameter(option.name, Annotated[kind, shown], None)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _with_signature(
    function: Callable[..., None], parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function the parameters that Typer reads."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


def _help(command: Command) -> str:
    examples = "\n\n".join(f"  {example}" for example in command.examples)
    passes = " What follows -- is handed to vLLM, and wins." if command.passes_on else ""
    return f"{command.help}{passes}\n\nExamples:\n\n{examples}"


def _completer(subject: str, choices: tuple[str, ...] = ()) -> Callable[..., list[str]]:
    """What a shell offers for a value; it must never fail, and never say anything."""

    def complete(ctx: Any, incomplete: str) -> list[str]:
        if choices:
            return [choice for choice in choices if choice.startswith(incomplete)]
        from .completion import candidates

        try:
            return candidates(subject, ctx.params, incomplete, os.environ)
        except Exception:
            return []

    complete.__annotations__ = {"ctx": typer.Context, "incomplete": str, "return": list[str]}
    return complete
