"""Become the process that serves."""

from __future__ import annotations

import os
import sys

from .errors import MissingProgram
from .streams import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

_INSTALL = {
    "vllm": "install vLLM in this environment, or use --runtime docker",
    "docker": "install Docker, or use --runtime native",
    "podman": "install Podman, or use --runtime native",
}


def program_path(name: str, path: str | None) -> str:
    """Where a program is on a PATH. Raises MissingProgram where it is on none of it."""
    for directory in (path or os.defpath).split(os.pathsep):
        candidate = os.path.join(directory or ".", name)
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return candidate
    raise MissingProgram(f"{name} is not on PATH", hint=_INSTALL.get(name, ""))


def become(argv: Sequence[str], environment: Mapping[str, str], path: str | None) -> NoReturn:
    """Replace this process by a program: same pid, same signals, its exit status.

    ``path`` is where the program is looked for: never a recipe's, which could choose another.

    Raises MissingProgram where the program is not there or cannot be started.
    """
    program = program_path(argv[0], path)
    words = [to_bytes(word) for word in argv]
    variables = {to_bytes(name): to_bytes(value) for name, value in environment.items()}
    sys.stdout.flush()
    sys.stderr.flush()
    _heed_signals()
    try:
        os.execve(program, words, variables)
    except OSError as error:
        raise MissingProgram(f"cannot start {program}: {error.strerror}") from None


def _heed_signals() -> None:
    """Undo what Python ignores for itself: a program inherits what is ignored."""
    import signal

    for name in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(name, signal.SIG_DFL)
