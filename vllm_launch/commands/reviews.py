"""Run the checks for a plan: what check prints, and what stops a launch."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..host.checkpoint import find, read
from ..host.system import read_system
from ..model.part import Part
from ..model.system import SystemFacts, Vllm
from ..preflight import Situation, review, unknown_codes, wanted
from ..preflight.situation import Shape
from ..preflight.unread import NOBODY_LOOKED
from ..resolve.endpoints import names_in_json
from ..resolve.shapes import kv_bytes_per_token, legal_tp_sizes, why_not_tp
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
    situations = _situations(plan, settings)
    if settings["deep"] and "all" not in skip:
        from .deep import deepened

        situations = list(deepened(situations))
    each = zip(_subjects(plan), situations, strict=True)
    return [(subject, review(situation, skip)) for subject, situation in each]


def _subjects(plan: Plan) -> Sequence[ProcessPlan | Part]:
    """What is looked at: the plan's parts, or its servers where they are all of it."""
    return [part for part in plan.parts if part.argv] if plan.parts else plan.processes


def _situations(plan: Plan, settings: Settings) -> list[Situation]:
    return [
        _part_situation(plan, one, settings)
        if isinstance(one, Part)
        else _situation(plan, one, settings)
        for one in _subjects(plan)
    ]


def reviews_of_nodes(
    plan: Plan, nodes: Sequence[Node], settings: Settings
) -> tuple[list[str], Reviews]:
    """What the saved facts of each node say of the servers that are planned for it, and its name.

    The facts of one are those of all. What only a look at the machine could tell is left out.
    """
    names, found = [], []
    for number, node in enumerate(nodes):
        for one in plan.parts or plan.processes:
            server = one.plan if isinstance(one, Part) else one
            elsewhere = len(nodes) > 1 and isinstance(one, Part) and one.node != number
            if server is None or elsewhere:
                continue
            part = one if isinstance(one, Part) else None
            vllm = node.facts.vllm
            known = SystemFacts(vllm=Vllm(path="vllm", version=vllm) if vllm else None)
            bare = _bare(plan.replace(facts=node.facts), server, settings, part)
            each = review(bare.replace(system=known), (*settings.listed("skip"), "PLACEHOLDER"))
            told = tuple(f for f in each.findings if not f.what.endswith(NOBODY_LOOKED))
            names.append(node.name)
            found.append((one, each.replace(findings=told, skipped=())))
    return names, found


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
        **_of_plan(plan, part),
    )  # fmt: skip
    return situation.replace(system=read_system(wanted(situation)))


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


def _situation(
    plan: Plan, process: ProcessPlan, settings: Settings, part: Part | None = None
) -> Situation:
    """What the checks look at: the plan, and of the machine what the plan makes matter."""
    situation = _bare(plan, process, settings, part)
    return situation.replace(system=read_system(wanted(situation)))


def _bare(plan: Plan, process: ProcessPlan, settings: Settings, part: Part | None) -> Situation:
    """The same without a look at the machine."""
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
        kv_bytes_per_token=kv_bytes_per_token(checkpoint, process.value("--kv-cache-dtype"), size),
        weight_bytes=checkpoint.weight_bytes,
        context_length=checkpoint.context_length,
    )
