"""The entry point: one command line in, one exit status out, every error told in one way."""

from __future__ import annotations

import gc
import os
import sys

from . import __version__
from .commandline import parse, split
from .errors import LaunchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .commandline import Invocation

_COMPLETION = "_VLLM_LAUNCH_COMPLETE"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return the exit status."""
    gc.disable()  # a short-lived process collects nothing worth the milliseconds
    words, passed = split(sys.argv[1:] if argv is None else argv)
    try:
        return _run(words, passed)
    except LaunchError as error:
        _tell(error)
        if _debugging(words):
            raise
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone: nothing more to say, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if _debugging(words):
            raise
        sys.stderr.write(
            f"error: a bug in vllm-launch {__version__}: {type(error).__name__}: {error}\n"
            "  run it again with --debug before the command, and report what it prints\n"
        )
        return 1


def _run(words: list[str], passed: list[str] | None) -> int:
    invocation = None if _COMPLETION in os.environ else parse(words)
    if invocation is None:
        if words == ["--version"]:
            sys.stdout.write(f"vllm-launch {__version__}\n")
            return 0
        from .cli import run as run_typer

        return run_typer(words, passed)
    from .commands import run

    return run(_with_passed(invocation, passed))


def _with_passed(invocation: Invocation, passed: list[str] | None) -> Invocation:
    return invocation.replace(passed=tuple(passed)) if passed else invocation


def _debugging(words: list[str]) -> bool:
    return "--debug" in words or bool(os.environ.get("VLLM_LAUNCH_DEBUG"))


def _tell(error: LaunchError) -> None:
    """An error on the standard error: what is wrong, each fault with its place, what to do."""
    lines = [f"error: {error.message}"]
    lines += [f"  {problem}" for problem in getattr(error, "problems", ())]
    if error.hint:
        lines.append(f"  {error.hint}")
    sys.stderr.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
