"""The kept servers, for a person and for a program."""

from __future__ import annotations

from .wrapping import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..running.condition import Condition
    from ..running.state import Kept

_ID = 12  # letters of a container's id that are shown


def servers_text(rows: Sequence[tuple[Kept, Condition]]) -> str:
    """Two lines for each server, or three: what it is, where, and what is the matter."""
    wide = max(len(kept.name) for kept, _ in rows)
    lines = []
    for kept, now in rows:
        lines.append(f"{kept.name:{wide}}  {now.state:8}  {kept.model}")
        indent = " " * (wide + 12)
        about = ", ".join(filter(None, (kept.url, _where(kept), f"since {_time(kept.since)}")))
        for text in (about, now.detail):
            lines += wrapped(text, indent)
    return "\n".join(lines) + "\n"


def _where(kept: Kept) -> str:
    if kept.container is not None:
        return f"{kept.container.engine} {kept.container.id[:_ID] or kept.container.name}"
    return f"pid {kept.server.pid}" if kept.server is not None else ""


def _time(seconds: float) -> str:
    from datetime import datetime

    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


def server_record(kept: Kept, now: Condition) -> dict[str, Any]:
    """One server as plain data."""
    container = kept.container
    return {
        "name": kept.name,
        "model": kept.model,
        "state": now.state,
        "detail": now.detail or None,
        "status": now.status,
        "url": kept.url or None,
        "pid": kept.server.pid if kept.server is not None and container is None else None,
        "container": None if container is None else {
            "engine": container.engine, "name": container.name, "id": container.id or None,
        },
        "since": kept.since,
        "ready": kept.ready,
        "line": list(kept.line),
    }  # fmt: skip
