"""check with the saved facts of several nodes: each by itself, and all together."""

from __future__ import annotations

import os

from ..errors import CheckFailed
from ..host.facts_file import load
from ..model.part import SERVERS
from ..preflight import script
from ..preflight.across import across
from ..preflight.nodes import Node, compared
from ..streams import answer
from .host import facts_paths
from .reviews import planned_on, reviews_of_nodes, stops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.finding import Finding
    from ..preflight.nodes import Compared
    from ..settings import Settings
    from .plan import Plan
    from .reviews import Reviews


def run(plan: Plan, settings: Settings) -> int:
    """Print the nodes side by side and the findings; exit status 4 where one stops a launch."""
    nodes = nodes_of(facts_paths(settings))
    planned = planned_on(plan, settings)
    skip = settings.listed("skip")
    together = tuple(
        finding for finding in across(nodes, _needed(plan), planned)
        if "all" not in skip and finding.code not in skip
    )  # fmt: skip
    names, reviews = reviews_of_nodes(plan, nodes, settings)
    _print(nodes, compared(nodes, planned), together, names, reviews, settings)
    stopping = ("fail", "warn") if settings["strict"] else ("fail",)
    failed = any(finding.severity in stopping for finding in together)
    return CheckFailed.exit_status if failed or stops(reviews, settings) else 0


def nodes_of(paths: Sequence[str]) -> tuple[Node, ...]:
    """The facts in files, each under its host's name, else its file's: names that tell all apart.

    The same file may be named twice; ``across`` tells that.
    """
    found = [load(path) for path in paths]
    files = [os.path.basename(path).removesuffix(".json") for path in paths]
    hosts = [facts.hostname or file for facts, file in zip(found, files, strict=True)]
    apart = (names for names in (hosts, files) if len(set(names)) == len(names))
    names = next(apart, list(paths))
    return tuple(Node(name=name, facts=facts) for name, facts in zip(names, found, strict=True))


def _needed(plan: Plan) -> int:
    """How many machines the plan's servers are on."""
    return 1 + max((part.node for part in plan.parts if part.role in SERVERS), default=0)


def _print(
    nodes: Sequence[Node],
    rows: Sequence[Compared],
    together: Sequence[Finding],
    names: Sequence[str],
    reviews: Reviews,
    settings: Settings,
) -> None:
    if settings["fix"]:
        answer(script([*together, *(found for _, each in reviews for found in each.findings)]))
    elif settings["output"] == "json":
        from ..render.envelope import envelope
        from ..render.findings import reviews_record
        from ..render.nodes import nodes_record

        answer(
            envelope("nodes", nodes_record(nodes, rows, together, reviews_record(reviews, names)))
        )
    else:
        from ..render.findings import reviews_text
        from ..render.nodes import nodes_text
        from ..render.paper import paper

        answer(nodes_text(nodes, rows, together, paper(bool(settings["no_color"]))))
        answer(reviews_text(reviews, names) if reviews else "")
