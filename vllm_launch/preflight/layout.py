"""Which part of a deployment runs on this node: ranks, devices, KV connectors."""

from __future__ import annotations

from ..model.record import Record
from .plan import arguments, config, last, number, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..model.deployment import ProcessPlan
    from ..model.source import Source
    from .situation import Situation

MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
KV_FLAG = "--kv-transfer-config"


class Layout(Record):
    """The sizes of one process's parallelism."""

    world: int  # ranks of one data-parallel replica, all nodes together
    replicas: int  # data-parallel size
    local_replicas: int  # of those, on this node
    first_replica: int  # the number of the first one here
    nodes: int
    rank: int  # this node's
    ranks: int  # processes with a GPU on this node

    @property
    def is_head(self) -> bool:
        """Whether other nodes connect to this one."""
        return self.rank == 0 and self.first_replica == 0

    @property
    def is_alone(self) -> bool:
        """Whether all of the engine is on this node."""
        return self.nodes == 1 and self.local_replicas == self.replicas


def layout(process: ProcessPlan) -> Layout:
    """The sizes by the process's flags."""
    tp = number(process, "--tensor-parallel-size")
    pp = number(process, "--pipeline-parallel-size")
    world = tp * pp * number(process, "--prefill-context-parallel-size")
    replicas = number(process, "--data-parallel-size")
    nodes = max(1, number(process, "--nnodes"))
    single = last(process, "--data-parallel-rank") is not None
    local = 1 if single else number(process, "--data-parallel-size-local", replicas)
    first = number(process, "--data-parallel-rank", 0) if single else 0
    ranks = world * replicas // nodes if nodes > 1 else world * local
    return Layout(
        world=world,
        replicas=replicas,
        local_replicas=local,
        first_replica=number(process, "--data-parallel-start-rank", first),
        nodes=nodes,
        rank=number(process, "--node-rank", 0),
        ranks=max(1, ranks),
    )


def spans_nodes(situation: Situation) -> bool:
    """Whether the process talks to others on other nodes."""
    at = layout(situation.process)
    if not at.is_alone:
        return True
    return situation.deployment.deploy_type == "pd_cluster" and not neighbours(situation)


def mask(process: ProcessPlan) -> tuple[str, ...] | None:
    """The devices that the plan limits the process to."""
    env = process.env
    text = next((env[name] for name in MASKS if env.get(name)), None)
    return tuple(text.split(",")) if text is not None else None


def neighbours(situation: Situation) -> tuple[ProcessPlan, ...]:
    """The other processes of the deployment that are planned for this very node.

    Two pools share a node where each has a part of its devices.
    """
    if situation.deployment.deploy_type != "pd_cluster":
        return ()
    own = mask(situation.process)
    if own is None:
        return ()
    return tuple(
        other
        for other in situation.deployment.processes
        if other.role != situation.process.role
        and (theirs := mask(other)) is not None
        and not set(own) & set(theirs)
    )


class Connector(Record):
    """One KV connector of a process; those inside a MultiConnector by themselves."""

    name: str
    extra: dict[str, Any]  # its kv_connector_extra_config
    role: str = ""
    flag: str = KV_FLAG
    module: str = ""  # where it comes from, if not from vLLM
    source: Source | None = None


def connectors(process: ProcessPlan) -> list[Connector]:
    """Every connector, nested ones included, and what --kv-offloading-size stands for."""
    given = [one for one in arguments(process) if one.flag == KV_FLAG]
    source = given[-1].source if given else None
    found = list(_walk(config(process, KV_FLAG), source))
    gib = value(process, "--kv-offloading-size")
    backend = value(process, "--kv-offloading-backend") or "native"
    if gib is not None and backend == "native" and not found:
        argument = last(process, "--kv-offloading-size")
        simple = process.env.get("VLLM_USE_SIMPLE_KV_OFFLOAD", "0") not in ("", "0")
        name = "SimpleCPUOffloadConnector" if simple else "OffloadingConnector"
        try:
            extra = {"cpu_bytes_to_use": int(float(gib) * (1 << 30))}
        except ValueError:
            extra = {}
        origin = argument.source if argument else None
        found.append(Connector(name=name, extra=extra, flag="--kv-offloading-size", source=origin))
    return found


def _walk(config: Any, source: Source | None, depth: int = 0) -> Iterator[Connector]:
    if not isinstance(config, dict) or depth > 8:
        return
    extra = config.get("kv_connector_extra_config")
    extra = extra if isinstance(extra, dict) else {}
    name = config.get("kv_connector")
    if isinstance(name, str):
        yield Connector(
            name=name,
            extra=extra,
            role=str(config.get("kv_role") or ""),
            module=str(config.get("kv_connector_module_path") or ""),
            source=source,
        )
    nested = extra.get("connectors")
    for below in nested if isinstance(nested, list) else ():
        yield from _walk(below, source, depth + 1)


def uses(process: ProcessPlan, *names: str) -> Connector | None:
    """The first connector whose name begins with one of these."""
    return next((one for one in connectors(process) if one.name.startswith(names)), None)
