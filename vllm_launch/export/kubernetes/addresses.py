"""What placeholders stand for in a cluster: names of Services, the pod's own IP, mounted files."""

from __future__ import annotations

from ...errors import UsageError
from ...model.record import Record
from ...resolve.endpoints import names_in
from ...resolve.placeholders import meaning
from .words import literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...model.part import Part
    from .. import Brief
    from .groups import Group
    from .settings import Settings

POD_IP = "POD_IP"
LEADER = "$(LWS_LEADER_ADDRESS)"  # which the LeaderWorkerSet controller sets in each pod
OWN = f"$({POD_IP})"
CONFIG_DIRECTORY = "/etc/vllm-launch"
ENTRIES = ("router", "frontend")
# The interface that container networks give a pod.
_INTERFACE = "eth0"


class Addresses(Record):
    """The values of placeholders, for each part its own, in Kubernetes' writing."""

    values: Mapping[str, Mapping[str, str]]  # by the part's name

    @classmethod
    def of(cls, brief: Brief, settings: Settings, groups: Sequence[Group]) -> Addresses:
        """The addresses of a deployment. Raises UsageError for a placeholder that none is."""
        services = _services(settings, groups)
        group_of = {part.name: group for group in groups for part in group.parts}
        companions = [part for part in brief.parts if part.role == "companion"]
        values = {}
        for part in (*parts_of(groups), *companions):
            group = group_of.get(part.name)
            values[part.name] = {
                name: _value(name, part, group, brief, settings, services)
                for name in recipe_names(part)
            }
        return cls(values=values)


def parts_of(groups: Sequence[Group]) -> Iterator[Part]:
    """Every part of every group."""
    for group in groups:
        yield from group.parts


def recipe_names(part: Part) -> tuple[str, ...]:
    """The placeholders of a part; a dollar sign of the operator's own words is none."""
    texts = [text for text, own in (*words_of(part), *values_of(part)) if not own]
    texts += [text for file in part.files for text in _texts(file.content)]
    texts += [f"${file.placeholder}" for file in part.files]
    return tuple(dict.fromkeys(name for text in texts for name in names_in(text)))


def words_of(part: Part) -> list[tuple[str, bool]]:
    """A part's words, and whether each is the operator's own."""
    plan = part.plan
    if plan is None:
        return [(word, False) for word in part.argv]
    words = [(word, False) for word in plan.program] + [(plan.model, plan.model[:1] == "/")]
    for _, tokens, source in plan.arguments:
        words += [(token, source.layer == "operator") for token in tokens]
    return words


def values_of(part: Part) -> list[tuple[str, bool]]:
    """A part's variables' values, and whether each is the operator's own."""
    if part.plan is None:
        return [(value, False) for _, value in part.env]
    return [(value, source.layer == "operator") for _, value, source in part.plan.variables]


def service_name(settings: Settings, group: Group, rank: int, entry: bool) -> str:
    """The Service of one rank of a group; the deployment's own name where requests enter.

    It is never a LeaderWorkerSet's name, whose controller makes a Service of that name.
    """
    if entry and rank == 0:
        return settings.name
    suffix = f"-{rank}" if group.size > 1 else ""
    return f"{settings.name}-{group.component}{suffix}"


def entry_of(groups: Sequence[Group]) -> Group:
    """The group that takes the requests: what stands before the servers, else the first of them."""
    before = [group for group in groups if group.component in ENTRIES]
    serving = [group for group in groups if group.serves]
    return (before or serving or list(groups))[0]


def _services(settings: Settings, groups: Sequence[Group]) -> dict[str, str]:
    entry = entry_of(groups)
    return {
        part.name: service_name(settings, group, part.rank if group.serves else 0, group is entry)
        for group in groups
        for part in group.parts
    }


def _value(
    name: str,
    part: Part,
    group: Group | None,
    brief: Brief,
    settings: Settings,
    services: Mapping[str, str],
) -> str:
    """What one placeholder is in one part."""
    stands = meaning(name, brief.deployment, brief.parts)
    if stands.kind == "node" and stands.part in services:
        return _address(stands.part, part, group, services)
    if stands.kind == "interface" and not settings.host_network:
        return _INTERFACE
    if stands.kind == "file":
        return literal(f"{CONFIG_DIRECTORY}/{_file_name(name, brief.parts)}")
    if stands.default is not None:
        return literal(stands.default)
    where = " with --host-network" if stands.kind == "interface" else ""
    raise UsageError(f"not filled in{where}: ${name}", hint=f"give --endpoint {name}=…")


def _address(target: str, part: Part, group: Group | None, services: Mapping[str, str]) -> str:
    """The address of a part: of the pod itself, of its group's leader, or of a Service.

    A pod that names itself does so by number: it may listen there, and needs no DNS for it.
    """
    if target == part.name:
        return OWN
    if group is not None and target == group.leader.name:
        return LEADER
    return services[target]


def _file_name(placeholder: str, parts: Sequence[Part]) -> str:
    files = (file for part in parts for file in part.files)
    return next(file.name for file in files if file.placeholder == placeholder)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _texts(each)]
    return []
