"""What each command does: gather the inputs, call the core, render the answer."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..settings import settle, unknown_variables
from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation


def run(invocation: Invocation) -> int:
    """Run one command and return the exit status. Raises LaunchError."""
    command = invocation.command
    if invocation.passed and not command.passes_on:
        raise UsageError(
            f"{command.name} starts no server that could be handed what follows --",
            hint="leave it out, and the --",
        )
    settings = settle(command.options, invocation.given, os.environ)
    for told in unknown_variables(os.environ):
        remark(f"warning: {told}\n")
    # Only this command's module is loaded; importlib would take longer than most of them.
    module = __import__(f"{__name__}.{command.module}", fromlist=["run"])
    status: int = module.run(invocation, settings)
    return status
