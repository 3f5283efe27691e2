"""Ports of the plan: free, and each used once."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.record import Record
from .beside import ports_of
from .layout import KV_FLAG, connectors, layout
from .plan import config, is_on, last, place, value
from .plan import source_of as variable_source
from .unread import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.deployment import ProcessPlan
    from ..model.part import Part
    from ..model.source import Source
    from ..model.system import Port
    from .situation import Situation

_HTTP, _MASTER, _DP_RPC, _NIXL, _MOONCAKE, _EVENTS = 8000, 29501, 29550, 5600, 8998, 5557


class PlannedPort(Record):
    """A port that a process will listen on."""

    port: int
    address: str  # "": every address
    what: str
    cause: str
    source: Source | None = None


def planned(process: ProcessPlan, environment: dict[str, str]) -> list[PlannedPort]:
    """The ports that a process listens on."""
    return [
        *_http(process),
        *_rendezvous(process),
        *_side_channels(process, environment),
        *_events(process),
    ]


def _http(process: ProcessPlan) -> Iterator[PlannedPort]:
    if is_on(process, "--headless") or last(process, "--uds"):
        return
    host = value(process, "--host") or ""
    address = "" if host in ("0.0.0.0", "::") or "$" in host else host  # noqa: S104
    yield from _flag(process, "--port", _HTTP, "HTTP", address)
    if last(process, "--grpc-port"):
        yield from _flag(process, "--grpc-port", 0, "gRPC", address)


def _rendezvous(process: ProcessPlan) -> Iterator[PlannedPort]:
    at = layout(process)
    if at.nodes > 1 and at.rank == 0:
        yield from _flag(process, "--master-port", _MASTER, "rendezvous of the nodes")
    external = is_on(process, "--data-parallel-external-lb")
    if at.local_replicas < at.replicas and at.is_head and not external:
        yield from _flag(process, "--data-parallel-rpc-port", _DP_RPC, "data parallel RPC")


def _flag(
    process: ProcessPlan, flag: str, default: int, what: str, address: str = ""
) -> Iterator[PlannedPort]:
    given = last(process, flag)
    text = given.values[0] if given is not None and given.values else str(default)
    if text.isdecimal() and 0 < int(text) < 65536:
        source = given.source if given is not None else None
        yield PlannedPort(port=int(text), address=address, what=what, cause=flag, source=source)


def _side_channels(process: ProcessPlan, environment: dict[str, str]) -> Iterator[PlannedPort]:
    at = layout(process)
    names = {connector.name for connector in connectors(process)}
    if at.rank:
        return
    if any(name.startswith("Nixl") for name in names):
        variable = "VLLM_NIXL_SIDE_CHANNEL_PORT"
        for replica in range(at.first_replica, at.first_replica + at.local_replicas):
            yield from _variable(
                process, environment, variable, _NIXL, "NIXL side channel", replica
            )
    if "MooncakeConnector" in names:
        variable = "VLLM_MOONCAKE_BOOTSTRAP_PORT"
        yield from _variable(process, environment, variable, _MOONCAKE, "Mooncake bootstrap", 0)


def _variable(
    process: ProcessPlan,
    environment: dict[str, str],
    name: str,
    default: int,
    what: str,
    offset: int,
) -> Iterator[PlannedPort]:
    text = environment.get(name) or str(default)
    if text.isdecimal() and 0 < int(text) + offset < 65536:
        source = variable_source(process, name)
        yield PlannedPort(port=int(text) + offset, address="", what=what, cause=name, source=source)


def _events(process: ProcessPlan) -> Iterator[PlannedPort]:
    """The publisher of KV events binds where its endpoint names no host to connect to."""
    events = config(process, "--kv-events-config")
    endpoint = str(events.get("endpoint") or f"tcp://*:{_EVENTS}")
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    binds = host in ("*", "0.0.0.0") and port.isdecimal()  # noqa: S104
    if events.get("enable_kv_cache_events") is True and binds:
        yield PlannedPort(
            port=int(port),
            address="",
            what="KV events",
            cause="--kv-events-config",
            source=place(process, "--kv-events-config"),
        )


def on_host(situation: Situation) -> list[PlannedPort]:
    """The ports that have to be free on this machine; a container may publish HTTP alone."""
    if situation.beside is not None:
        return _beside(situation.beside)
    ports = planned(situation.process, situation.environment)
    if situation.on_host_network:
        return ports
    return [port for port in ports if port.cause == "--port"]


def _beside(part: Part) -> list[PlannedPort]:
    """The ports of a router, a store or what else is no server."""
    return [
        PlannedPort(port=port, address="", what=part.title, cause=cause, source=part.source)
        for port, cause in ports_of(part)
    ]


def free(situation: Situation) -> Iterable[Finding] | None:
    """Each port, by binding it."""
    ports = on_host(situation)
    if not ports:
        return None
    if situation.system.ports is None:
        return unread(situation, "ports", "ports were not tried")
    tried = {(port.address, port.port): port for port in situation.system.ports}
    results = ((port, tried.get((port.address, port.port))) for port in ports)
    return [_busy(port, found) for port, found in results if found is not None and found.taken]


def _busy(port: PlannedPort, found: Port) -> Finding:
    if found.reason:
        return Finding(
            severity="fail",
            what=f"port {port.port} ({port.what}) cannot be bound: {found.reason}",
            why="The server needs it, and finds out after it has loaded the weights.",
            remedy="Choose an address of this machine, and a port that you may bind.",
            cause=port.cause,
            source=port.source,
        )
    holder = f" by {found.holder}" if found.holder else ""
    return Finding(
        severity="fail",
        what=f"port {port.port} ({port.what}) is taken{holder}",
        why="The server needs it, and finds out after it has loaded the weights.",
        remedy=f"Stop what listens there, or choose another with {port.cause}.",
        command=f"sudo ss -ltnp 'sport = :{port.port}'",
        cause=port.cause,
        source=port.source,
    )


def companion_up(situation: Situation) -> Iterable[Finding] | None:
    """LMCache's server, which has to be there before vLLM."""
    needed = listeners(situation)
    if not needed:
        return None
    if situation.system.listeners is None:
        return unread(situation, "listeners", "whether the LMCache server is up was not tried")
    answers = {(p.address, p.port): p for p in situation.system.listeners}
    return [
        Finding(
            severity="warn",
            what=f"nothing listens on port {port}, where the LMCache server should",
            why="vLLM connects to it while it starts.",
            remedy="Start the companion process first: see the plan's companions.",
            cause=KV_FLAG,
        )
        for address, port in needed
        if (answer := answers.get((address, port))) is not None and not answer.taken
    ]


def listeners(situation: Situation) -> tuple[tuple[str, int], ...]:
    """Where something must listen already, on this machine."""
    found = []
    for connector in connectors(situation.process):
        if connector.name == "LMCacheMPConnector":
            port = connector.extra.get("lmcache.mp.port", 5555)
            host = connector.extra.get("lmcache.mp.host", "localhost")
            if isinstance(port, int) and host in ("localhost", "127.0.0.1", "tcp://localhost"):
                found.append(("", port))
    return tuple(found)


CHECKS = (
    Check(code="PORT_BUSY", subject="ports", about="ports of the plan, by binding them", run=free),
    Check(
        code="COMPANION_DOWN",
        subject="ports",
        about="a companion process that must be up first",
        run=companion_up,
    ),
)
