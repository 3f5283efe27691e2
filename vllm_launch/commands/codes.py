"""The codes of checks and of lint, listed; and which of their answers have no JSON."""

from __future__ import annotations

from ..errors import UsageError
from ..streams import answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..settings import Settings


def answer_codes(codes: Sequence[tuple[str, str]], settings: Settings) -> None:
    """Print each code with what it is about."""
    if settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("codes", [{"code": code, "about": about} for code, about in codes]))
    else:
        from ..render.findings import codes_text

        answer(codes_text(codes))


def refuse_json_of(name: str, settings: Settings) -> None:
    """Raise UsageError where the line asks for an output of what has one form alone."""
    if settings[name] and settings.source("output").startswith("-"):
        raise UsageError(
            f"{settings.source(name)} has no other output than its own",
            hint=f"leave out {settings.source('output')} or {settings.source(name)}",
        )
