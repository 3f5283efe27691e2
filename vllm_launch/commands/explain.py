"""explain: where every flag, variable and choice comes from."""

from __future__ import annotations

from ..streams import answer
from .plan import make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..settings import Settings


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the plan's provenance."""
    plan = make(invocation, settings)
    if settings["output"] == "json":
        from ..render.envelope import deployment_envelope

        answer(
            deployment_envelope(plan.deployment, plan.processes, None, settings, plan.found.origin)
        )
    else:
        from ..render.explanation import explanation
        from ..render.summary import settings_text

        answer(explanation(plan.deployment, plan.processes, settings.source, plan.found.origin))
        answer(settings_text(settings))
    return 0
