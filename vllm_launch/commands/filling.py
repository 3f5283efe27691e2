"""What the placeholders of this run's parts stand for here, where the operator does not say.

What a launcher's variables say wins over the usual values.
"""

from __future__ import annotations

from ..model.record import Record
from ..resolve.place import shown
from ..resolve.placeholders import fill_part, meanings, on_one_machine, unfilled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.deployment import Deployment
    from ..model.part import Meaning, Part
    from ..resolve.place import Place
    from ..settings import Settings

_INTERFACE = "IFACE_NAME"
_USUAL = {
    "node": "all of it is on this machine",
    "port": "the usual one",
    "bind": "every address of this machine",
    "device": "Mooncake picks",
}


class Unfilled(Record):
    """A placeholder that is not filled in."""

    name: str
    what: str = ""  # it stands for
    by_itself: bool = False  # whether it will be found where the process runs


class Filled(Record):
    """Parts with their placeholders filled."""

    parts: tuple[Part, ...]
    values: Mapping[str, str]
    remarks: tuple[str, ...]  # what was filled in, and what says so
    unfilled: tuple[Unfilled, ...]


def fill_here(
    selected: Sequence[Part],
    all_parts: Sequence[Part],
    deployment: Deployment,
    settings: Settings,
    placed: Place,
    *,
    on_site: bool,
) -> Filled:
    """Fill what is known; ``on_site``: whether this is the machine that they run on."""
    meaning = _meanings(selected, all_parts, deployment)
    found = {name: _value(name, meaning[name], settings, placed) for name in meaning}
    values = {name: one[0] for name, one in found.items() if one is not None}
    by = {name: one[1] for name, one in found.items() if one is not None}
    parts = tuple(fill_part(part, values) for part in selected)
    parts, remarks, interface = _with_interface(parts, on_site=on_site)
    parts = _with_files(parts)
    titles = {part.name: part.title for part in all_parts}
    names = dict.fromkeys(name for part in parts for name in unfilled(part))
    return Filled(
        parts=parts,
        values=values,
        remarks=(*shown(values, by), *remarks),
        unfilled=tuple(
            interface if name == _INTERFACE else _unfilled(name, meaning.get(name), titles)
            for name in names
        ),
    )


def _meanings(
    selected: Sequence[Part], all_parts: Sequence[Part], deployment: Deployment
) -> dict[str, Meaning]:
    """What each placeholder that is left stands for. On one machine, every node is this one."""
    names = dict.fromkeys(name for part in selected for name in unfilled(part))
    found = meanings(names, deployment, all_parts)
    if len({part.node for part in all_parts}) > 1:
        return found
    return {name: on_one_machine(each, all_parts) for name, each in found.items()}


def _value(
    name: str, meaning: Meaning, settings: Settings, placed: Place
) -> tuple[str, str] | None:
    """A placeholder's value and what says it, where that is known."""
    own = {"ROUTER_PORT": "port", "ROUTER_HOST": "host"}.get(name)
    if own is not None and settings["role"] == "router" and settings[own] is not None:
        return str(settings[own]), settings.source(own)
    if meaning.kind == "node" and meaning.default is None and name in placed.addresses:
        return placed.addresses[name], placed.address_by[name]
    if meaning.default is not None:
        return meaning.default, _USUAL[meaning.kind]
    return None


def _unfilled(name: str, meaning: Meaning | None, titles: Mapping[str, str]) -> Unfilled:
    """What a placeholder stands for, as far as that is known."""
    if meaning is not None and meaning.kind == "node":
        return Unfilled(name=name, what=f"the address of {titles[meaning.part]}")
    if meaning is not None and meaning.kind == "file":
        return Unfilled(name=name, what="its file, written before it starts", by_itself=True)
    if name == "TOY_PROXY":
        return Unfilled(name=name, what="the path of toy_proxy_server.py, of vLLM's tests")
    return Unfilled(name=name)


def _with_interface(
    selected: tuple[Part, ...], *, on_site: bool
) -> tuple[tuple[Part, ...], tuple[str, ...], Unfilled]:
    """$IFACE_NAME by the route to the head: of one server, on the machine that it is for.

    With it, what was found and how, and what to say of it where it was not.
    """
    left = Unfilled(name=_INTERFACE)
    if not any(_INTERFACE in unfilled(part) for part in selected):
        return selected, (), left
    head = _head(selected[0]) if len(selected) == 1 else ""
    if not on_site or not head:
        later = "found where it runs, by the route to the head"
        return selected, (), left.replace(what=later, by_itself=True)
    value, by = _interface(head)
    if not value:
        return selected, (), left.replace(what=by)
    filled = tuple(fill_part(part, {_INTERFACE: value}) for part in selected)
    return filled, (f"${_INTERFACE} = {value}: {by}",), left


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
    from .config_files import path_of

    found = []
    for part in selected:
        files = tuple(
            f if names_in_json(f.content) else f.replace(path=path_of(f)) for f in part.files
        )
        paths = {f.placeholder: f.path for f in files if f.path}
        found.append(fill_part(part.replace(files=files), paths))
    return tuple(found)
