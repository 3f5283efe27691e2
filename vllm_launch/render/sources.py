"""Sources of recipes, for people and for programs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..model.origin import Listed
    from ..sync.source import Outcome

_SHORT = 12


def outcome_text(outcome: Outcome) -> str:
    """What a source now holds, on one line."""
    current = outcome.current
    if outcome.kept_pin:
        came = f"pinned to {current.pin}; nothing was fetched"
    elif not outcome.changed:
        came = "as before"
    else:
        came = f"was {current.previous[:_SHORT]}" if current.previous else "new"
    return f"{outcome.name}  {current.revision[:_SHORT]}  {_count(current)}  {came}\n"


def outcome_record(outcome: Outcome) -> dict[str, Any]:
    """The same for programs."""
    current = outcome.current
    return {
        "name": outcome.name,
        "url": current.url,
        "revision": current.revision,
        "previous": current.previous or None,
        "changed": outcome.changed,
        "pin": current.pin or None,
        "synced": current.synced,
        "recipes": current.recipes,
        "broken": current.broken,
    }


def listed_text(
    listed: Sequence[Listed], unused: Sequence[Listed], overlays: Sequence[tuple[str, bool]]
) -> str:
    """The sources in their order, then the copies that no run uses, then the overlays."""
    lines = [line for i, each in enumerate(listed, 1) for line in _lines(each, f"{i}.")]
    if unused:
        lines += ["", "Synced, and not in use"]
        lines += [line for each in unused for line in _lines(each, "-")]
    if overlays:
        lines += ["", "Overlays"]
        lines += [
            f"   {path}{'' if used else ': no recipe has this id'}" for path, used in overlays
        ]
    return "\n".join(lines) + "\n"


def _lines(listed: Listed, mark: str) -> Iterator[str]:
    yield f"{mark:2} {listed.source}"
    if listed.problem:
        yield f"   {listed.problem}"
        return
    facts = [
        listed.name,
        f"revision {listed.revision[:_SHORT]}" if listed.revision else "",
        f"pinned to {listed.pin}" if listed.pin else "",
        f"synced {listed.synced}" if listed.synced else "",
        _count(listed),
    ]
    yield f"   {', '.join(fact for fact in facts if fact)}"


def _count(of: Any) -> str:
    noun = "recipe" if of.recipes == 1 else "recipes"
    broken = f" ({of.broken} cannot be read)" if of.broken else ""
    return f"{of.recipes} {noun}{broken}"


def listed_record(
    listed: Sequence[Listed], unused: Sequence[Listed], overlays: Sequence[tuple[str, bool]]
) -> dict[str, Any]:
    """The same for programs."""
    return {
        "in_use": [_record(each) for each in listed],
        "not_in_use": [_record(each) for each in unused],
        "overlays": [{"file": path, "used": used} for path, used in overlays],
    }


def _record(listed: Listed) -> dict[str, Any]:
    return {
        "source": listed.source,
        "name": listed.name or None,
        "revision": listed.revision or None,
        "pin": listed.pin or None,
        "synced": listed.synced or None,
        "recipes": listed.recipes,
        "broken": listed.broken,
        "problem": listed.problem or None,
    }
