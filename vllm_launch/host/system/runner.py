"""Run a program for its answer, with a time limit."""

from __future__ import annotations

import os

from ..reading import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SECONDS = 3.0


class NoAnswer(OSError):
    """A program that cannot be run, or that does not end in time."""


def run(
    argv: Sequence[str], environ: Mapping[str, str], seconds: float = SECONDS
) -> tuple[int, str, str]:
    """The exit status, the output, and the last line of what went to standard error.

    Raises NoAnswer.
    """
    import subprocess

    name = os.path.basename(argv[0])
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            env=dict(environ),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{name}: no answer in {seconds:g} s") from None
    except OSError as error:
        raise NoAnswer(f"{name}: {error.strerror}") from None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [""]
    return done.returncode, done.stdout.decode("utf-8", "replace"), printable(lines[-1])
