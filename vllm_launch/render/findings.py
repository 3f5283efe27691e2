"""What the checks found."""

from __future__ import annotations

from .wrapping import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TypeAlias

    from ..model.deployment import ProcessPlan
    from ..model.finding import Finding
    from ..model.part import Part
    from ..preflight import Review

    Reviews: TypeAlias = Sequence[tuple[ProcessPlan | Part, Review]]

_INDENT = " " * 5


def reviews_text(reviews: Reviews, nodes: Sequence[str] = (), *, notes: bool = True) -> str:
    """Each finding with why it matters and what mends it, then the counts.

    ``nodes`` names the machine of each process, where there are several.
    """
    lines: list[str] = []
    for at, (process, each) in enumerate(reviews):
        if len(reviews) > 1:
            lines.append(f"{nodes[at]}: {process.title}" if nodes else process.title)
        for finding in each.findings:
            if notes or finding.severity != "note":
                lines += finding_lines(finding)
        lines.append(_counts(each))
    return "\n".join(lines) + "\n"


def finding_lines(finding: Finding) -> Iterator[str]:
    """One finding: what, why, its cause and its remedy."""
    head = f"{finding.severity:4} {finding.code}: {finding.what}"
    yield from wrapped(head, "", _INDENT)
    cause = finding.cause
    if finding.source is not None and finding.source.file:
        cause += f", {finding.source.file}:{finding.source.line}"
    for text in (finding.why, f"cause: {cause}" if cause else "", finding.remedy):
        yield from wrapped(text, _INDENT)
    # A command stays as it is: it is there to be copied.
    yield from (f"{_INDENT}  {line}" for line in finding.command.splitlines())


def _counts(each: Review) -> str:
    counts = [(len(each.passed), "passed")]
    for severity, word in (("fail", "failed"), ("warn", "warned"), ("note", "noted")):
        number = sum(finding.severity == severity for finding in each.findings)
        counts += [(number, word)] if number else []
    counts += [(len(each.skipped), "skipped")] if each.skipped else []
    counts += [(len(each.not_made), "need the machine itself")] if each.not_made else []
    return ", ".join(f"{number} {word}" for number, word in counts)


def reviews_record(reviews: Reviews, nodes: Sequence[str] = ()) -> list[dict[str, Any]]:
    """The same for programs, one entry a process."""
    return [
        {
            **({"node": nodes[at]} if nodes else {}),
            "role": process.role,
            "rank": process.rank,
            "name": process.title,
            "failed": each.failed,
            "findings": [finding_record(finding) for finding in each.findings],
            "passed": list(each.passed),
            "skipped": list(each.skipped),
            "not_made": list(each.not_made),
        }
        for at, (process, each) in enumerate(reviews)
    ]


def finding_record(finding: Finding) -> dict[str, Any]:
    """One finding for programs."""
    source = finding.source
    return {
        "code": finding.code,
        "severity": finding.severity,
        "what": finding.what,
        "why": finding.why or None,
        "remedy": finding.remedy or None,
        "command": finding.command or None,
        "cause": finding.cause or None,
        "file": (source.file or None) if source is not None else None,
        "line": (source.line or None) if source is not None else None,
    }


def codes_text(codes: Sequence[tuple[str, str]]) -> str:
    """Every code with what it is about."""
    width = max(len(code) for code, _ in codes)
    lines: list[str] = []
    for code, about in codes:
        lines += wrapped(f"{code:{width}}  {about}", "", " " * (width + 2))
    return "\n".join(lines) + "\n"
