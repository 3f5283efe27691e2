"""Which source a recipe came from, and exactly which bytes of it."""

from __future__ import annotations

from .record import Record


class Origin(Record):
    """Where a recipe is from. A digest is of the bytes that were read: "sha256:…"."""

    source: str  # "bundled", a directory, a file or an address
    digest: str
    revision: str = ""  # a commit, a synced revision, the launcher's version; "" where not known
    overlays: tuple[tuple[str, str], ...] = ()  # file and digest of each, the nearest last
    shadowed: tuple[str, ...] = ()  # farther sources that have a recipe of the same name
    verified: bool = True  # False: no recipe stands behind the plan


class Listed(Record):
    """A source as it is listed."""

    source: str
    name: str = ""  # of a synced one
    revision: str = ""
    pin: str = ""
    synced: str = ""  # when, ISO 8601 in UTC
    recipes: int = 0
    broken: int = 0
    problem: str = ""  # why it cannot be used
