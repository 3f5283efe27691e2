"""What each command does: gather the inputs, call the core, render the answer."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..settings import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation


def run(invocation: Invocation) -> int:  # noqa: C901 - a branch for each command
    """Run one command and return the exit status. Raises LaunchError."""
    command = invocation.command
    if invocation.passed and not command.passes_on:
        raise UsageError(
            f"{command.name} starts no server that could be handed {' '.join(invocation.passed)!r}",
            hint="leave out -- and what follows it",
        )
    settings = settle(command.options, invocation.given, os.environ)
    module = command.module
    if module == "serve":
        from .serve import run as run_command
    elif module == "explain":
        from .explain import run as run_command
    elif module == "diagnose":
        from .diagnose import run as run_command
    elif module == "export":
        from .export import run as run_command
    elif module == "resolve":
        from .resolve import run as run_command
    elif module == "check":
        from .check import run as run_command
    elif module == "fit":
        from .fit import run as run_command
    elif module == "detect":
        from .detect import run as run_command
    elif module == "lint":
        from .lint import run as run_command
    elif module == "sync":
        from .sync import run as run_command
    elif module == "sources":
        from .sources import run as run_command
    else:
        from .recipes import run as run_command
    return run_command(invocation, settings)
