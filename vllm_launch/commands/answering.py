"""Which process of a plan answers requests, where, and what it promises."""

from __future__ import annotations

from ..errors import LaunchError, UsageError
from ..running.address import PORT, Address, of_process, reached
from ..running.promise import Promise, promised
from ..running.reality import Intent, intent_of
from .plan import make_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..commandline import Invocation
    from ..model.deployment import ProcessPlan
    from ..settings import Settings
    from .plan import Plan

_BEFORE = ("frontend", "router", "proxy")  # what answers in the servers' place


def answering(invocation: Invocation, settings: Settings) -> tuple[Address, Promise, Intent | None]:
    """Where a plan's requests go, what is promised, and what is intended. Raises LaunchError."""
    plan = make_plan(invocation, settings, anywhere=settings["url"] is not None)
    # With an address of its own the server may be anybody's, on other hardware.
    intent = intent_for(plan) if settings["url"] is None or settings["hardware"] else None
    return address_of(plan, settings), promise_of(plan), intent


def intent_for(plan: Plan) -> Intent | None:
    """What a plan intends of its answering process; of a router's servers nothing is seen."""
    if any(part.role in _BEFORE for part in plan.parts):
        return None
    return intent_of(plan.deployment, _server(plan))


def promise_of(plan: Plan) -> Promise:
    """What a plan's answering process promises. Raises UsageError where none answers."""
    return promised(plan.deployment, _server(plan))


def address_of(plan: Plan, settings: Settings) -> Address:
    """Where a plan's requests go, seen from this machine. Raises UsageError where none do."""
    before = next((part for part in plan.parts if part.role in _BEFORE and part.argv), None)
    if before is not None:
        listens = _word(before.argv, "--host")
        port = _word(before.argv, "--port")
        number = int(port) if port.isdecimal() else before.port
        return Address(host=reached("" if "$" in listens else listens), port=number or PORT)
    process = _server(plan)
    part = next((part for part in plan.parts if part.plan is process), None)
    published = settings["runtime"] in ("docker", "podman") and not plan.deployment.on_host_network
    host: str | None = (settings["host"] or "") if published else None
    return of_process(process, part.port if part is not None else None, host)


def _server(plan: Plan) -> ProcessPlan:
    """The first server that answers HTTP."""
    for process in plan.processes or plan.deployment.processes:
        if not any(flag == "--headless" for flag, _, _ in process.arguments):
            return process
    raise UsageError(
        "this process answers no requests: another node's does",
        hint="verify the head's, or name its address with --url",
    )


def _word(argv: Sequence[str], flag: str) -> str:
    """The word after a flag; "" where there is none."""
    words = list(argv)
    return words[words.index(flag) + 1] if flag in words[:-1] else ""


def promise_of_model(model: str, settings: Settings) -> Promise | None:
    """What a model's recipe promises where nothing is chosen; None where no recipe has it."""
    from ..catalog.shelf import Shelf
    from ..model.choice import Request
    from ..resolve.resolver import Resolver

    try:
        found = Shelf(settings.listed("recipes_dir"), settings.listed("sources")).find(model)
        library = found.library
        resolver = Resolver(found.recipe, library)
        deployment = resolver.resolve(resolver.choose(Request(variant=found.variant)))
    except LaunchError:
        return None
    return promised(deployment, deployment.processes[0])
