"""Which readers fill which fields, for what is wanted."""

from __future__ import annotations

from . import (
    cgroup,
    devices,
    engine,
    environment,
    hub,
    limits,
    memory,
    network,
    numa,
    ports,
    server,
)
from .files import programs, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...model.system import Wanted
    from .gather import Collector


def collectors(wanted: Wanted, root: str, around: Mapping[str, str]) -> list[Collector]:
    """One for each thing that may fail or hang by itself."""
    environ = {**around, **dict(wanted.variables)}  # the plan's variables win
    found: list[Collector] = [
        (("variables", "vllm_variables"), lambda: environment.read(around)),
        (("in_container",), lambda: limits.in_container(root, around)),
    ]
    found += _memory(wanted, root)
    found += _limits(wanted, root, around)
    found += _network(wanted, root)
    found += _model(wanted, root, environ)
    found += _devices(wanted, root, around)
    found += _programs(wanted, root, around)
    return found


def _memory(wanted: Wanted, root: str) -> list[Collector]:
    found: list[Collector] = []
    if wanted.memory:
        found += [
            (("memory_bytes", "memory_available_bytes"), lambda: memory.available(root)),
            (("cgroup",), lambda: cgroup.read(root)),
            (("shm",), lambda: memory.shared(root)),
        ]
    if wanted.huge_pages:
        found.append((("huge_pools",), lambda: memory.huge_pools(root)))
    return found


def _limits(wanted: Wanted, root: str, around: Mapping[str, str]) -> list[Collector]:
    found: list[Collector] = []
    if wanted.limits:
        found += [
            (("memlock", "nofile"), limits.read),
            (("capabilities",), lambda: limits.capabilities(root)),
        ]
    if wanted.numa:
        found += [
            (("numa_nodes",), lambda: numa.nodes(root)),
            (("numactl", "cpus_restricted"), lambda: numa.binding(root, around)),
            (("memory_policy",), lambda: numa.policy(root)),
        ]
    return found


def _network(wanted: Wanted, root: str) -> list[Collector]:
    found: list[Collector] = []
    if wanted.ports:
        found.append((("ports",), lambda: ports.bind(wanted.ports, root)))
    if wanted.listeners:
        found.append((("listeners",), lambda: ports.listening(wanted.listeners)))
    if wanted.names:
        found.append((("names",), lambda: network.resolve(wanted.names, root)))
    if wanted.interfaces:
        found += [
            (("interfaces",), lambda: network.interfaces(root)),
            (("own_name",), lambda: network.own_name(root)),
        ]
    return found


def _model(wanted: Wanted, root: str, environ: Mapping[str, str]) -> list[Collector]:
    model = wanted.model
    if not model:
        return []
    directory = hub.cache(environ, wanted.download_dir)
    found: list[Collector] = [(("weights",), lambda: hub.weights(root, model, directory))]
    if hub.is_local(model, root):
        return found
    return [
        *found,
        (("hub",), lambda: hub.access(root, environ, directory, model)),
        (("disk",), lambda: hub.disk(root, directory)),
        *(
            [(("hub_status",), lambda: {"hub_status": hub.status(root, environ, model)})]
            if wanted.ask_hub
            else []
        ),
    ]


def _devices(wanted: Wanted, root: str, around: Mapping[str, str]) -> list[Collector]:
    found: list[Collector] = []
    if wanted.rdma:
        found.append((("rdma_devices",), lambda: devices.rdma(root)))
    if wanted.imex:
        found.append((("imex_channels",), lambda: devices.imex(root)))
    if wanted.amd:
        found.append((("amd_devices",), lambda: devices.amd(root)))
    if wanted.fabric:
        found.append((("fabric",), lambda: devices.fabric(root, around)))
    return found


def _programs(wanted: Wanted, root: str, around: Mapping[str, str]) -> list[Collector]:
    found: list[Collector] = []
    if wanted.programs:
        names = wanted.programs
        found.append((("programs",), lambda: {"programs": programs(names, around, root)}))
    if wanted.files:
        paths = wanted.files
        found.append((("files",), lambda: {"files": readable(paths, root)}))
    if wanted.program:
        found.append((("vllm",), lambda: server.read(root, around)))
    if wanted.engine:
        name = wanted.engine
        found.append((("engine",), lambda: engine.read(name, root, around)))
        if wanted.image:
            image = wanted.image
            found.append((("image",), lambda: engine.image(name, image, root, around)))
    return found
