"""Which of a deployment's processes is this run's, and what their placeholders stand for here.

What the operator says wins; then what a launcher's variables say; then the usual values.
"""

from __future__ import annotations

import os

from ..errors import UsageError, first_of
from ..model.part import OTHERS, SERVERS
from ..resolve.endpoints import fill_text
from ..resolve.parts import parts
from ..resolve.place import Place, place
from ..resolve.placeholders import address_parts, fill_deployment, fill_part, placeholders_of
from ..resolve.proxy import proxy
from .filling import fill_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..commandline import Invocation
    from ..model.deployment import Deployment
    from ..model.part import Part
    from ..settings import Settings
    from .plan import Plan

_TOY_PROXY_PORT = 8000
_SHOWN = 12  # names in one line
# The option that a deployment has a role by, where it is not --nodes.
_MADE_BY = {
    **dict.fromkeys(("prefill", "decode", "router", "proxy"), "--strategy"),
    **dict.fromkeys(("instance", "store", "master", "companion"), "--kv-offload"),
    **dict.fromkeys(("etcd", "nats", "frontend"), "--frontend"),
}
# What is filled in for a run; an export has its engine do it.
COMMANDS = ("serve", "check", "explain", "verify")


def plan_for_run(
    plan: Plan,
    as_resolved: Deployment,
    invocation: Invocation,
    settings: Settings,
    endpoints: Mapping[str, str],
) -> Plan:
    """The plan of this run's parts, filled in.

    ``as_resolved`` is the deployment before the operator's endpoints were put into it: a
    command is taken apart first, so that no value is ever read as part of a command line.

    Raises UsageError where there is no such part, or for contradictions.
    """
    deployment = plan.deployment
    texts = {"router": as_resolved.router, "store": as_resolved.store}
    all_parts = parts(deployment.replace(**texts))
    all_parts = _with_proxy(all_parts, deployment, settings)
    all_parts = tuple(_given(part, endpoints) for part in all_parts)
    all_parts = tuple(_with_passed(part, invocation, settings) for part in all_parts)
    if invocation.command.name not in COMMANDS:
        return _of_parts(plan, _asked(all_parts, deployment, settings))
    placed = _placed(all_parts, deployment, invocation, settings)
    selected = placed.parts or _asked(all_parts, deployment, settings)
    here = _executes(invocation, settings) or placed.parts is not None or plan.facts is not None
    on_site = here and settings["host_facts"] is None
    filled = fill_here(selected, all_parts, deployment, settings, placed, on_site=on_site)
    deployment = fill_deployment(deployment, filled.values)
    return _of_parts(plan, filled.parts).replace(
        deployment=deployment.replace(notes=(*deployment.notes, *placed.notes)),
        addresses=_addresses(all_parts, {**filled.values, **endpoints}, placed),
        remarks=(*placed.said, *filled.remarks),
        unfilled=filled.unfilled,
    )


def _of_parts(plan: Plan, own: tuple[Part, ...]) -> Plan:
    processes = tuple(part.plan for part in own if part.plan is not None)
    return plan.replace(parts=own, processes=processes)


def launcher_notes(invocation: Invocation, settings: Settings) -> tuple[str, ...]:
    """What to say of a server that stands alone, where a launcher has started it on many nodes."""
    if not _counts(invocation, settings):
        return ()
    from ..host.cluster import read_cluster

    view = read_cluster(os.environ, rank=False, nodes=False)
    if view is None:
        return ()
    notes = place(view, (), None, rank=False, strict=False).notes
    return tuple(f"{note}: see --nodes" for note in notes)


def _given(part: Part, endpoints: Mapping[str, str]) -> Part:
    """A part with what the operator says; a file of their own is not written, but read."""
    if not endpoints:
        return part
    placeholders = {"TOY_PROXY", *(file.placeholder for file in part.files)}
    named = [endpoints[n] for n in placeholders_of(part) if n in endpoints and n in placeholders]
    files = tuple(file for file in part.files if file.placeholder not in endpoints)
    reads = tuple(path for path in named if path.startswith("/"))
    return fill_part(part.replace(files=files, reads=reads), endpoints)


def _with_proxy(
    all_parts: tuple[Part, ...], deployment: Deployment, settings: Settings
) -> tuple[Part, ...]:
    """The toy proxy is a part where it is asked for: it would take the router's place."""
    if settings["role"] != "proxy":
        return all_parts
    port = settings["port"] or _TOY_PROXY_PORT
    return (*all_parts, proxy(deployment, all_parts, port, settings["host"] or ""))


def _asked(
    all_parts: Sequence[Part], deployment: Deployment, settings: Settings
) -> tuple[Part, ...]:
    """The parts of the role and rank asked for. Raises UsageError where there is none."""
    role, rank = settings["role"], settings["node_rank"]
    found = tuple(
        part for part in all_parts
        if role in (None, part.role) and rank in (None, _number(part, deployment))
    )  # fmt: skip
    if not found:
        numbered = ((part.role, _number(part, deployment)) for part in all_parts)
        there = [f"{role} {number}" for role, number in dict.fromkeys(numbered)]
        raise no_process(there, settings)
    return found


def no_process(there: Sequence[str], settings: Settings) -> UsageError:
    """The error for a role or rank that a deployment has not; ``there`` are those that it has."""
    role, rank = settings["role"], settings["node_rank"]
    wanted = " ".join(str(part) for part in (role, rank) if part is not None)
    has = any(role == name.partition(" ")[0] for name in there)
    option = "--nodes" if has else _MADE_BY.get(role, "--nodes")
    return UsageError(
        f"the deployment has no process {wanted}",
        hint=f"it has: {', '.join(first_of(there, _SHOWN))}; see {option}",
    )


def _number(part: Part, deployment: Deployment) -> int:
    """What --node-rank calls a part: of several instances, the number of its node among all."""
    store = deployment.store
    several = store is not None and store.instances > 1 and deployment.deploy_type != "pd_cluster"
    return part.node if several and part.role in SERVERS else part.rank


def _executes(invocation: Invocation, settings: Settings) -> bool:
    return invocation.command.name == "serve" and not (settings["dry_run"] or settings["output"])


def _counts(invocation: Invocation, settings: Settings) -> bool:
    """Whether the variables around this process are about the plan's machines."""
    return invocation.command.name in COMMANDS and settings["host_facts"] is None


def _placed(
    all_parts: Sequence[Part], deployment: Deployment, invocation: Invocation, settings: Settings
) -> Place:
    """What a launcher's variables say, where the operator does not."""
    if not _counts(invocation, settings):
        return Place()
    from ..host.cluster import read_cluster

    role, given = settings["role"], settings["node_rank"]
    several = len({part.node for part in all_parts}) > 1
    rank = given is None and role not in OTHERS
    view = read_cluster(
        os.environ, rank=rank and several, nodes=several and _asks_for_nodes(all_parts, role)
    )
    if view is None:
        return Place()
    found = place(view, all_parts, role, rank=rank, strict=_executes(invocation, settings))
    if given is not None and view.rank is not None and found.numbers:
        asked = _asked(all_parts, deployment, settings)
        own = {found.numbers[part.name] for part in asked if part.name in found.numbers}
        if own and int(view.rank.value) not in own:
            note = f"{settings.source('node_rank')} {given} holds; {view.rank.by} says otherwise"
            found = found.replace(notes=(*found.notes, note))
    return found


def _asks_for_nodes(all_parts: Sequence[Part], role: str | None) -> bool:
    """Whether a node's address is still to be filled in."""
    machines = address_parts(all_parts)
    own = (part for part in all_parts if role in (None, part.role))
    return any(name in machines for part in own for name in placeholders_of(part))


def _with_passed(part: Part, invocation: Invocation, settings: Settings) -> Part:
    """What stands behind "--" comes last, also for a program that is not vLLM if it is named.

    Where none is, it is vLLM's.
    """
    if part.role in SERVERS or part.role != settings["role"] or not part.argv:
        return part
    return part.replace(argv=(*part.argv, *invocation.passed))


def _addresses(
    all_parts: Sequence[Part], values: Mapping[str, str], placed: Place
) -> tuple[tuple[str, int, str], ...]:
    """Each server's address, as far as the operator or a launcher says it."""
    names: dict[str, list[str]] = {}
    for name, part in address_parts(all_parts).items():
        names.setdefault(part.name, []).append(name)
    found = []
    for part in all_parts:
        said = (values[name] for name in names.get(part.name, ()) if name in values)
        address = next(said, placed.machines.get(part.name, ""))
        if part.role in SERVERS and address and "$" not in fill_text(address, {}):
            found.append((part.title, part.node, address))
    return tuple(found)
