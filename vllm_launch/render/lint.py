"""What lint found, as text, as records and as SARIF."""

from __future__ import annotations

import os

from ..lint.codes import CODES
from .wrapping import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..lint import Fault

_INDENT = " " * 4
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(found: Sequence[Fault], files: int, tried: int) -> str:
    """Each fault with its place and what mends it, then the counts."""
    lines: list[str] = []
    for one in found:
        lines += _fault(one)
    return "\n".join([*lines, _counts(found, files, tried)]) + "\n"


def _fault(one: Fault) -> Iterator[str]:
    place = "".join(char if char.isprintable() else " " for char in one.place)
    yield f"{place}: {one.severity} {one.code}"
    times = f" (in {one.combinations} combinations)" if one.combinations > 1 else ""
    where = f"at {one.path}" if one.path else ""
    for part in (f"{one.what}{times}", one.remedy, where):
        yield from wrapped(part, _INDENT)


def _counts(found: Sequence[Fault], files: int, tried: int) -> str:
    counts = []
    for severity in ("error", "warning", "note"):
        number = sum(one.severity == severity for one in found)
        counts.append(f"{number} {severity}{'s' * (number != 1)}")
    looked = f"{files} file{'s' * (files != 1)}, {tried} combinations"
    return f"{', '.join(counts)} in {looked}"


def record(found: Sequence[Fault], files: int, tried: int) -> dict[str, Any]:
    """The same for programs."""
    return {"files": files, "combinations": tried, "faults": [_record(one) for one in found]}


def _record(one: Fault) -> dict[str, Any]:
    return {
        "code": one.code,
        "severity": one.severity,
        "file": one.file,
        "line": one.line or None,
        "column": one.column or None,
        "path": one.path or None,
        "what": one.what,
        "remedy": one.remedy or None,
        "combinations": one.combinations or None,
        "fixable": bool(one.edits),
    }


def sarif(found: Sequence[Fault]) -> str:
    """A SARIF 2.1.0 log, as code hosts show it beside the lines."""
    import json

    from .. import __version__

    driver = {
        "name": "vllm-launch",
        "version": __version__,
        "rules": [_rule(code, about) for code, about in CODES.items()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one) for one in found],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _rule(code: str, about: str) -> dict[str, Any]:
    """A code, with the texts that a code host asks for."""
    text = {"text": f"{about[0].upper()}{about[1:]}."}
    help_text = {"text": "What is wrong, and what mends it, stands in each result's message."}
    return {"id": code, "shortDescription": text, "fullDescription": text, "help": help_text}


def _result(one: Fault) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(one.file)}
    if one.line:
        place["region"] = {"startLine": one.line}
        if one.column:
            place["region"]["startColumn"] = one.column
    location: dict[str, Any] = {"physicalLocation": place}
    if one.path:
        location["logicalLocations"] = [{"fullyQualifiedName": one.path}]
    message = f"{one.what}. {one.remedy}" if one.remedy else one.what
    return {
        "ruleId": one.code,
        "ruleIndex": list(CODES).index(one.code),
        "level": one.severity,
        "message": {"text": message},
        "locations": [location],
    }


def _artifact(file: str) -> dict[str, str]:
    """Where a file is: below the directory that lint ran in, or else in full."""
    from urllib.parse import quote

    path = os.path.normpath(file)
    if path.startswith(("/", "..")):
        return {"uri": f"file://{quote(os.fsencode(os.path.abspath(path)))}"}
    return {"uri": quote(os.fsencode(path)), "uriBaseId": "%SRCROOT%"}
