"""Host memory for KV cache and weights that are kept there."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.record import Record
from .hugepages import KEY
from .layout import connectors, layout
from .plan import last, value
from .units import GIB, as_bytes, size
from .unread import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.source import Source
    from .layout import Connector
    from .situation import Situation

_SIMPLE_DEFAULT = 8 * GIB  # all ranks together
_CPU_SHARE = 0.92  # vLLM's default of --gpu-memory-utilization
_MARGIN = 0.9  # of what is available: the server's processes take their part as well


class Pinned(Record):
    """Host memory that one part of the process takes on this node."""

    what: str
    total: int  # bytes, all ranks here
    flag: str
    shared: bool = False  # a file in /dev/shm
    locked: bool = False  # registered with RDMA devices, which counts against RLIMIT_MEMLOCK
    source: Source | None = None


def pinned(situation: Situation) -> list[Pinned]:
    """Everything that the plan keeps in host memory, huge pages apart."""
    return [*_of_connectors(situation), *_of_weights(situation)]


def _of_connectors(situation: Situation) -> Iterator[Pinned]:
    at = layout(situation.process)
    for connector in connectors(situation.process):
        if connector.extra.get(KEY):
            continue
        total = _bytes_here(situation, connector, at.ranks, at.world)
        if total:
            yield Pinned(
                what=connector.name,
                total=total,
                flag=connector.flag,
                shared=connector.name == "OffloadingConnector" and situation.brand == "NVIDIA",
                locked=connector.name == "MooncakeStoreConnector",
                source=connector.source,
            )


def _bytes_here(situation: Situation, connector: Connector, ranks: int, world: int) -> int:
    extra = connector.extra
    if connector.name == "SimpleCPUOffloadConnector":
        per_rank = as_bytes(extra.get("cpu_bytes_to_use_per_rank"))
        if per_rank is not None:
            return per_rank * ranks
        total = as_bytes(extra.get("cpu_bytes_to_use"))
        return (_SIMPLE_DEFAULT if total is None else total) * ranks // world
    if connector.name == "OffloadingConnector":
        return (as_bytes(extra.get("cpu_bytes_to_use")) or 0) * ranks // world
    if connector.name == "MooncakeStoreConnector" and situation.deployment.store is not None:
        config = situation.deployment.store.mooncake_config
        config = config if isinstance(config, dict) else {}
        parts = (config.get("global_segment_size"), config.get("local_buffer_size"))
        return sum(as_bytes(part) or 0 for part in parts) * ranks
    return 0


def _of_weights(situation: Situation) -> Iterator[Pinned]:
    given = last(situation.process, "--cpu-offload-gb")
    try:
        gib = float(value(situation.process, "--cpu-offload-gb") or 0)
    except ValueError:
        return
    if given is not None and gib > 0:
        total = int(gib * GIB) * layout(situation.process).ranks
        yield Pinned(what="weights", total=total, flag=given.flag, source=given.source)


def memory_enough(situation: Situation) -> Iterable[Finding] | None:
    """All of it against available memory and the control group's limit."""
    parts = pinned(situation)
    if not parts:
        return None
    needed = sum(part.total for part in parts)
    rooms = list(_rooms(situation))
    if not rooms:
        what = f"{size(needed)} of host memory needed, what is available is not known"
        cause, source = parts[0].flag, parts[0].source
        return unread(situation, "memory_available_bytes", what, cause=cause, source=source)
    room, where = min(rooms)
    if needed <= room * _MARGIN:
        return []
    severity = "fail" if needed > room else "warn"
    takers = ", ".join(f"{size(part.total)} for {part.what}" for part in parts)
    return [
        _finding(
            parts,
            severity,
            f"{size(needed)} of host memory needed, {size(room)} {where}",
            why=f"The plan keeps in host memory: {takers} (all ranks of this node). "
            "Pinned memory cannot be swapped; the kernel ends the server instead.",
            remedy="Lower the bytes, free memory, or raise the limit.",
        )
    ]


def _rooms(situation: Situation) -> Iterator[tuple[int, str]]:
    """What a new process can have, by each measure."""
    available = situation.system.memory_available_bytes
    if available is not None:
        yield available, "available"
    group = situation.system.cgroup
    if situation.native and group is not None and group.memory_limit is not None:
        yield max(0, group.memory_limit - (group.memory_used or 0)), "left in the control group"


def _finding(parts: list[Pinned], severity: str, what: str, **rest: str) -> Finding:
    return Finding(
        severity=severity, what=what, cause=parts[0].flag, source=parts[0].source, **rest
    )


def cpu_memory(situation: Situation) -> Iterable[Finding] | None:
    """On CPUs, what each rank asks for of its NUMA node against what is available."""
    if situation.deployment.choice.hardware.generation != "cpu":
        return None
    facts = situation.facts
    nodes = [n.memory_bytes for n in facts.numa_nodes if n.cpus and n.memory_bytes] if facts else []
    available = situation.system.memory_available_bytes
    if not nodes or available is None:
        return unread(situation, "memory_available_bytes", "what is available is not known")
    given = last(situation.process, "--gpu-memory-utilization")
    try:
        share = float(value(situation.process, "--gpu-memory-utilization") or _CPU_SHARE)
    except ValueError:
        return []
    ranks = layout(situation.process).ranks
    asked = int(share * max(nodes)) * ranks
    if asked <= available:
        return []
    fitting = max(1, int(90 * available / (max(nodes) * ranks))) / 100
    return [
        Finding(
            severity="fail",
            what=f"{size(asked)} of memory asked for ({share:g} of {ranks} NUMA "
            f"node{'s' * (ranks > 1)}), {size(available)} available",
            why="The server does not start: it reserves that share before it loads anything.",
            remedy=f"Take less of it, by the flag that is for CPUs too: "
            f"--gpu-memory-utilization {fitting:.2f}.",
            cause="--gpu-memory-utilization" if given is not None else "vLLM's default",
            source=given.source if given is not None else None,
        )
    ]


CHECKS = (
    Check(
        code="CPU_MEMORY",
        subject="memory",
        about="memory of NUMA nodes against --gpu-memory-utilization, on CPUs",
        run=cpu_memory,
    ),
    Check(
        code="KV_HOST_RAM",
        subject="memory",
        about="KV cache and weights in host memory against what is available",
        run=memory_enough,
    ),
)
