"""A whole deployment, process by process, in the order in which they are started."""

from __future__ import annotations

from ..errors import UsageError
from ..model.part import SERVERS, ConfigFile, Meaning, Part
from ..model.source import Source
from .command_text import words
from .dynamo import FRONTEND
from .endpoints import fill_json, fill_process, fill_store, fill_text, names_in, names_in_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ..model.deployment import Deployment, DynamoPlan, KvStorePlan, ProcessPlan
    from ..model.taxonomy import HardwareProfile

_DEFAULT_PORT = 8000
_MASTER_PORT = 50051
# vllm-router's own, where neither strategy nor store names one.
_ROUTER_PORT = 30000
# vLLM's --data-parallel-rpc-port is 29550; the second pool may share the machine.
# The placeholders of the machines that services are on.
_SERVICES = {"master": "MOONCAKE_MASTER_IP", "etcd": "ETCD_HOST", "nats": "NATS_HOST"}
_STORE_FILE = "MOONCAKE_STORE_CONFIG_PATH"
_RPC_PORTS = {"PREFILL_DP_RPC_PORT": "29550", "DECODE_DP_RPC_PORT": "29551"}


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
        env=_env(plan),
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
    if plan is not None and number > 1:
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


def proxy(deployment: Deployment, all_parts: Sequence[Part], port: int, host: str = "") -> Part:
    """The toy proxy of vLLM's tests, which may stand where the router does for a quick test.

    It asks the very servers that the router would. Raises UsageError where there are no pools.
    """
    if deployment.deploy_type != "pd_cluster":
        raise UsageError(
            "the toy proxy stands between prefill and decode, and this deployment has no pools",
            hint="give --strategy pd_cluster",
        )
    argv = ["python3", "$TOY_PROXY", "--port", str(port), *(("--host", host) if host else ())]
    for pool, role in (("prefiller", "prefill"), ("decoder", "decode")):
        asked = [part for part in all_parts if part.role == role and part.port is not None]
        argv += [f"--{pool}-host", *(f"${address_name(part)}" for part in asked)]
        argv += [f"--{pool}-port", *(str(part.port) for part in asked)]
    return Part(
        name="proxy",
        role="proxy",
        argv=tuple(argv),
        port=port,
        after=tuple(part.name for part in all_parts if part.role in SERVERS),
        source=Source(layer="proxy", detail="tests/v1/kv_connector/nixl_integration of vLLM"),
    )


def address_name(part: Part) -> str:
    """The placeholder that a server's machine is called by; "" for one that nobody calls."""
    if part.role in ("prefill", "decode"):
        return f"{part.role.upper()}_NODE_{part.rank + 1}"
    if part.role == "instance":
        number = part.name.rpartition("-")[2]
        return f"VLLM_INSTANCE_{number}" if number != "0" else "HEAD_IP"
    return "HEAD_IP" if part.role in ("head", "server") else ""


def meaning(placeholder: str, deployment: Deployment, all_parts: Sequence[Part]) -> Meaning:
    """What a placeholder of a deployment stands for."""
    return meanings((placeholder,), deployment, all_parts)[placeholder]


def meanings(
    names: Iterable[str], deployment: Deployment, all_parts: Sequence[Part]
) -> dict[str, Meaning]:
    """What each of some placeholders stands for."""
    machines = address_parts(all_parts)
    files = {each.placeholder for part in all_parts for each in part.files}
    return {name: _meaning(name, deployment, machines, files) for name in names}


def address_parts(all_parts: Sequence[Part]) -> dict[str, Part]:
    """The parts whose machines' addresses are asked for, by the placeholders that do."""
    found: dict[str, Part] = {}
    for part in all_parts:
        name = _SERVICES.get(part.role, "")
        name = name or (address_name(part) if part.role in SERVERS else "")
        if name:
            found.setdefault(name, part)
    first = next((part for part in all_parts if part.role in SERVERS), None)
    if first is not None:
        found.setdefault("HEAD_IP", first)
        if first.role == "instance":
            found.setdefault("VLLM_INSTANCE_1", first)
    return found


def _meaning(
    placeholder: str, deployment: Deployment, machines: Mapping[str, Part], files: Collection[str]
) -> Meaning:
    if placeholder in machines:
        return Meaning(kind="node", part=machines[placeholder].name)
    if placeholder in _RPC_PORTS:
        return Meaning(kind="port", default=_RPC_PORTS[placeholder])
    if placeholder == "ROUTER_PORT":
        return Meaning(kind="port", default=str(router_port(deployment)))
    if placeholder == "ROUTER_HOST":
        return Meaning(kind="bind", default="0.0.0.0")  # noqa: S104 - a router is for others
    if placeholder == "IFACE_NAME":
        return Meaning(kind="interface")
    if placeholder in ("MOONCAKE_DEVICE_NAME", "MOONCAKE_STORE_DEVICE_NAME"):
        return Meaning(kind="device", default="")  # empty: Mooncake picks
    if placeholder in files:
        return Meaning(kind="file")
    return Meaning(kind="other")


def placeholders_of(part: Part) -> tuple[str, ...]:
    """The names of the placeholders in a part's words, variables and files, each once."""
    return _names((*part.argv, *(value for _, value in part.env), part.text), part)


def unfilled(part: Part) -> tuple[str, ...]:
    """The placeholders that a part is to have filled before it starts.

    A dollar sign in the operator's own words is a dollar sign.
    """
    plan = part.plan
    if plan is None:
        return placeholders_of(part)
    texts = [word for _, words, source in plan.arguments if source.layer != "operator"
             for word in words]  # fmt: skip
    texts += [value for _, value, source in plan.variables if source.layer != "operator"]
    return _names(texts, part)


def _names(texts: Iterable[str], part: Part) -> tuple[str, ...]:
    """The placeholders in texts and in a part's files."""
    names = [name for text in texts for name in names_in(text)]
    for file in part.files:
        names += names_in_json(file.content)
        names += [] if file.path else [file.placeholder]
    return tuple(dict.fromkeys(names))


def fill_part(part: Part, values: Mapping[str, str]) -> Part:
    """A part with the known placeholders filled, in its words, variables and files.

    In what the operator wrote, a dollar sign is a dollar sign.
    """
    if not values:
        return part
    files = tuple(f.replace(content=fill_json(f.content, values)) for f in part.files)
    if part.plan is not None:
        plan = fill_process(part.plan, values)
        return part.replace(plan=plan, argv=tuple(plan.argv), env=_env(plan), files=files)
    return part.replace(
        argv=tuple(fill_text(word, values) for word in part.argv),
        env=tuple((name, fill_text(value, values)) for name, value in part.env),
        text=fill_text(part.text, values),
        files=files,
    )


def fill_deployment(deployment: Deployment, values: Mapping[str, str]) -> Deployment:
    """A deployment with the known placeholders filled as ``fill_part`` does."""
    if not values:
        return deployment
    return deployment.replace(
        processes=tuple(fill_process(plan, values) for plan in deployment.processes),
        router=fill_text(deployment.router, values) if deployment.router else None,
        store=fill_store(deployment.store, values),
    )


def _env(plan: ProcessPlan) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value, _ in plan.variables)
