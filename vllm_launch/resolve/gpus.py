"""Which of a host's GPUs to take: those that are idle, and those that are close together. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.host import Gpu

_IDLE_BYTES = 1 << 30
_IDLE_SHARE = 0.02


def why_not_whole(gpu: Gpu) -> str:
    """Why a device cannot be used as a whole GPU, or nothing."""
    if gpu.fault:
        return gpu.fault
    if gpu.name == "unknown" and gpu.pci_device_id is None:
        return dict(gpu.unknown).get("name", "no reason given")
    if gpu.mig_enabled:
        return "cut into MIG instances"
    if is_partitioned(gpu):
        return f"partitioned as {'/'.join(gpu.partition)}, not SPX/NPS1"
    return ""


def is_partitioned(gpu: Gpu) -> bool:
    """Whether a device of AMD's is a part of a GPU."""
    return gpu.vendor == "AMD" and gpu.partition != ("SPX", "NPS1")


def left_out(gpus: Sequence[Gpu]) -> list[str]:
    """What is said of devices that cannot be used, once for those that are alike."""
    alike: dict[tuple[str, str, str], list[Gpu]] = {}
    for gpu in gpus:
        if reason := why_not_whole(gpu):
            alike.setdefault((gpu.vendor, gpu.name, reason), []).append(gpu)
    return [f"left out: {_described(some, reason)}" for (*_, reason), some in alike.items()]


def _described(gpus: list[Gpu], reason: str) -> str:
    first, which = gpus[0], f"{gpus[0].vendor} {indices(gpus)}"
    if first.name == "unknown":
        return f"{which} do{'es' * (len(gpus) == 1)} not answer: {reason}"
    return f"{which} ({first.name}): {reason}"


def indices(gpus: Sequence[Gpu]) -> str:
    """Such as "GPU 3" or "GPUs 0-3, 6"."""
    runs: list[list[int]] = []
    for index in sorted(gpu.index for gpu in gpus):
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    words = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return f"GPU{'s' * (len(gpus) > 1)} {', '.join(words)}"


def is_idle(gpu: Gpu) -> bool | None:
    """Whether nobody uses it: little memory held, and no process. None: it does not say."""
    if gpu.processes:
        return False
    if gpu.unified_memory:  # most of what is used is the host's
        return None if gpu.processes is None else True
    if gpu.memory_used_bytes is None:
        return None
    limit = max(_IDLE_BYTES, _IDLE_SHARE * (gpu.memory_bytes or 0))
    return gpu.memory_used_bytes < limit


def are_linked(one: Gpu, other: Gpu) -> bool:
    """Whether NVLink joins two GPUs: one fabric clique, one switch, or a link between them."""
    if one.fabric_cluster and (one.fabric_cluster, one.fabric_clique) == (
        other.fabric_cluster,
        other.fabric_clique,
    ):
        return True
    ends, others = _ends(one), _ends(other)
    return bool(
        ends & others or _address(one.pci_bus_id) in others or _address(other.pci_bus_id) in ends
    )


def _ends(gpu: Gpu) -> set[str]:
    return {_address(peer) for peer in gpu.nvlink_peers}


def _address(words: str | None) -> str:
    return (words or "no address").lower()


def choose_gpus(gpus: Sequence[Gpu], count: int) -> tuple[Gpu, ...]:
    """The best ``count`` of these, in their order. Fewer where there are not so many.

    What is idle comes before what is close together by NVLink, that before what is on one
    NUMA node, and that before the lowest indices.
    """
    if count >= len(gpus):
        return tuple(gpus)
    if count <= 0:
        return ()
    sets = [_around(seed, gpus, count) for seed in gpus]
    chosen = min(sets, key=_cost)
    return tuple(gpu for gpu in gpus if gpu in chosen)


def _around(seed: Gpu, gpus: Sequence[Gpu], count: int) -> list[Gpu]:
    """The seed, and one by one the GPU that goes best with those that are there."""
    chosen = [seed]
    left = [gpu for gpu in gpus if gpu is not seed]
    while len(chosen) < count:
        best = min(left, key=lambda gpu: _distance(gpu, chosen))
        chosen.append(best)
        left.remove(best)
    return chosen


def _distance(gpu: Gpu, chosen: list[Gpu]) -> tuple[int, int, int, int]:
    unlinked = sum(not are_linked(gpu, one) for one in chosen)
    other_numa = sum(gpu.numa_node != one.numa_node for one in chosen)
    return _use(gpu), unlinked, other_numa, gpu.index


def _use(gpu: Gpu) -> int:
    """0 idle, 1 not known, 2 in use."""
    return {True: 0, None: 1, False: 2}[is_idle(gpu)]


def _cost(chosen: list[Gpu]) -> tuple[int, int, int, list[int]]:
    pairs = [(one, other) for place, one in enumerate(chosen) for other in chosen[:place]]
    return (
        sum(map(_use, chosen)),
        sum(not are_linked(one, other) for one, other in pairs),
        sum(one.numa_node != other.numa_node for one, other in pairs),
        sorted(gpu.index for gpu in chosen),
    )
