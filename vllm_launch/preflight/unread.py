"""Say that something could not be checked, and why."""

from __future__ import annotations

from ..model.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.source import Source
    from .situation import Situation

NOBODY_LOOKED = "nobody looked"


def unread(
    situation: Situation, field: str, what: str, *, cause: str = "", source: Source | None = None
) -> list[Finding]:
    """A note that a fact is missing, with the reason that its reader gave."""
    reason = situation.system.why_unknown(field) or NOBODY_LOOKED
    return [Finding(severity="note", what=f"{what}: {reason}", cause=cause, source=source)]
