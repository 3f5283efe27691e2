"""The entry point: one command line in, one exit status out, every error told in one way."""

from __future__ import annotations

import gc
import os
import sys

from . import __version__
from .commandline import COMPLETION, leading, parse, split
from .errors import LaunchError
from .streams import answer, finish, prepare, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .commandline import Invocation


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return the exit status."""
    gc.disable()  # a short-lived process collects nothing worth the milliseconds
    words: list[str] = []
    try:
        prepare()
        words, passed = split(sys.argv[1:] if argv is None else argv)
        status = _run(words, passed)
        finish()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0  # the reader has what it wanted
    except Exception as error:
        return _failed(error, words)
    return status


def _run(words: list[str], passed: list[str] | None) -> int:
    invocation = None if COMPLETION in os.environ else parse(words)
    if invocation is None:
        if words == ["--version"]:
            answer(f"vllm-launch {__version__}\n")
            return 0
        from .cli import run as run_typer

        return run_typer(words, passed)
    from .commands import run

    return run(_with_passed(invocation, words, passed))


def _with_passed(invocation: Invocation, words: list[str], passed: list[str] | None) -> Invocation:
    line = (*words, "--", *passed) if passed else tuple(words)
    return invocation.replace(passed=tuple(passed or ()), line=line)


def _failed(error: Exception, words: list[str]) -> int:
    """Tell an error, with its traceback where that is asked for; its exit status."""
    if COMPLETION in os.environ:
        return 1  # into the middle of a line that is being typed
    told = error if isinstance(error, LaunchError) else _bug(error)
    _tell(told)
    if _debugging(words):
        from traceback import format_exception

        remark("".join(format_exception(error)), as_it_is=True)
    _answer_error(told, words)
    return told.exit_status


def _debugging(words: list[str]) -> bool:
    """Whether the line, the variable or the settings file asks for tracebacks."""
    given = leading(words)
    try:
        from .settings import settle

        return bool(settle((), given, os.environ)["debug"])
    except Exception:  # the settings may be the very fault that is being told
        return "debug" in given


def _bug(error: Exception) -> LaunchError:
    return LaunchError(
        f"a bug in vllm-launch {__version__}: {type(error).__name__}: {error}",
        hint="run it again with --debug before the command, and report what it prints",
        code="bug",
    )


def _tell(error: LaunchError) -> None:
    """An error on the standard error: what is wrong, each fault with its place, what to do."""
    lines = [f"error: {error.message}"]
    lines += [f"  {problem}" for problem in getattr(error, "problems", ())]
    lines += [f"  {error.hint}"] if error.hint else []
    remark("\n".join(lines) + "\n")


def _answer_error(error: LaunchError, words: list[str]) -> None:
    """The error on the standard output too, where the answer was to be JSON."""
    from .mistakes import output_form

    if output_form(words, os.environ) != "json":
        return
    from .render.envelope import error_envelope

    try:
        answer(error_envelope(error))
        finish()
    except (LaunchError, BrokenPipeError):
        return  # what is wrong has been said


if __name__ == "__main__":
    sys.exit(main())
