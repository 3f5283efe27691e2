"""check: what would make a launch fail, before it does."""

from __future__ import annotations

from ..errors import CheckFailed, UsageError
from ..preflight import CHECKS, script
from ..preflight.across import ACROSS
from ..streams import answer
from .codes import answer_codes, refuse_json_of
from .host import facts_paths
from .plan import make_plan
from .reviews import require_known_codes, reviews_of, reviews_of_nodes, stops

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings
    from .plan import Plan
    from .reviews import Reviews


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the findings; exit status 4 where one of them stops a launch."""
    if settings["list"]:
        answer_codes([*((check.code, check.about) for check in CHECKS), *ACROSS], settings)
        return 0
    refuse_json_of("fix", settings)
    if invocation.argument is None:
        raise UsageError("check needs a MODEL", hint="or --list; see vllm-launch check --help")
    require_known_codes(settings)
    if settings["deep"] and len(facts_paths(settings)) > 1:
        raise UsageError(
            f"{settings.source('deep')} asks the vLLM of this machine, and no machine is looked at "
            "where several are compared",
            hint="leave out one of --deep and the --host-facts of several nodes",
        )
    plan = make_plan(invocation, settings)
    if len(facts_paths(settings)) > 1:
        from .nodes import run as compare

        return compare(plan, settings)
    reviews = _of_one_machine(plan, settings)
    _print(reviews, settings)
    return CheckFailed.exit_status if stops(reviews, settings) else 0


def _of_one_machine(plan: Plan, settings: Settings) -> Reviews:
    """What is found by looking at this machine, or at another's saved facts alone."""
    paths = facts_paths(settings)
    if not paths or settings["deep"]:
        return reviews_of(plan, settings)
    from .nodes import nodes_of

    return reviews_of_nodes(plan, nodes_of(paths), settings)[1]


def _print(reviews: Reviews, settings: Settings) -> None:
    if settings["fix"]:
        answer(script(found for _, each in reviews for found in each.findings))
    elif settings["output"] == "json":
        from ..render.envelope import envelope
        from ..render.findings import reviews_record

        answer(envelope("check", reviews_record(reviews)))
    else:
        from ..render.findings import reviews_text

        answer(reviews_text(reviews))
