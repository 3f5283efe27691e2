"""The command line's options: one table that the parsers, the help, the environment variables, the
config file and the completion are made from."""

from __future__ import annotations

from .commands import COMMANDS
from .export import TARGETS
from .groups import GLOBAL, SHOWN
from .option import Command, Option, checked

__all__ = ["COMMANDS", "GLOBAL", "SHOWN", "TARGETS", "Command", "Option", "checked"]
