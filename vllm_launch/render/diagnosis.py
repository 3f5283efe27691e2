"""What a log was found to say, for a person and for a program."""

from __future__ import annotations

from .wrapping import width, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..diagnose import Diagnosis


def diagnosis_text(found: Sequence[Diagnosis]) -> str:
    """Each failure: its line, what it means, what to do, and the command to try."""
    from textwrap import wrap

    blocks = []
    for each in found:
        symptom = each.symptom
        lines = [f"{symptom.code}  line {each.line}"]
        lines += wrap(each.text, width(), initial_indent="  | ", subsequent_indent="  | ")[:4]
        advice = f"{symptom.what[:1].upper()}{symptom.what[1:]}. {symptom.remedy}"
        lines += wrapped(advice, "  ")
        lines += [f"    {each.command}"] if each.command else []
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def diagnosis_record(found: Sequence[Diagnosis]) -> list[dict[str, Any]]:
    """The same as plain data."""
    return [
        {
            "code": each.symptom.code,
            "line": each.line,
            "text": each.text,
            "what": each.symptom.what,
            "remedy": each.symptom.remedy,
            "consequence": each.symptom.consequence,
            "next": each.command,
        }
        for each in found
    ]
