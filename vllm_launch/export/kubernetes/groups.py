"""Parts that make up one engine: a server alone, or a head and the workers behind it."""

from __future__ import annotations

from ...errors import UsageError
from ...model.part import SERVERS
from ...model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...model.part import Part

_POOLS = ("prefill", "decode")


class Group(Record):
    """What one set of pods runs: rank by rank, the first is the leader."""

    component: str  # "server", "prefill", "instance-2", "router", …
    parts: tuple[Part, ...]

    @property
    def leader(self) -> Part:
        """The part of rank 0."""
        return self.parts[0]

    @property
    def size(self) -> int:
        """How many pods it has."""
        return len(self.parts)

    @property
    def serves(self) -> bool:
        """Whether vLLM runs in it."""
        return self.leader.role in SERVERS


def groups(parts: Sequence[Part]) -> tuple[Group, ...]:
    """The groups of a deployment, in start order; companions are in the servers' pods.

    Raises UsageError for a group with ranks missing: workers are made from one template.
    """
    found: dict[str, list[Part]] = {}
    for part in parts:
        if part.role != "companion" and part.argv:
            found.setdefault(_component(part), []).append(part)
    made = tuple(Group(component=name, parts=tuple(of)) for name, of in found.items())
    for group in made:
        _refuse_missing(group)
    return made


def _component(part: Part) -> str:
    """The name of a part's group. A worker's is that of the head it starts after."""
    if part.role in _POOLS:
        return part.role
    if part.role == "worker":
        return _of_head(part.after[-1])
    return _of_head(part.name)


def _of_head(name: str) -> str:
    return "server" if name in ("server-0", "head-0") else name.removesuffix("-0")


def _refuse_missing(group: Group) -> None:
    ranks = [part.rank for part in group.parts]
    leader = group.leader.plan
    wanted = (leader.number("--nnodes") or 1) if leader is not None else 1
    if (ranks != list(range(len(ranks))) and group.serves) or len(ranks) < wanted:
        raise UsageError(
            f"rank {', '.join(map(str, ranks))} alone of {group.component} was asked for, and a "
            "set of pods has every rank",
            hint="leave --node-rank out",
        )
