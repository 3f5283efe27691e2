"""The test process's own children, whatever other tests keep running."""

from __future__ import annotations

import psutil


def children() -> set[tuple[int, float]]:
    """Each child that is there, dead but not reaped ones too: its pid and when it was started."""
    return {(child.pid, child.create_time()) for child in psutil.Process().children()}
