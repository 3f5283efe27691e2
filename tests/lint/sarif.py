"""What SARIF 2.1.0 demands of the objects that lint writes, as JSON Schema.

The standard's own schema knows more objects; of these it knows more properties, which lint does
not write. What code hosts demand beside it (texts of rules) is demanded here too.
"""

from __future__ import annotations

from typing import Any


def _object(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {**required, **optional},
        "required": list(required),
    }


def _list(items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


# RFC 3986: what stands for itself in a path, all else percent-encoded; no segment leads upward.
_SEGMENT = r"(?!\.{1,2}(/|$))([A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-F]{2})+"
_RELATIVE = rf"^{_SEGMENT}(/{_SEGMENT})*$"
_ABSOLUTE = rf"^file://(/{_SEGMENT})+$"

_TEXT = {"type": "string", "minLength": 1}
_FROM_ONE = {"type": "integer", "minimum": 1}
_MESSAGE = _object({"text": _TEXT})
_RULE = _object(
    {"id": _TEXT, "shortDescription": _MESSAGE, "fullDescription": _MESSAGE, "help": _MESSAGE}
)
_DRIVER = _object({"name": _TEXT, "version": _TEXT, "rules": _list(_RULE, uniqueItems=True)})
_ARTIFACT = {
    "oneOf": [
        _object({"uri": {"type": "string", "pattern": _RELATIVE}, "uriBaseId": _TEXT}),
        _object({"uri": {"type": "string", "pattern": _ABSOLUTE}}),
    ]
}
_REGION = _object({"startLine": _FROM_ONE}, startColumn=_FROM_ONE)
_LOCATION = _object(
    {"physicalLocation": _object({"artifactLocation": _ARTIFACT}, region=_REGION)},
    logicalLocations=_list(_object({"fullyQualifiedName": _TEXT}), uniqueItems=True),
)
_RESULT = _object(
    {
        "ruleId": _TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _MESSAGE,
        "locations": _list(_LOCATION, minItems=1),
    }
)
_RUN = _object(
    {
        "tool": _object({"driver": _DRIVER}),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
        "results": _list(_RESULT),
    }
)
SARIF = _object(
    {
        "$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"},
        "version": {"const": "2.1.0"},
        "runs": _list(_RUN, minItems=1, maxItems=1),
    }
)
