"""GPUs as a table: memory, links, who uses them."""

from __future__ import annotations

from ..resolve.gpus import is_idle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model.host import Gpu, MigDevice

GIB = 1 << 30
_BAR = 10
_UNDER_A_ROW = " " * 7


def gpu_tables(gpus: Sequence[Gpu]) -> Iterator[str]:
    """A heading and a table for each kind of GPU, and an empty line after it."""
    for kin in _alike(gpus):
        yield _heading(kin)
        yield from _table(kin)
        yield ""


def _alike(gpus: Sequence[Gpu]) -> Iterator[list[Gpu]]:
    """Runs of GPUs that share a heading."""
    groups: dict[tuple[str, str, str | None], list[Gpu]] = {}
    for gpu in gpus:
        kind = (gpu.vendor, gpu.name, gpu.compute_capability or gpu.gfx_target)
        groups.setdefault(kind, []).append(gpu)
    yield from groups.values()


def _heading(gpus: list[Gpu]) -> str:
    gpu = gpus[0]
    name = f"unknown {gpu.vendor} GPU" if gpu.name == "unknown" else gpu.name
    about = f"compute capability {gpu.compute_capability}" if gpu.compute_capability else ""
    return ", ".join(filter(None, (f"{len(gpus)} x {name}", about or gpu.gfx_target)))


def _table(gpus: list[Gpu]) -> Iterator[str]:
    links, nodes = _any(gpus, "nvlink_active"), _any(gpus, "numa_node")
    header = f"  GPU  {'memory in use':34}"
    yield (header + ("  NVLink" if links else "") + ("  NUMA" if nodes else "")).rstrip()
    for gpu in gpus:
        row = f"{gpu.index:5}  {_memory(gpu):34}"
        row += f"  {_number(gpu.nvlink_active):>6}" if links else ""
        row += f"  {_number(gpu.numa_node):>4}" if nodes else ""
        yield f"{row}  {_state(gpu)}".rstrip()
        yield from (f"{_UNDER_A_ROW}{line}" for line in _holders(gpu))
        yield from (f"{_UNDER_A_ROW}{_instance(one)}" for one in gpu.mig_devices or ())


def _any(gpus: list[Gpu], field: str) -> bool:
    """Whether a column says something: of links, that there are any."""
    values = [getattr(gpu, field) for gpu in gpus]
    return any(values) if field == "nvlink_active" else any(one is not None for one in values)


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _memory(gpu: Gpu) -> str:
    if gpu.mig_enabled:
        return f"cut into {len(gpu.mig_devices or ())} MIG instances"
    if gpu.memory_bytes is None:
        return "memory unknown"
    total = f"{gpu.memory_bytes / GIB:.1f} GiB"
    if gpu.memory_used_bytes is None:
        return f"[{'?' * _BAR}]     ? of {total}"
    share = min(1.0, gpu.memory_used_bytes / gpu.memory_bytes) if gpu.memory_bytes else 0.0
    full = min(_BAR - 1, int(share * _BAR)) if share < 1 else _BAR
    bar = "#" * full + "." * (_BAR - full)
    return f"[{bar}] {gpu.memory_used_bytes / GIB:5.1f} of {total}"


def _state(gpu: Gpu) -> str:
    if gpu.fault:
        return "FAULTY"
    modes = "/".join(filter(None, (gpu.compute_partition, gpu.memory_partition)))
    words = [modes] if modes not in ("", "SPX/NPS1") else []
    words += ["unified"] if gpu.unified_memory else []
    words += {True: ["idle"], False: ["in use"], None: []}[is_idle(gpu)]
    return ", ".join(words)


def _holders(gpu: Gpu) -> Iterator[str]:
    """Who uses the GPU: the number, the program's name, and no more of it."""
    for one in gpu.processes or ():
        size = "" if one.memory_bytes is None else f"  {one.memory_bytes / GIB:.1f} GiB"
        yield f"process {one.pid}  {one.name or '(name unknown)'}{size}"


def _instance(one: MigDevice) -> str:
    known = one.memory_bytes is not None
    size = f"{(one.memory_bytes or 0) / GIB:.1f} GiB" if known else "memory unknown"
    return f"{one.profile or 'MIG':8} {one.uuid or 'no UUID':40} {size}"
