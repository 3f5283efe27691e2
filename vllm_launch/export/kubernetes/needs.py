"""What a part needs of its node: GPUs, memory, pages, privileges."""

from __future__ import annotations

import itertools

from ...model.record import Record
from ...preflight.hugepages import demands
from ...preflight.layout import connectors
from ...preflight.memory import pinned
from ...preflight.plan import is_on
from ...preflight.shm_limits import RDMA_CONNECTORS
from ...preflight.situation import Situation
from ...preflight.units import GIB, MIB, as_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...model.deployment import Deployment
    from ...model.part import Part

# A server's own memory beside what the plan names: libraries, buffers, graphs; and for each GPU.
_SERVER = 16 * GIB
_EACH_GPU = 8 * GIB
_SHARED_MEMORY = 16 * GIB  # message queues and NCCL
_SMALL = GIB  # a router or a store's master
MASKS = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK", "ASCEND_RT_VISIBLE_DEVICES",
)  # fmt: skip


class Needs(Record):
    """Bytes and counts; 0 where nothing is needed."""

    gpus: int = 0
    cpus: int = 1
    memory: int = 0
    shared_memory: int = 0
    pages: Mapping[int, int] = {}  # bytes in HugeTLB pages, by the pages' size
    rdma: bool = False
    locks: bool = False  # registers memory with devices
    numa: bool = False  # binds memory to NUMA nodes

    @property
    def capabilities(self) -> list[str]:
        """What registering memory with a device, and binding it to NUMA nodes, takes."""
        return [*["IPC_LOCK"] * self.locks, *["SYS_NICE"] * self.numa]


def needs_of(part: Part, deployment: Deployment, alone: bool) -> Needs:
    """What one part needs. ``alone``: it talks to no other rank on another node."""
    if part.plan is None:
        return _of_other(part, deployment)
    situation = Situation(deployment=deployment, process=part.plan)
    kept = pinned(situation)
    found = connectors(part.plan)
    rdma = any(one.name.startswith(RDMA_CONNECTORS) for one in found)
    pages: dict[int, int] = {}
    for demand in demands(situation):
        if demand.page:
            pages[demand.page] = pages.get(demand.page, 0) + demand.pages * demand.page
    return Needs(
        gpus=part.gpus,
        cpus=2 + 2 * part.gpus if part.gpus else 8,
        memory=_SERVER
        + part.gpus * _EACH_GPU
        + sum(one.total for one in kept)
        + (0 if part.gpus else _weights(deployment)),
        shared_memory=_SHARED_MEMORY + sum(one.total for one in kept if one.shared),
        pages=pages,
        rdma=rdma or not alone,
        locks=bool(found) or not alone,
        numa=is_on(part.plan, "--numa-bind"),
    )


def _of_other(part: Part, deployment: Deployment) -> Needs:
    """A router's or a store's: what its words and files name.

    A store with a file of the operator's own is taken to need what the recipe's file says.
    """
    config = part.files[0].content if part.files else None
    if part.role == "store" and part.reads and deployment.store is not None:
        config = deployment.store.store_config
    config = config if isinstance(config, dict) else {}
    lent = sum(as_bytes(config.get(key)) or 0 for key in _LENT)
    lent += sum(_named_gib(part.argv))
    rdma = config.get("protocol") == "rdma"
    return Needs(memory=_SMALL + lent, rdma=rdma, locks=rdma)


_LENT = ("global_segment_size", "local_buffer_size")
_GIB_FLAGS = ("--l1-size-gb",)  # LMCache's pool in host memory


def _named_gib(argv: tuple[str, ...]) -> Iterable[int]:
    for flag, value in itertools.pairwise(argv):
        if flag in _GIB_FLAGS:
            yield as_bytes(f"{value}G") or 0


def _weights(deployment: Deployment) -> int:
    """Where there is no GPU, host memory holds the weights."""
    gigabytes = deployment.recipe.variants[deployment.choice.variant].vram_minimum_gb or 0
    return int(gigabytes * 10**9)


def masks(part: Part, deployment: Deployment) -> dict[str, str]:
    """The device masks of a part, counted anew.

    A pod has only the GPUs that it asks for, and they are its 0 and following: numbers of the
    whole node, or UUIDs of one that was looked at, would name others or none. A mask that the
    operator wrote is kept.
    """
    if part.plan is None:
        return {}
    chosen = deployment.choice.request.mask_because
    return {
        name: _anew(value, part.gpus)
        for name, value, source in part.plan.variables
        if name in MASKS
        and value
        and (source.layer != "operator" or (deployment.choice.devices and source.detail == chosen))
    }


def _anew(mask: str, gpus: int) -> str:
    return ",".join(str(index) for index in range(min(gpus, len(mask.split(",")))))


def quantity(count: int) -> str:
    """Bytes as Kubernetes writes them, whole."""
    if count % GIB == 0:
        return f"{count // GIB}Gi"
    return f"{-(-count // MIB)}Mi"


def page_resource(page: int) -> str:
    """The resource that pages of a size are."""
    for unit, name in ((GIB, "Gi"), (MIB, "Mi")):
        if page % unit == 0:
            return f"hugepages-{page // unit}{name}"
    return f"hugepages-{page // 1024}Ki"
