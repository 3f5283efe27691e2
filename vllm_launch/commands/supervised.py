"""serve --wait and --detach: start a server, keep what it is, see that it does as promised."""

from __future__ import annotations

import os
from time import time

from ..errors import UsageError
from ..launch import program_path
from ..model.secrets import concealed
from ..running import condition, engine, process, reality, state
from ..running.promise import Promise, to_record
from ..running.state import Container, Kept
from .answering import address_of, intent_for, promise_of
from .container import names_of
from .detached import start_detached
from .foreground import run_in_foreground
from .job import Job
from .kept import asked_name
from .printing import command_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..resolve.container import ContainerSetup
    from ..running.address import Address
    from ..running.reality import Intent
    from ..settings import Settings
    from .plan import Plan


def start(
    plan: Plan,
    settings: Settings,
    setup: ContainerSetup | None,
    line: Sequence[str],
    environment: Mapping[str, str],
    path: str | None,
) -> int:
    """Start the plan's server, in the foreground or detached. Raises LaunchError."""
    server = plan.processes[0]
    address, promise, intent = _answering(plan, settings)
    kept = Kept(
        name=asked_name(settings) or state.usual_name(server.model),
        model=plan.deployment.recipe.id,
        url=address.url if address is not None else "",
        since=time(),
        launcher=process.identity_of(os.getpid()),
        promise=None if promise is None else to_record(promise),
        intent=None if intent is None else reality.to_record(intent),
        line=tuple(map(concealed, line)),
    )
    _require_place(kept, exactly=settings["name"] is not None)
    kept = state.claim(kept, _is_over, exactly=settings["name"] is not None)
    try:
        if setup is not None:
            kept, setup = _in_container(kept, setup, settings)
        argv, _ = command_of(plan, server, setup)
        job = Job(
            kept=kept,
            promise=promise or Promise(),
            intent=intent,
            address=address,
            program=program_path(argv[0], path),
            argv=tuple(argv),
            environment=environment,
        )
        return (
            start_detached(job, settings)
            if settings["detach"]
            else run_in_foreground(job, settings)
        )
    except state.Unwritable:  # only of what has not begun
        state.forget(kept.name)
        raise


def _require_place(kept: Kept, *, exactly: bool) -> None:
    """Raise UsageError where another server that runs is to answer at the same place.

    While that one loads nothing listens there, and this one would end only once it has loaded.
    """
    place = kept.url.rpartition("://")[2]
    for other in filter(None, map(state.read, state.names())):
        same_name = exactly and other.name == kept.name  # the claim says so
        if not place or same_name or other.url.rpartition("://")[2] != place:
            continue
        if condition.condition(other).runs:
            option = "-- --uds" if place.startswith("unix:") else "--port"
            raise UsageError(
                f"{other.name} runs already at {other.url}",
                hint=f"end it with vllm-launch stop {other.name}, or give another {option}",
            )


def _answering(
    plan: Plan, settings: Settings
) -> tuple[Address | None, Promise | None, Intent | None]:
    """Where the server answers, what it promises and what is intended; of a headless one nothing.

    Raises UsageError where that is to be tested.
    """
    server = plan.processes[0]
    if not any(flag == "--headless" for flag, _, _ in server.arguments):
        return address_of(plan, settings), promise_of(plan), intent_for(plan)
    if settings["wait"]:
        raise UsageError(
            f"the {server.title} answers no requests: there is nothing to be tested",
            hint="leave --wait out, and use it for the head",
        )
    return None, None, None


def _in_container(
    kept: Kept, setup: ContainerSetup, settings: Settings
) -> tuple[Kept, ContainerSetup]:
    """The record with its container, which has the name that was claimed."""
    setup = setup.replace(**names_of(kept.name, settings))
    kept = kept.replace(container=Container(engine=setup.engine, name=setup.name or ""))
    state.amend(kept)
    return kept, setup


def _is_over(kept: Kept) -> bool:
    """Whether a name is free again; what its container has left is taken away."""
    now = condition.condition(kept)
    if now.runs or now.state == "unknown":
        return False
    if kept.container is not None:
        engine.remove(kept.container, kept.name)
    return True
