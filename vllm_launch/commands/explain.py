"""explain: where every flag, variable and choice comes from."""

from __future__ import annotations

from ..streams import answer
from .plan import make_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the plan's provenance."""
    plan = make_plan(invocation, settings)
    if settings["output"] == "json":
        from ..render.envelope import deployment_envelope

        shown = [(part, part.argv, dict(part.env)) for part in plan.parts]
        answer(
            deployment_envelope(
                plan.deployment, plan.processes, None, settings, plan.found.origin, shown
            )
        )
    else:
        from ..render.explanation import explanation, placeholders_text
        from ..render.summary import settings_text

        everything = plan.parts or plan.processes
        answer(
            explanation(
                plan.deployment, everything, settings.source, plan.found.origin, settings["runtime"]
            )
        )
        answer(placeholders_text(plan.remarks, [(one.name, one.what) for one in plan.unfilled]))
        answer(settings_text(settings))
    return 0
