"""What each command does: gather the inputs, call the core, render the answer."""

from __future__ import annotations

import os

from ..settings import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation


def run(invocation: Invocation) -> int:
    """Run one command and return the exit status. Raises LaunchError."""
    settings = settle(invocation.command.options, invocation.given, os.environ)
    module = invocation.command.module
    if module == "serve":
        from .serve import run as run_command
    elif module == "explain":
        from .explain import run as run_command
    elif module == "resolve":
        from .resolve import run as run_command
    elif module == "detect":
        from .detect import run as run_command
    else:
        from .recipes import run as run_command
    return run_command(invocation, settings)
