"""A whole deployment, process by process, in the order in which they are started."""

from __future__ import annotations

from ..model.part import ConfigFile, Part
from .command_text import words
from .dynamo import FRONTEND
from .endpoints import names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.deployment import Deployment, DynamoPlan, KvStorePlan, ProcessPlan
    from ..model.source import Source
    from ..model.taxonomy import HardwareProfile

_DEFAULT_PORT = 8000
# vllm-router's own, where neither strategy nor store names one.
_ROUTER_PORT = 30000
_STORE_FILE = "MOONCAKE_STORE_CONFIG_PATH"


def parts(deployment: Deployment) -> tuple[Part, ...]:
    """Every process of a deployment: stores and companions, the servers, the router."""
    servers = _servers(deployment)
    before = (
        *_dynamo_services(deployment.dynamo),
        *_store_parts(deployment.store, servers),
        *_companions(deployment),
    )
    names = tuple(part.name for part in before)
    servers = tuple(part.replace(after=(*names, *part.after)) for part in servers)
    return (*before, *servers, *_router(deployment, servers), *_frontend(deployment, servers))


def _servers(deployment: Deployment) -> tuple[Part, ...]:
    """The servers; of a shared store's instances each one, and not just the first."""
    instances = deployment.store.instances if deployment.store is not None else 1
    if deployment.deploy_type == "pd_cluster" or instances == 1:
        # Pools stand one behind the other, unless they share one machine.
        prefill = sum(each.role == "prefill" for each in deployment.processes)
        before = {"decode": 0 if deployment.pools_shared else prefill}
        return tuple(
            _server(plan, deployment).replace(node=plan.rank + before.get(plan.role, 0))
            for plan in deployment.processes
        )
    return tuple(
        _of_instance(_server(plan, deployment), number, deployment.choice.nodes)
        for number in range(1, instances + 1)
        for plan in deployment.processes
    )


def _server(plan: ProcessPlan, deployment: Deployment) -> Part:
    head = f"{deployment.processes[0].role}-0"
    headless = any(flag == "--headless" for flag, _, _ in plan.arguments)
    first = f"{plan.role}-0" if deployment.deploy_type == "pd_cluster" else head
    return Part(
        name=f"{plan.role}-{plan.rank}",
        role=plan.role,
        rank=plan.rank,
        argv=tuple(plan.argv),
        env=tuple(plan.env.items()),
        plan=plan,
        gpus=local_gpus(plan, deployment.choice.hardware),
        port=None if headless or deployment.dynamo else plan.number("--port") or _DEFAULT_PORT,
        files=_client_files(plan, deployment.store),
        after=(first,) if plan.rank else (),
    )


def _of_instance(part: Part, number: int, nodes: int) -> Part:
    """A server of one of several instances, which has its own head and machines."""
    own = f"$VLLM_INSTANCE_{number}"

    def addressed(text: str) -> str:
        return own if text == "$VLLM_INSTANCE_1" else text

    role = "instance" if part.rank == 0 else "worker"
    suffix = f"-{part.rank}" if part.rank else ""
    first = f"instance-{number}"
    plan = part.plan
    if plan is not None:
        arguments = tuple((f, tuple(map(addressed, t)), s) for f, t, s in plan.arguments)
        variables = tuple((n, addressed(v), s) for n, v, s in plan.variables)
        plan = plan.replace(arguments=arguments, variables=variables)
    return part.replace(
        name=f"{role}-{number}{suffix}",
        node=(number - 1) * nodes + part.rank,
        plan=plan,
        argv=tuple(map(addressed, part.argv)),
        env=tuple((name, addressed(value)) for name, value in part.env),
        after=(first,) if part.rank else (),
    )


def local_gpus(plan: ProcessPlan, hardware: HardwareProfile) -> int:
    """How many of its node's GPUs a server uses; 0 on a machine without GPUs."""
    if hardware.generation == "cpu":
        return 0
    tensor = plan.number("--tensor-parallel-size") or 1
    pipeline = plan.number("--pipeline-parallel-size") or 1
    replicas = plan.number("--data-parallel-size-local") or plan.number("--data-parallel-size") or 1
    nodes = plan.number("--nnodes") or 1
    return max(1, min(tensor * pipeline * replicas // nodes, hardware.gpu_count))


def _client_files(plan: ProcessPlan, store: KvStorePlan | None) -> tuple[ConfigFile, ...]:
    path = plan.env.get("MOONCAKE_CONFIG_PATH", "")
    if store is None or store.mooncake_config is None or path != "$MOONCAKE_CONFIG_PATH":
        return ()
    return (
        ConfigFile(
            placeholder="MOONCAKE_CONFIG_PATH",
            name="mooncake_config.json",
            content=store.mooncake_config,
        ),
    )


def _store_parts(store: KvStorePlan | None, servers: Sequence[Part]) -> tuple[Part, ...]:
    """The store's master on the first machine, and its service on one of its own."""
    if store is None:
        return ()
    found = []
    if store.master is not None:
        found.append(_from_text("master", "master", store.master, store.master_source))
    if store.store_command is not None:
        after = tuple(part.name for part in found)
        service = _from_text("store", "store", store.store_command, store.store_source)
        files: tuple[ConfigFile, ...] = ()
        if store.store_config is not None and _STORE_FILE in names_in(store.store_command):
            files = (
                ConfigFile(
                    placeholder=_STORE_FILE,
                    name="mooncake_store_config.json",
                    content=store.store_config,
                ),
            )
        own_node = 1 + max((part.node for part in servers), default=0)
        found.append(service.replace(files=files, after=after, node=own_node))
    return tuple(found)


def _companions(deployment: Deployment) -> tuple[Part, ...]:
    """What runs on each server's machine before it starts."""
    several = len(deployment.companions) > 1
    return tuple(
        _from_text(
            f"companion-{number}" if several else "companion",
            "companion",
            each.command,
            each.where,
        ).replace(label=each.label, rank=number if several else 0)
        for number, each in enumerate(deployment.companions)
    )


def _router(deployment: Deployment, servers: Sequence[Part]) -> tuple[Part, ...]:
    if deployment.router is None:
        return ()
    part = _from_text("router", "router", deployment.router, deployment.router_source)
    answering = tuple(server.name for server in servers if server.port is not None)
    return (part.replace(after=answering, port=router_port(deployment)),)


# Dynamo's registry and message bus. The largest message, 32 MB, is what its recipes run with.
_ETCD = (
    "etcd",
    *("--listen-client-urls", "http://0.0.0.0:2379"),
    *("--advertise-client-urls", "http://$ETCD_HOST:2379"),
)
_NATS_CONFIG = {"max_payload": 32 << 20, "jetstream": {}}


def _dynamo_services(dynamo: DynamoPlan | None) -> tuple[Part, ...]:
    if dynamo is None:
        return ()
    config = ConfigFile(placeholder="NATS_CONFIG_PATH", name="nats.conf", content=_NATS_CONFIG)
    return (
        Part(name="etcd", role="etcd", argv=_ETCD),
        Part(
            name="nats",
            role="nats",
            argv=("nats-server", "-c", "$NATS_CONFIG_PATH"),
            files=(config,),
        ),
    )


def _frontend(deployment: Deployment, servers: Sequence[Part]) -> tuple[Part, ...]:
    dynamo = deployment.dynamo
    if dynamo is None:
        return ()
    own = () if dynamo.port == _DEFAULT_PORT else ("--http-port", str(dynamo.port))
    return (
        Part(
            name="frontend",
            role="frontend",
            argv=(*FRONTEND, *(t for _, tokens, _ in dynamo.frontend for t in tokens), *own),
            env=tuple((name, value) for name, value, _ in dynamo.variables),
            port=dynamo.port,
            after=("etcd", "nats", *(server.name for server in servers)),
        ),
    )


def router_port(deployment: Deployment) -> int:
    """The port that requests are sent to, where the operator names none."""
    return deployment.router_port or _ROUTER_PORT


def _from_text(name: str, role: str, text: str, source: Source | None) -> Part:
    command = words(text)
    if command is None:
        return Part(name=name, role=role, text=text, source=source)
    argv, env = command
    return Part(name=name, role=role, argv=argv, env=env, source=source)
