"""The versioned JSON envelope that every command's --output json has."""

from __future__ import annotations

import json

from .. import __version__
from ..streams import without_secrets
from .origin import origin_record
from .records import deployment_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from ..errors import LaunchError
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.origin import Origin
    from ..model.part import Part
    from ..model.source import Source
    from ..resolve.container import ContainerSetup

FORMAT = 1


def envelope(kind: str, body: Any) -> str:
    """A JSON document: what it is, its format's version, and the body."""
    document = {"kind": kind, "format": FORMAT, "vllm_launch": __version__, kind: body}
    return json.dumps(document, indent=2) + "\n"  # ASCII: words may be of no encoding


def error_envelope(error: LaunchError) -> str:
    """Why there is no answer, and the exit status that goes with it."""
    body = {
        "code": error.code,
        "message": without_secrets(error.message),
        "problems": [without_secrets(str(each)) for each in getattr(error, "problems", ())],
        "hint": without_secrets(error.hint) or None,
        "exit_status": error.exit_status,
    }
    return envelope("error", body)


def deployment_envelope(
    deployment: Deployment,
    processes: Sequence[ProcessPlan],
    setup: ContainerSetup | None,
    settings: Iterable[tuple[str, Any, str]],
    origin: Origin,
    parts: Iterable[tuple[Part, Sequence[str], Mapping[str, str]]] = (),
) -> str:
    """A deployment with its source, choice, reasons and provenance, and what set each option.

    ``parts`` come with the words and variables that each is started with.
    """
    shown = deployment.replace(processes=tuple(processes))
    body = deployment_record(shown, setup) if setup is not None else deployment_record(shown)
    body["recipe"] = deployment.recipe.id
    body["verified"] = origin.verified
    body["origin"] = origin_record(origin)
    if deployment.store is not None:
        body["store_command"] = deployment.store.store_command
    body["reasons"] = reasons_record(deployment)
    body["settings"] = [
        {"option": name, "value": value, "source": source} for name, value, source in settings
    ]
    for record, plan in zip(body["processes"], processes, strict=True):
        record["provenance"] = provenance_record(plan)
    part_records = [_part(*each) for each in parts]
    if part_records:
        body["parts"] = part_records
    return envelope("deployment", body)


def _part(part: Part, argv: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """One process of the whole, in start order."""
    from ..resolve.placeholders import unfilled

    return {
        "name": part.name,
        "role": part.role,
        "rank": part.rank,
        "node": part.node,
        "argv": list(argv) or None,
        "text": part.text or None,
        "env": dict(env),
        "port": part.port,
        "files": [
            {"placeholder": f.placeholder, "path": f.path or None, "content": f.content}
            for f in part.files
        ],
        "after": list(part.after),
        "placeholders": list(unfilled(part)),
        "source": _source(part.source) if part.source is not None else None,
    }


def reasons_record(deployment: Deployment) -> list[dict[str, str]]:
    """Why each thing was chosen."""
    return [
        {"subject": subject, "picked": picked, "why": why}
        for subject, picked, why in deployment.choice.reasons
    ]


def provenance_record(plan: ProcessPlan) -> dict[str, Any]:
    """Where every argument and variable of a process comes from, and what each beat."""
    return {
        "arguments": [
            {
                "argument": list(argument[1]),
                **_source(argument[2]),
                "beat": [
                    {"argument": list(lost[1]), **_source(lost[2])}
                    for lost in plan.beaten(argument)
                ],
            }
            for argument in plan.arguments
        ],
        "variables": [
            {
                "name": variable[0],
                "value": variable[1],
                **_source(variable[2]),
                "beat": [
                    {"value": lost[1], **_source(lost[2])}
                    for lost in plan.beaten_variables(variable)
                ],
            }
            for variable in plan.variables
        ],
    }


def _source(source: Source) -> dict[str, Any]:
    return {
        "layer": source.layer,
        "file": source.file or None,
        "line": source.line or None,
        "detail": source.detail or None,
    }
