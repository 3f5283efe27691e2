"""A plan: the deployment that a command line asks for, and which of it is this run's."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..model.record import Record
from ..resolve.endpoints import expand_home, fill, placeholders
from .deployment import deployment_of
from .find import find_model
from .remarks import remarks
from .secrets import refuse_secret_arguments, variables_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.host import HostFacts
    from ..model.part import Part
    from ..settings import Settings
    from .filling import Unfilled


# A variable that each launcher of many processes sets: without one, nothing of it is loaded.
_LAUNCHERS = (
    "SLURM_JOB_ID",
    "SLURM_JOB_NODELIST",
    "LWS_LEADER_ADDRESS",
    "GROUP_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
)


class Plan(Record):
    """A deployment, the processes of it that are this run's, and what it was made from."""

    found: Found
    deployment: Deployment
    processes: tuple[ProcessPlan, ...]  # its servers
    parts: tuple[Part, ...]  # with what runs beside them, in start order; none for one alone
    addresses: tuple[tuple[str, int, str], ...] = ()  # servers: title, node, address where known
    remarks: tuple[str, ...] = ()  # what was filled in without being asked for, and by what
    unfilled: tuple[Unfilled, ...] = ()  # placeholders that nothing fills
    facts: HostFacts | None  # None: planned for a profile, not a machine
    passed_by_name: tuple[str, ...]  # variables whose values only the environment has


def make_plan(invocation: Invocation, settings: Settings, *, anywhere: bool = False) -> Plan:
    """The plan that a command line asks for; ``anywhere``: it need not be for this machine.

    Raises LaunchError for one that cannot be.
    """
    found = find_model(invocation.argument or "", settings)
    env, by_name = variables_from(settings.listed("env"), settings.source("env"))
    refuse_secret_arguments(invocation.passed)
    resolved, host = deployment_of(found, invocation, settings, env, anywhere=anywhere)
    resolved = _without(resolved, by_name)
    _refuse_one_port_for_all(resolved, invocation, settings)
    endpoints = _endpoints(settings, resolved)
    notes = (*resolved.notes, *remarks(resolved, found, settings, endpoints))
    resolved = resolved.replace(notes=notes)
    deployment = expand_home(fill(resolved, endpoints), os.path.expanduser("~"))
    plan = Plan(
        found=found,
        deployment=deployment,
        processes=deployment.processes,
        parts=(),
        facts=host.facts if host is not None else None,
        passed_by_name=by_name,
    )
    if deployment.is_alone:
        return _of_one(plan, invocation, settings)
    from .roles import plan_for_run

    return plan_for_run(plan, resolved, invocation, settings, endpoints)


def _endpoints(settings: Settings, deployment: Deployment) -> dict[str, str]:
    if not settings["endpoint"]:
        return {}
    from .endpoints import endpoints_of, refuse_ports

    endpoints = endpoints_of(settings)
    refuse_ports(endpoints, deployment, settings.source("endpoint"))
    return endpoints


def _of_one(plan: Plan, invocation: Invocation, settings: Settings) -> Plan:
    """The plan of a server that stands alone. Raises UsageError for another role or rank."""
    process = plan.deployment.processes[0]
    role, rank = settings["role"], settings["node_rank"]
    if role not in (None, process.role) or rank not in (None, process.rank):
        from .roles import no_process

        raise no_process([process.title], settings)
    if placeholders(process):
        from ..resolve.parts import parts
        from ..resolve.placeholders import unfilled
        from .filling import Unfilled

        left = unfilled(parts(plan.deployment)[0])
        plan = plan.replace(unfilled=tuple(Unfilled(name=name) for name in left))
    if not any(name in os.environ for name in _LAUNCHERS):
        return plan
    from .roles import launcher_notes

    notes = (*plan.deployment.notes, *launcher_notes(invocation, settings))
    return plan.replace(deployment=plan.deployment.replace(notes=notes))


def _without(deployment: Deployment, names: tuple[str, ...]) -> Deployment:
    """A deployment without the variables that are handed on by name: the operator's value wins."""
    if not any(v[0] in names for plan in deployment.processes for v in plan.variables):
        return deployment
    return deployment.replace(
        processes=tuple(
            plan.replace(variables=tuple(v for v in plan.variables if v[0] not in names))
            for plan in deployment.processes
        )
    )


def _refuse_one_port_for_all(
    deployment: Deployment, invocation: Invocation, settings: Settings
) -> None:
    """Raise UsageError where --port would go to both pools, which may share a machine.

    Dynamo's frontend has it instead of its workers.
    """
    if deployment.dynamo is not None:
        return
    roles = {plan.role for plan in deployment.processes}
    passed = any(word.partition("=")[0] == "--port" for word in invocation.passed)
    given = settings["port"] is not None or (passed and deployment.pools_shared)
    if given and settings["role"] is None and "decode" in roles:
        raise UsageError(
            f"{settings.source('port') if settings['port'] is not None else '-- --port'}: "
            "prefill and decode cannot listen on one port",
            hint="give --prefill-port and --decode-port, or say whose it is with --role",
        )
