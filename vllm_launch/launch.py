"""Become the process that serves."""

from __future__ import annotations

import os
import sys

from .errors import MissingProgram

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


def become(argv: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by a program: same pid, same signals, its exit status.

    Raises MissingProgram where the program is not there or cannot be started.
    """
    path = program_path(argv[0], environment.get("PATH"))
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(path, list(argv), dict(environment))
    except OSError as error:
        raise MissingProgram(f"cannot start {path}: {error.strerror}") from None
