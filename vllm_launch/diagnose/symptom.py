"""What a known failure looks like in a log, and what is to be done about it."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    # What was read off a line, as changes to the command: None where the line does not say enough.
    Change: TypeAlias = Callable[[Mapping[str, str]], "Try | None"]

NEXT_PORT = "+1"  # as the value of --port: the one after the launch's own


class Try(Record):
    """What to try next: other options of the launcher, other flags of vLLM, or another command.

    Only what was matched as a number or a plain name is ever put into one of these.
    """

    options: tuple[str, ...] = ()  # of vllm-launch serve
    flags: tuple[str, ...] = ()  # of vLLM, behind --
    instead: str = ""  # a shell command of its own, before the launch is tried again
    subcommand: str = "serve"  # "check", "fit", "explain": asks first


class Symptom(Record):
    """One known failure."""

    code: str  # of the check that would have caught it, where there is one
    hint: str  # a part of every such line, in lower case: cheaper than the pattern
    pattern: str
    what: str
    remedy: str
    next: Try | Change = Try()
    consequence: bool = False  # often the end of another failure, which then comes first


class Diagnosis(Record):
    """A known failure that was found in a log."""

    symptom: Symptom
    line: int  # its number; the first is 1
    text: str  # the line, without control characters
    next: Try
    command: str = ""  # the same as shell text, where there is a command for it
