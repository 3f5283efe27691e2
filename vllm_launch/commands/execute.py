"""serve without --dry-run: check the plan, then become its process, or start it."""

from __future__ import annotations

import os

from ..errors import CheckFailed, UsageError, first_of
from ..launch import become, program_path
from ..streams import remark
from .printing import command_of, print_remarks, unfilled_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from ..model.part import Part
    from ..resolve.container import ContainerSetup
    from ..settings import Settings
    from .plan import Plan

_SHOWN = 12  # names in one line


def execute(
    plan: Plan, settings: Settings, setup: ContainerSetup | None, line: Sequence[str]
) -> int:
    """Check the plan, then become its process, or start it for --wait and --detach.

    ``line`` is the command line that asked for it. Raises LaunchError where it cannot be.
    """
    part = _one_part(plan, settings) if plan.parts else None
    if part is not None:
        plan = _narrowed(plan, part)
        if part.plan is None:
            _refuse_to_wait(part, settings)
            _become_part(plan, part, settings, line)
    process = plan.processes[0]
    _refuse_unfilled(plan)
    argv, variables = command_of(plan, process, setup)
    asked = (v for n, v, source in process.variables if (n, source.layer) == ("PATH", "operator"))
    path = next(asked, os.environ.get("PATH"))
    program_path(argv[0], path)
    print_remarks(plan)
    _tell_command(line)
    _check(plan, settings)
    if part is not None:
        _write_files(part)
    if settings["lock"]:
        from .lock import write_lock

        write_lock(plan, setup, settings)
    environment = {**_own_environment(), **variables}
    if settings["wait"] or settings["detach"]:
        from .supervised import start

        return start(plan, settings, setup, line, environment, path)
    return become(argv, environment, path)


def _refuse_to_wait(part: Part, settings: Settings) -> None:
    """Raise UsageError where what is no server is to be waited for."""
    if settings["wait"] or settings["detach"]:
        option = settings.source("wait") or settings.source("detach")
        raise UsageError(
            f"{option} is for servers, and this is the {part.title}",
            hint="leave it out; verify waits for what answers on a port",
        )


def _one_part(plan: Plan, settings: Settings) -> Part:
    """The part to become: the only one, or the only server where no role is asked for.

    Raises UsageError where that does not say which.
    """
    servers = [part for part in plan.parts if part.plan is not None]
    if len(plan.parts) == 1:
        return plan.parts[0]
    if len(servers) == 1 and settings["role"] is None:
        return servers[0]
    names = [part.title for part in plan.parts]
    raise UsageError(
        f"the deployment has {len(plan.parts)} processes ({', '.join(first_of(names, _SHOWN))}), "
        "and this runs one",
        hint="say which with --role and --node-rank, or print all with --dry-run",
    )


def _narrowed(plan: Plan, part: Part) -> Plan:
    """A plan for one part of it."""
    if len(plan.parts) == 1:
        return plan
    from ..resolve.placeholders import unfilled

    names = unfilled(part)
    said = f"this is the {part.title}; start what runs beside it by its --role"
    return plan.replace(
        parts=(part,),
        processes=(part.plan,) if part.plan is not None else (),
        unfilled=tuple(each for each in plan.unfilled if each.name in names),
        remarks=(said, *plan.remarks),
    )


def _become_part(plan: Plan, part: Part, settings: Settings, line: Sequence[str]) -> NoReturn:
    """Become a router, a store or what else runs beside the servers."""
    if not part.argv:
        raise UsageError(
            f"the recipe's command for the {part.title} needs a shell, and none is run",
            hint="print it with --dry-run, and run it by hand",
        )
    if settings["runtime"] in ("docker", "podman"):
        raise UsageError(
            f"no image is known for the {part.title}", hint="leave --runtime out: it runs natively"
        )
    _refuse_unfilled(plan)
    path = os.environ.get("PATH")
    program_path(part.argv[0], path)
    print_remarks(plan)
    _tell_command(line)
    _check(plan, settings)
    _write_files(part)
    become(part.argv, {**_own_environment(), **dict(part.env)}, path)


def _tell_command(line: Sequence[str]) -> None:
    """The launcher's own command, for whoever reads the server's log, diagnose above all."""
    from .retry import started_as

    remark(started_as(line), as_it_is=True)


def _own_environment() -> dict[str, str]:
    """This process's variables, without the launcher's own."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith("VLLM_LAUNCH_")
    }


def _check(plan: Plan, settings: Settings) -> None:
    """Run the checks; what fails stops a launch on the host that was planned for.

    With --hardware the operator says what this machine is: findings are told, and stop nothing.
    Raises CheckFailed.
    """
    from ..render.findings import reviews_text
    from .reviews import reviews_of, stops

    reviews = reviews_of(plan, settings)
    if any(found.severity != "note" for _, each in reviews for found in each.findings):
        remark(reviews_text(reviews, notes=False), as_it_is=True)
    if plan.facts is not None and settings["host_facts"] is None and stops(reviews, settings):
        raise CheckFailed(
            "a check failed, and nothing was started",
            hint="mend what is said above, or leave checks out: --skip CODE, --skip all",
        )


def _write_files(part: Part) -> None:
    """Write what the process reads before it is there."""
    if part.files:
        from .config_files import write_files

        write_files(part)


def _refuse_unfilled(plan: Plan) -> None:
    """Raise UsageError for a placeholder that nothing fills, naming each and its option."""
    if plan.unfilled:
        what, options = unfilled_words(plan.unfilled)
        raise UsageError(f"not filled in: {what}", hint=f"give {options}")
