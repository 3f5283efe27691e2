"""Run the checks for a plan: what check prints, and what stops a launch."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..host.checkpoint import find, read
from ..host.system import read_system
from ..model.part import Part
from ..preflight import Situation, review, unknown_codes, wanted
from ..preflight.nodes import Planned
from ..preflight.saved import system_of
from ..preflight.situation import Shape
from ..resolve.endpoints import names_in_json
from ..resolve.shapes import kv_cache, legal_tp_sizes, why_not_tp
from ..vllm_options import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from ..model.deployment import ProcessPlan
    from ..preflight import Review
    from ..preflight.nodes import Node
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
    situations = [_here(_situation(plan, one, settings)) for one in _subjects(plan)]
    if settings["deep"] and "all" not in skip:
        from .deep import deepened

        situations = list(deepened(situations))
    each = zip(_subjects(plan), situations, strict=True)
    return [(subject, review(situation, skip)) for subject, situation in each]


def _subjects(plan: Plan) -> Sequence[ProcessPlan | Part]:
    """What is looked at: the plan's parts, or its servers where they are all of it."""
    return [part for part in plan.parts if part.argv] if plan.parts else plan.processes


def reviews_of_nodes(
    plan: Plan, nodes: Sequence[Node], settings: Settings
) -> tuple[list[str], Reviews]:
    """What the saved facts of each node say of what is planned for it, and its name.

    The facts of one are those of all. What is not filled in may be known on the machine alone.
    """
    names, found = [], []
    skip = settings.listed("skip")
    for number, node in enumerate(nodes):
        system = system_of(node.facts, planned_on(plan, settings))
        for one in _subjects(plan):
            if len(nodes) > 1 and isinstance(one, Part) and one.node != number:
                continue
            situation = _situation(plan.replace(facts=node.facts), one, settings)
            each = review(situation.replace(system=system), (*skip, "PLACEHOLDER"))
            asked = tuple(code for code in each.skipped if "all" in skip or code in skip)
            names.append(node.name)
            found.append((one, each.replace(skipped=asked)))
    return names, found


def planned_on(plan: Plan, settings: Settings) -> Planned:
    """What is to run on each machine."""
    runtime = settings["runtime"] or "native"
    engine = "" if runtime == "native" else runtime
    return Planned(engine=engine, image=plan.deployment.image or "")


def stops(reviews: Reviews, settings: Settings) -> bool:
    """Whether a failure, or under --strict a warning, was found."""
    stopping = ("fail", "warn") if settings["strict"] else ("fail",)
    return any(found.severity in stopping for _, each in reviews for found in each.findings)


def _here(situation: Situation) -> Situation:
    """The same with what this machine is like, as far as the plan makes it matter."""
    return situation.replace(system=read_system(wanted(situation)))


def _situation(plan: Plan, one: ProcessPlan | Part, settings: Settings) -> Situation:
    """What the checks look at of a server, or of what runs beside the servers."""
    if not isinstance(one, Part):
        return _of_server(plan, one, settings, None)
    return _of_server(plan, one.plan, settings, one) if one.plan else _beside(plan, one)


def _beside(plan: Plan, part: Part) -> Situation:
    from ..model.deployment import ProcessPlan
    from ..model.source import Source, paired

    source = part.source or Source(layer=part.role)
    words = paired((word, source) for word in part.argv[1:])
    variables = tuple((name, value, source) for name, value in part.env)
    process = ProcessPlan(
        role=part.role, rank=part.rank, model="", arguments=words, layers=words,
        variables=variables, variable_layers=variables,
    )  # fmt: skip
    return Situation(
        deployment=plan.deployment, process=process, beside=part, **_of_plan(plan, part)
    )


def _of_plan(plan: Plan, part: Part | None) -> dict[str, Any]:
    """What the rest of the deployment has to do with a part."""
    if part is None:
        return {}
    return {
        "addresses": plan.addresses,
        "written": tuple(file.path for file in part.files if file.path),
        "found_later": tuple(one.name for one in plan.unfilled if one.by_itself),
        "in_files": tuple(name for f in part.files for name in names_in_json(f.content)),
    }


def _of_server(
    plan: Plan, process: ProcessPlan, settings: Settings, part: Part | None
) -> Situation:
    return Situation(
        deployment=plan.deployment,
        process=process,
        runtime=settings["runtime"] or "native",
        hardened=bool(settings["hardened"]),
        facts=plan.facts,
        options=load(),
        shape=_shape(process),
        **_of_plan(plan, part),
    )


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
        kv_cache=kv_cache(checkpoint, process.value("--kv-cache-dtype"), size),
        weight_bytes=checkpoint.weight_bytes,
        context_length=checkpoint.context_length,
    )
