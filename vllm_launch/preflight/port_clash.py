"""Each port of the plan is used once on a machine."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .layout import neighbours
from .ports import PlannedPort, planned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.deployment import ProcessPlan
    from .situation import Situation


def distinct(situation: Situation) -> Iterable[Finding] | None:
    """No port is planned twice on this machine."""
    seen: dict[int, tuple[str, PlannedPort]] = {}
    found = []
    for owner, port in _all_here(situation):
        name = f"{port.what} of {owner}"
        if port.port not in seen:
            seen[port.port] = (name, port)
            continue
        other, first = seen[port.port]
        ways = " or ".join(dict.fromkeys((port.cause, first.cause)))
        found.append(
            Finding(
                severity="fail",
                what=f"port {port.port} is planned twice: {other}, {name}",
                why="Only one can have it; the other stops.",
                remedy=f"Change {ways} of one of them.",
                cause=port.cause,
                source=port.source,
            )
        )
    return found


def _all_here(situation: Situation) -> Iterator[tuple[str, PlannedPort]]:
    """The ports of this process, and of all others that are planned for this machine."""
    others = (*neighbours(situation), *_of_same_address(situation))
    for process in (situation.process, *others):
        for port in planned(process, {**situation.environment, **process.env}):
            yield process.role, port
    deployment = situation.deployment
    if others and deployment.router is not None:
        yield from _in_text("the router", "--port", deployment.router)
    if deployment.store is not None and len(deployment.processes) == 1:
        yield from _in_text("the store's master", "rpc_port", deployment.store.master or "")


def _of_same_address(situation: Situation) -> list[ProcessPlan]:
    """Processes that are planned for other machines, and whose address is this one's."""
    machines = {title: (node, address) for title, node, address in situation.addresses}
    own = machines.get(situation.process.title)
    if own is None:
        return []
    return [
        each for each in situation.deployment.processes
        if (theirs := machines.get(each.title)) and theirs[1] == own[1] and theirs[0] != own[0]
    ]  # fmt: skip


def _in_text(owner: str, flag: str, command: str) -> Iterator[tuple[str, PlannedPort]]:
    """A port in a shell command, "--port 30080" or "-rpc_port=50051"."""
    import re

    found = re.search(rf"(?:^|\s)-*{flag}[ =](\d+)", command)
    if found:
        yield (
            owner,
            PlannedPort(port=int(found[1]), address="", what="port", cause=f"{flag} of {owner}"),
        )


CHECKS = (
    Check(code="PORT_CLASH", subject="ports", about="no port is planned twice", run=distinct),
)
