"""A deployment as the files of an engine that runs it: one file here a target.

An exporter is a pure function of a brief: the same brief gives the same bytes.
"""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model.deployment import Deployment
    from ..model.part import Part
    from ..resolve.container import ContainerSetup


class Brief(Record):
    """What every export is made from."""

    name: str  # of the whole: a DNS label, such as "minimax-m3"
    deployment: Deployment
    parts: tuple[Part, ...]  # in start order; what the operator filled in is filled in
    header: tuple[str, ...]  # what it is and where it came from; every file begins with it
    setup: ContainerSetup | None = None  # None: vllm runs as it is installed on the machine
    endpoints: Mapping[str, str] = {}  # what the operator filled in, by placeholder
    passed_by_name: tuple[str, ...] = ()  # secrets: only a reference to them may be written
    options: Mapping[str, Any] = {}  # the target's own, by name; absent ones are not there


class ExportFile(Record):
    """One file of an export."""

    name: str  # relative, without folders
    text: str
    mode: int = 0o644
    keep: bool = False  # one that is there already stays as it is


def commented(brief: Brief) -> str:
    """The header as comment lines. Whatever is in it, none goes on outside of its comment."""
    lines = [line for text in brief.header for line in text.splitlines() or [""]]
    return "".join(f"# {_shown(line)}".rstrip() + "\n" for line in lines)


def _shown(line: str) -> str:
    """A line with characters that no file should hold as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
