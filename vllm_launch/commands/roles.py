"""Which of a deployment's processes is this run's, and what their placeholders stand for here.

What the operator says wins; then what a launcher's variables say; then the usual values.
"""

from __future__ import annotations

import os

from ..errors import UsageError
from ..model.part import OTHERS, SERVERS
from ..model.record import Record
from ..resolve.endpoints import fill_text
from ..resolve.parts import parts
from ..resolve.place import Place, place, shown
from ..resolve.placeholders import address_parts, fill_deployment, fill_part, meanings, unfilled
from ..resolve.proxy import proxy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..commandline import Invocation
    from ..model.deployment import Deployment
    from ..model.host import HostFacts
    from ..model.part import Meaning, Part
    from ..settings import Settings

_INTERFACE = "IFACE_NAME"
_LOOPBACK = "127.0.0.1"
_TOY_PROXY_PORT = 8000
_USUAL = {
    "node": "all of it is on this machine",
    "port": "the usual one",
    "bind": "every address of this machine",
    "device": "Mooncake picks",
}
# The option that a deployment has a role by, where it is not --nodes.
_MADE_BY = {
    **dict.fromkeys(("prefill", "decode", "router", "proxy"), "--strategy"),
    **dict.fromkeys(("instance", "store", "master", "companion"), "--kv-offload"),
    **dict.fromkeys(("etcd", "nats", "frontend"), "--frontend"),
}
# What is filled in for a run; an export has its engine do it.
COMMANDS = ("serve", "check", "explain", "verify")


class Left(Record):
    """A placeholder that is not filled in."""

    name: str
    what: str = ""  # it stands for
    by_itself: bool = False  # whether it will be found where the process runs


class Roles(Record):
    """A deployment with this run's parts of it."""

    deployment: Deployment
    parts: tuple[Part, ...]  # this run's
    addresses: tuple[tuple[str, int, str], ...] = ()  # servers: title, node, address where known
    said: tuple[str, ...] = ()  # what was filled in, and what says so
    left: tuple[Left, ...] = ()  # placeholders that were not


def take(
    deployment: Deployment,
    as_resolved: Deployment,
    invocation: Invocation,
    settings: Settings,
    endpoints: Mapping[str, str],
    facts: HostFacts | None,
) -> Roles:
    """This run's parts, filled in. Raises UsageError where there is none, or for contradictions.

    ``as_resolved`` is the deployment before the operator's endpoints were put into it: a
    command is taken apart first, so that no value is ever read as part of a command line.
    """
    texts = {"router": as_resolved.router, "store": as_resolved.store}
    all_parts = parts(deployment.replace(**texts))
    all_parts = _with_proxy(all_parts, deployment, settings)
    all_parts = tuple(_given(part, endpoints) for part in all_parts)
    all_parts = tuple(_with_passed(part, invocation, settings) for part in all_parts)
    if invocation.command.name not in COMMANDS:
        return Roles(deployment=deployment, parts=_asked(all_parts, deployment, settings))
    placed = _placed(all_parts, invocation, settings)
    selected = placed.parts or _asked(all_parts, deployment, settings)
    values, by, why = _values(selected, all_parts, deployment, settings, placed)
    on_site = _executes(invocation, settings) or placed.parts is not None or facts is not None
    filled = tuple(fill_part(part, values) for part in selected)
    on_site = on_site and settings["host_facts"] is None
    filled, more = _with_interface(filled, on_site)
    filled = _with_files(filled)
    names = dict.fromkeys(name for part in filled for name in unfilled(part))
    deployment = fill_deployment(deployment, values)
    if placed.notes:
        deployment = deployment.replace(notes=(*deployment.notes, *placed.notes))
    return Roles(
        deployment=deployment,
        parts=filled,
        addresses=_addresses(all_parts, {**values, **endpoints}, placed),
        said=(*placed.said, *shown(values, by), *more.said),
        left=tuple(more.left if name == _INTERFACE else why(name) for name in names),
    )


def alone(invocation: Invocation, settings: Settings) -> tuple[str, ...]:
    """What to say of a server that stands alone, where a launcher has started it on many nodes."""
    if not _counts(invocation, settings):
        return ()
    from ..host.cluster import read_cluster

    view = read_cluster(os.environ)
    if view is None:
        return ()
    notes = place(view, (), None, rank=False, strict=False).notes
    return tuple(f"{note}: see --nodes" for note in notes)


def _given(part: Part, endpoints: Mapping[str, str]) -> Part:
    """A part with what the operator says; a file of their own is not written."""
    files = tuple(file for file in part.files if file.placeholder not in endpoints)
    part = part.replace(files=files) if files != part.files else part
    return fill_part(part, endpoints)


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
        more = [f"and {len(there) - 8} more"] if len(there) > 9 else []
        there = there[:8] + more if more else there
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
        hint=f"it has: {', '.join(there)}; see {option}",
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


def _placed(all_parts: Sequence[Part], invocation: Invocation, settings: Settings) -> Place:
    """What a launcher's variables say, where the operator does not."""
    if not _counts(invocation, settings):
        return Place()
    from ..host.cluster import read_cluster

    view = read_cluster(os.environ)
    if view is None:
        return Place()
    role, given = settings["role"], settings["node_rank"]
    found = place(
        view, all_parts, role,
        rank=given is None and role not in OTHERS,
        strict=_executes(invocation, settings),
    )  # fmt: skip
    if given is not None and view.rank is not None and int(view.rank.value) != given:
        note = f"{settings.source('node_rank')} {given} holds; {view.rank.by} says otherwise"
        found = found.replace(notes=(*found.notes, note))
    return found


def _with_passed(part: Part, invocation: Invocation, settings: Settings) -> Part:
    """What stands behind "--" comes last, also for a program that is not vLLM if it is named.

    Where none is, it is vLLM's.
    """
    if part.role in SERVERS or part.role != settings["role"] or not part.argv:
        return part
    return part.replace(argv=(*part.argv, *invocation.passed))


def _values(
    selected: Iterable[Part],
    all_parts: Sequence[Part],
    deployment: Deployment,
    settings: Settings,
    placed: Place,
) -> tuple[dict[str, str], dict[str, str], Callable[[str], Left]]:
    """Values of placeholders that the operator left, what says each, and what each stands for."""
    names = dict.fromkeys(name for part in selected for name in unfilled(part))
    meaning = meanings(names, deployment, all_parts)
    titles = {part.name: part.title for part in all_parts}
    if len({part.node for part in all_parts}) == 1:
        for name, each in meaning.items():
            if each.kind == "node":
                meaning[name] = each.replace(default=_LOOPBACK)
    values: dict[str, str] = {}
    by: dict[str, str] = {}
    for name in names:
        found = _value(name, meaning[name], settings, placed)
        if found is not None:
            values[name], by[name] = found
    return values, by, lambda name: _what(name, meaning.get(name), titles)


def _value(
    name: str, meaning: Meaning, settings: Settings, placed: Place
) -> tuple[str, str] | None:
    own = {"ROUTER_PORT": "port", "ROUTER_HOST": "host"}.get(name)
    if own is not None and settings["role"] == "router" and settings[own] is not None:
        return str(settings[own]), settings.source(own)
    if meaning.kind == "node" and meaning.default is None and name in placed.addresses:
        return placed.addresses[name], placed.address_by[name]
    if meaning.default is not None:
        return meaning.default, _USUAL[meaning.kind]
    return None


def _what(name: str, meaning: Meaning | None, titles: Mapping[str, str]) -> Left:
    """What a placeholder stands for, as far as that is known."""
    if meaning is not None and meaning.kind == "node":
        return Left(name=name, what=f"the address of {titles[meaning.part]}")
    if meaning is not None and meaning.kind == "file":
        return Left(name=name, what="its file, written before it starts", by_itself=True)
    if name == "TOY_PROXY":
        return Left(name=name, what="the path of toy_proxy_server.py, of vLLM's tests")
    return Left(name=name)


class _More(Record):
    """What came of looking at this machine."""

    said: tuple[str, ...] = ()
    left: Left = Left(name=_INTERFACE)


def _with_interface(selected: tuple[Part, ...], on_site: bool) -> tuple[tuple[Part, ...], _More]:
    """$IFACE_NAME by the route to the head: of one server, on the machine that it is for."""
    if not any(_INTERFACE in unfilled(part) for part in selected):
        return selected, _More()
    head = _head(selected[0]) if len(selected) == 1 else ""
    if not on_site or not head:
        return selected, _left("found where it runs, by the route to the head", by_itself=True)
    value, by = _interface(head)
    if not value:
        return selected, _left(by)
    filled = tuple(fill_part(part, {_INTERFACE: value}) for part in selected)
    return filled, _More(said=(f"${_INTERFACE} = {value}: {by}",))


def _left(why: str, *, by_itself: bool = False) -> _More:
    return _More(left=Left(name=_INTERFACE, what=why, by_itself=by_itself))


def _head(part: Part) -> str:
    """The address that a server finds the others at; "" where it is not known."""
    if part.plan is None:
        return ""
    flags = ("--master-addr", "--data-parallel-address")
    head = next((value for flag in flags if (value := part.plan.value(flag))), "")
    return "" if "$" in head else head


def _interface(head: str) -> tuple[str, str]:
    """The interface towards a head, and how it was found; "" and why, where there is none."""
    from ..host.system import read_system
    from ..model.system import Wanted

    system = read_system(Wanted(names=(head,), memory=False))
    name = next(iter(system.names or ()), None)
    if name is None:
        return "", f"{head} was not resolved: {system.why_unknown('names')}"
    if name.error:
        return "", f"{head} has no address: {name.error}"
    if not name.interface:
        return "", f"no route leads to {head}"
    way = "it has the head's address" if name.here else f"the route to {head}"
    return name.interface, way


def _with_files(selected: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with the paths at which their files will be written, once these are complete."""
    if not any(part.files for part in selected):
        return selected
    from ..resolve.endpoints import names_in_json
    from .state import path_of

    found = []
    for part in selected:
        files = tuple(
            f if names_in_json(f.content) else f.replace(path=path_of(f)) for f in part.files
        )
        paths = {f.placeholder: f.path for f in files if f.path}
        found.append(fill_part(part.replace(files=files), paths))
    return tuple(found)


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
