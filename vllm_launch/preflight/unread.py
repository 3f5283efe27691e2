"""Say that something could not be checked, and why."""

from __future__ import annotations

from ..model.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.source import Source
    from .situation import Situation

NOBODY_LOOKED = "nobody looked"
NOT_SAVED = "the machine itself would have to be looked at"  # where its saved facts are at hand


def unread(
    situation: Situation, field: str, what: str, *, cause: str = "", source: Source | None = None
) -> list[Finding]:
    """A note that a fact is missing, with the reason that its reader gave."""
    reason = situation.system.why_unknown(field) or NOBODY_LOOKED
    return [Finding(severity="note", what=f"{what}: {reason}", cause=cause, source=source)]


def not_saved(situation: Situation, field: str) -> list[Finding] | None:
    """The same of a fact whose reason another check tells, where saved facts lack it; else None."""
    lacks = situation.system.why_unknown(field) == NOT_SAVED
    return unread(situation, field, field) if lacks else None
