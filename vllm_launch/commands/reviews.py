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
    from ..preflight import Review
    from ..settings import Settings
    from .plan import Plan

    Reviews: TypeAlias = list[tuple[ProcessPlan, Review]]


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
    return [
        (process, review(_situation(plan, process, settings), skip)) for process in plan.processes
    ]


def stops(reviews: Reviews, settings: Settings) -> bool:
    """Whether a failure, or under --strict a warning, was found."""
    stopping = ("fail", "warn") if settings["strict"] else ("fail",)
    return any(found.severity in stopping for _, each in reviews for found in each.findings)


def _situation(plan: Plan, process: ProcessPlan, settings: Settings) -> Situation:
    """What the checks look at: the plan, and of the machine what the plan makes matter."""
    situation = Situation(
        deployment=plan.deployment,
        process=process,
        runtime=settings["runtime"] or "native",
        hardened=bool(settings["hardened"]),
        facts=plan.facts,
        options=load(),
        shape=_shape(process),
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
