"""The Typer surface: help, completion and the telling of mistakes, from the options' table."""

from __future__ import annotations

import inspect
import os
from typing import Annotated, Any, Optional

import typer

from . import __version__
from .commandline import COMPLETION, Invocation
from .errors import UsageError
from .helping import HelpedCommand
from .mistakes import mistake
from .options import COMMANDS, GLOBAL, Command, Option
from .streams import write_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAME = "vllm-launch"
_GROUPS = {"recipes": "List, show, check and fetch recipes."}
_SUBJECTS = {
    "MODEL": "recipe",
    "URL|NAME": "source",
    "NAME": "server",
}  # what an argument is completed with
_EPILOG = """Try it, without a GPU:

\b
  vllm-launch recipes list
  vllm-launch serve MiniMaxAI/MiniMax-M3.1-Flash --hardware b300 --dry-run
  vllm-launch explain MiniMaxAI/MiniMax-M3.1-Flash --hardware b300

Every option is also a variable (VLLM_LAUNCH_HARDWARE=b300) and a key of the settings file
(hardware: b300)."""
_ABOUT = "Serve a model with vLLM, with the flags that are known to be right for the hardware."


def run(words: list[str], passed: list[str] | None) -> int:
    """Read a command line with Typer and run it.

    Raises UsageError for a line that makes no sense.
    """
    read: list[Invocation] = []
    status = _read(_app(read.append), words, passed)
    if not read:
        return status
    from .commands import run as run_command

    line = (*words, "--", *passed) if passed else tuple(words)
    return run_command(read[0].replace(passed=tuple(passed or ()), line=line))


def _read(app: typer.Typer, words: list[str], passed: list[str] | None = None) -> int:
    """Have Typer read a line; the exit status for one that it answers itself, such as --help."""
    typed = ""  # of the last word, what bash keeps
    if os.environ.get(COMPLETION) == "complete_bash":
        from .completion import join_words

        typed = join_words(os.environ)
    try:
        return int(app(args=words, prog_name=_NAME, standalone_mode=False, obj=typed) or 0)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # what Typer makes of a reader gone
            raise write_error(stop.__context__) from None
        return int(stop.code or 0)
    except OSError as error:
        raise write_error(error) from None
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        raise _mistake(error, words, passed) from None


def _mistake(error: Any, words: list[str], passed: list[str] | None) -> UsageError:
    """What is wrong with a line that Typer refuses, and which help to turn to."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return UsageError("no command is given", hint=f"see {error.ctx.command_path} --help")
    return mistake(error, words, passed)


def _app(call: Callable[[Invocation], None]) -> typer.Typer:
    """The whole command tree; ``call`` is given the line that was read."""
    common: dict[str, Any] = {
        "add_completion": False,
        "no_args_is_help": True,
        "rich_markup_mode": None,
    }
    app = typer.Typer(
        help=_ABOUT,
        epilog=_EPILOG,
        pretty_exceptions_enable=False,
        **{**common, "add_completion": True},
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
        target.command(tail, cls=HelpedCommand, short_help=command.help)(function)
    return app


def _root(given: dict[str, Any]) -> Callable[..., None]:
    """The options that stand before the command."""

    def root(version: bool = False, **values: Any) -> None:  # noqa: ARG001 - Typer passes it
        given.update(_present(values))

    shown = typer.Option(
        "--version", help="Print the version.", is_eager=True, callback=_print_version
    )
    parameters = [_parameter("version", Annotated[bool, shown], False)]
    parameters += [_option(option) for option in GLOBAL]
    return _with_signature(root, parameters)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"vllm-launch {__version__}")
        raise typer.Exit


def _function(
    command: Command, globals_given: dict[str, Any], call: Callable[[Invocation], None]
) -> Callable[..., None]:
    def function(argument: Any = None, **values: Any) -> None:
        given = {**globals_given, **_present(values)}
        first, *more = argument or [None] if command.argument_many else [argument]
        call(Invocation(command=command, argument=first, given=given, more=tuple(more)))

    parameters = []
    subject = _SUBJECTS.get(command.argument)
    if command.argument:
        shown = typer.Argument(
            help=command.argument_help,
            metavar=command.argument,
            autocompletion=_completer(subject) if subject else None,
        )
        kind: Any
        default: Any
        if command.argument_many and command.argument_required:
            kind, default = list[str], inspect.Parameter.empty
        elif command.argument_many:
            kind, default = Optional[list[str]], None  # noqa: UP045
        elif command.argument_required:
            kind, default = str, inspect.Parameter.empty
        else:
            kind, default = Optional[str], None  # noqa: UP045
        parameters.append(_parameter("argument", Annotated[kind, shown], default))
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


class _Offer(str):
    """A value to offer though its case is not what was typed: Typer would drop it."""

    __slots__ = ()

    def startswith(self, *_: Any) -> bool:
        return True


def _candidates(subject: str, context: Any) -> Iterator[str]:
    """The values that there are, for the model and the recipes directories on the line."""
    from .completion import candidates
    from .settings import settle

    before = context.find_root().params
    given = {
        name: before[name] for name in ("config", "recipes_dir", "sources") if before.get(name)
    }
    # Typer leaves the words where they are when the last one is an option without its value.
    model = context.params.get("argument") or next(iter(context.args), "")
    settings = settle((), given, os.environ)
    return candidates(subject, model, settings.listed("recipes_dir"), settings.listed("sources"))


def _completer(subject: str, choices: tuple[str, ...] = ()) -> Callable[..., list[str]]:
    """What a shell offers for a value; it must never fail, and never say anything."""

    def complete(ctx: Any, incomplete: str) -> list[str]:
        left_out, typed = len(ctx.obj or ""), incomplete.lower()
        try:
            names = choices or _candidates(subject, ctx)
            return [_Offer(name[left_out:]) for name in names if name.lower().startswith(typed)]
        except Exception:
            return []

    complete.__annotations__ = {"ctx": typer.Context, "incomplete": str, "return": list[str]}
    return complete
