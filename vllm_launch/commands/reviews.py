"""Run the checks for a plan: what check prints, and what stops a launch."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..host.checkpoint import find, read
from ..host.system import read_system
from ..preflight import Situation, review, unknown_codes, wanted
from ..preflight.situation import Shape
from ..resolve.shapes import kv_bytes_per_token, legal_tp_sizes, why_not_tp
from ..vllm_options import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from ..model.deployment import ProcessPlan
    from ..model.part import Part
    from ..preflight import Review
    from ..settings import Settings
    from .plan import Plan

    Reviews: TypeAlias = list[tuple[ProcessPlan | Part, Review]]


def require_known_codes(settings: Settings) -> None:
    """Raise UsageError for a --skip that names no check."""
    unknown = unknown_codes(settings.listed("skip"))
    if unknown:
        raise UsageError(
            f"{settings.source('skip')}: no check is called {', '.join(unknown)}",
            hint="see vllm-launch check --list",
        )


def reviews_of(plan: Plan, settings: Settings) -> Reviews:
    """What the checks find, for each process that is this run's."""
    skip = settings.listed("skip")
    if not plan.parts:
        return [
            (process, review(_situation(plan, process, settings), skip))
            for process in plan.processes
        ]
    return [
        (part, review(_part_situation(plan, part, settings), skip))
        for part in plan.parts
        if part.argv
    ]


def stops(reviews: Reviews, settings: Settings) -> bool:
    """Whether a failure, or under --strict a warning, was found."""
    stopping = ("fail", "warn") if settings["strict"] else ("fail",)
    return any(found.severity in stopping for _, each in reviews for found in each.findings)


def _part_situation(plan: Plan, part: Part, settings: Settings) -> Situation:
    """What the checks look at of one part: a server, or what runs beside the servers."""
    if part.plan is not None:
        return _situation(plan, part.plan, settings, part)
    from ..model.deployment import ProcessPlan
    from ..model.source import Source, paired

    source = part.source or Source(layer=part.role)
    words = paired((word, source) for word in part.argv[1:])
    variables = tuple((name, value, source) for name, value in part.env)
    process = ProcessPlan(
        role=part.role, rank=part.rank, model="", arguments=words, layers=words,
        variables=variables, variable_layers=variables,
    )  # fmt: skip
    situation = Situation(
        deployment=plan.deployment, process=process, beside=part,
        written=_written(part), addresses=plan.addresses,
    )  # fmt: skip
    return situation.replace(system=read_system(wanted(situation)))


def _written(part: Part | None) -> tuple[str, ...]:
    return tuple(file.path for file in part.files if file.path) if part is not None else ()


def _situation(
    plan: Plan, process: ProcessPlan, settings: Settings, part: Part | None = None
) -> Situation:
    """What the checks look at: the plan, and of the machine what the plan makes matter."""
    situation = Situation(
        deployment=plan.deployment,
        process=process,
        runtime=settings["runtime"] or "native",
        hardened=bool(settings["hardened"]),
        facts=plan.facts,
        options=load(),
        shape=_shape(process),
        written=_written(part),
        addresses=plan.addresses,
    )
    return situation.replace(system=read_system(wanted(situation)))


def _shape(process: ProcessPlan) -> Shape | None:
    """What the checkpoint's own config says, where it is local or in the hub cache."""
    path = find(process.model, os.environ)
    checkpoint = read(path) if path is not None else None
    if checkpoint is None:
        return None
    size = process.number("--tensor-parallel-size") or 1
    experts = any(flag == "--enable-expert-parallel" for flag, _, _ in process.arguments)
    return Shape(
        refused=why_not_tp(checkpoint, size, expert_parallel=experts) or "",
        legal=legal_tp_sizes(checkpoint, max(size, 8), expert_parallel=experts),
        kv_bytes_per_token=kv_bytes_per_token(checkpoint, process.value("--kv-cache-dtype"), size),
        weight_bytes=checkpoint.weight_bytes,
        context_length=checkpoint.context_length,
    )
