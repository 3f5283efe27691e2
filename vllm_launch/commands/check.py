"""check: what would make a launch fail, before it does."""

from __future__ import annotations

import os

from ..errors import CheckFailed, UsageError
from ..host.checkpoint import find, read
from ..host.system import read_system
from ..preflight import CHECKS, Situation, review, script, unknown_codes, wanted
from ..preflight.situation import Shape
from ..resolve.shapes import kv_bytes_per_token, legal_tp_sizes, why_not_tp
from ..streams import answer
from ..vllm_options import load
from .plan import make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..model.deployment import ProcessPlan
    from ..preflight import Review
    from ..settings import Settings
    from .plan import Plan


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the findings; exit status 4 where one of them stops a launch."""
    if settings["list"]:
        from ..render.findings import checks_text

        answer(checks_text(CHECKS))
        return 0
    if invocation.argument is None:
        raise UsageError("check needs a MODEL", hint="or --list; see vllm-launch check --help")
    unknown = unknown_codes(settings.listed("skip"))
    if unknown:
        raise UsageError(
            f"{settings.source('skip')}: no check is called {', '.join(unknown)}",
            hint="see vllm-launch check --list",
        )
    plan = make(invocation, settings)
    reviews = [
        (process, review(_situation(plan, process, settings), settings.listed("skip")))
        for process in plan.processes
    ]
    _print(reviews, settings)
    return CheckFailed.exit_status if _stops(reviews, settings) else 0


def _stops(reviews: list[tuple[ProcessPlan, Review]], settings: Settings) -> bool:
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
    size = int(process.value("--tensor-parallel-size") or 1)
    experts = any(flag == "--enable-expert-parallel" for flag, _, _ in process.arguments)
    return Shape(
        refused=why_not_tp(checkpoint, size, expert_parallel=experts) or "",
        legal=legal_tp_sizes(checkpoint, max(size, 8), expert_parallel=experts),
        kv_bytes_per_token=kv_bytes_per_token(checkpoint, process.value("--kv-cache-dtype"), size),
        weight_bytes=checkpoint.weight_bytes,
        context_length=checkpoint.context_length,
    )


def _print(reviews: list[tuple[ProcessPlan, Review]], settings: Settings) -> None:
    if settings["fix"]:
        answer(script(found for _, each in reviews for found in each.findings))
    elif settings["output"] == "json":
        from ..render.envelope import envelope
        from ..render.findings import reviews_record

        answer(envelope("check", reviews_record(reviews)))
    else:
        from ..render.findings import reviews_text

        answer(reviews_text(reviews))
