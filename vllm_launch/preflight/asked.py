"""What the target's own parser says, where it was to be asked."""

from __future__ import annotations

from ..model.finding import Check, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation


def answered(situation: Situation) -> Iterable[Finding] | None:
    """Whether it could be asked."""
    asked = situation.asked
    if asked is None:
        return None
    if not asked.error:
        return []
    return [
        Finding(
            severity="warn",
            what=f"vLLM's own parser gave no answer: {asked.error}",
            why="The tables of releases that the launcher has were used instead.",
            remedy="Mend it with the command, or leave --deep out."
            if asked.command
            else "Leave --deep out to do without.",
            command=asked.command,
        )
    ]


def accepted(situation: Situation) -> Iterable[Finding] | None:
    """Whether it takes the plan's command."""
    asked = situation.asked
    if asked is None or asked.error:
        return None
    if not asked.refused:
        return []
    return [
        Finding(
            severity="fail" if asked.certain else "warn",
            what=f"the parser of vLLM {asked.version} refuses the command: {asked.refused}",
            why="The server does not start."
            if asked.certain
            else "It was asked without a GPU, and without the files that the server will have.",
            remedy="Change what it names, or take it away.",
        )
    ]


CHECKS = (
    Check(
        code="PARSER_SILENT",
        subject="vLLM",
        about="with --deep: the target vLLM's own parser answers",
        run=answered,
    ),
    Check(
        code="PARSER_REFUSES",
        subject="vLLM",
        about="with --deep: that parser takes the plan's very command",
        run=accepted,
    ),
)
