"""serve: resolve a recipe into a command, and print it or become it."""

from __future__ import annotations

from ..streams import remark
from .plan import make_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..commandline import Invocation
    from ..resolve.container import ContainerSetup
    from ..settings import Settings
    from .plan import Plan


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the plan, or become its process."""
    if settings["skip"]:
        from .reviews import require_known_codes

        require_known_codes(settings)
    plan = make_plan(invocation, settings)
    setup = _container_setup(plan, settings)
    if settings["locked"]:
        from .lock import require_lock

        require_lock(plan, setup, settings)
    if settings["dry_run"] or settings["output"]:
        _print(plan, settings, setup)
        return 0
    from .execute import execute

    return execute(plan, settings, setup, invocation.line)


def _container_setup(plan: Plan, settings: Settings) -> ContainerSetup | None:
    if settings["runtime"] in (None, "native"):
        return None
    from .container import container_setup

    return container_setup(plan, settings)


def _print(plan: Plan, settings: Settings, setup: ContainerSetup | None) -> None:
    from .printing import print_plan, print_remarks

    if settings["lock"]:
        from .lock import write_lock

        write_lock(plan, setup, settings)
    print_plan(plan, settings, setup)
    print_remarks(plan)
    source = settings.source("output")
    if not settings["dry_run"] and not source.startswith("-"):
        remark(f"# printed, and not started: {source} asks for an output\n")
