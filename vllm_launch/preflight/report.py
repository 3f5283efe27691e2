"""The remedies of findings as a shell script. It is printed, never run from here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.finding import Finding


def script(findings: Iterable[Finding]) -> str:
    """Each command once, under what it mends; what has no command stands as a comment."""
    blocks, seen = [], set()
    for finding in findings:
        if finding.severity == "note" or (finding.command and finding.command in seen):
            continue
        seen.add(finding.command)
        lines = [f"# {finding.code}: {_one_line(finding.what)}"]
        lines += [f"# {_one_line(finding.remedy)}"] if finding.remedy else []
        lines += [finding.command] if finding.command else []
        blocks.append("\n".join(lines) + "\n")
    head = (
        "#!/bin/sh\n# Read before running: each command mends one finding of vllm-launch check.\n"
    )
    return "\n".join([head + "set -eu\n", *blocks]) if blocks else ""


def _one_line(text: str) -> str:
    """Text that stays a comment, whatever is in it."""
    return " ".join(text.split())
