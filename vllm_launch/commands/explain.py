"""explain: where every flag, variable and choice comes from."""

from __future__ import annotations

import sys

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

        sys.stdout.write(deployment_envelope(plan.deployment, plan.processes, None))
    else:
        from ..render.explanation import explanation

        sys.stdout.write(explanation(plan.deployment, plan.processes, settings.source))
    return 0
