"""Parallelism flags: how the GPUs of one node, or of several, share the model."""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from ..model.source import Source, paired
from .hardware import memory_per_gpu, most_specific

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.recipe import Recipe, Size, Variant
    from ..model.source import Arguments
    from ..model.strategy import Strategy
    from ..model.taxonomy import HardwareProfile

LOCAL_RANKS = "--data-parallel-size-local"


def flags(source: Source, *tokens: object) -> Arguments:
    """Arguments out of flags and values, all from one place."""
    return paired((str(token), source) for token in tokens)


def size_on(size: Size | None, hardware: HardwareProfile) -> int | None:
    """A size's figure for this hardware, or None."""
    return most_specific(size.by_key, hardware) if size is not None else None


def tensor_parallel_size(
    recipe: Recipe,
    variant: Variant,
    strategy: Strategy,
    hardware: HardwareProfile,
    forced: tuple[int, Source] | None,
    *,
    measured: bool = False,
) -> tuple[int, Source]:
    """The TP size on one node, and where it comes from; ``forced`` is a preset's or operator's.

    A recipe's figure is for the hardware that it names: GPUs that were ``measured`` and have no
    room for the weights on so many are all taken. Raises NothingFits where a forced size is beyond
    the node's GPUs.
    """
    gpus = hardware.gpu_count
    if forced is not None:
        return _within(forced, gpus, hardware)
    if strategy.name != "single_node_tp":
        return gpus, _all_gpus(strategy, hardware)
    override = recipe.strategy_overrides.get(strategy.name)
    for size in (variant.tp, override.tp if override else None):
        wanted = size_on(size, hardware)
        if size is not None and wanted is not None:
            place = size.where.replace(detail=f"TP {wanted}")
            weights = variant.vram_minimum_gb or 0
            if measured and wanted < gpus and weights > memory_per_gpu(hardware) * wanted:
                detail = f"TP {wanted} has no room for {weights:g} GB: all {gpus} GPUs"
                return gpus, place.replace(detail=detail)
            if wanted <= gpus:
                return wanted, place
            return gpus, place.replace(detail=f"TP {wanted}, but {hardware.id} has {gpus}")
    if variant.vram_minimum_gb and variant.vram_minimum_gb <= memory_per_gpu(hardware):
        needed = f"{variant.vram_minimum_gb:g} GB fit one GPU"
        return 1, variant.where.replace(
            layer=f"{variant.where.layer}.vram_minimum_gb", detail=needed
        )
    return gpus, _all_gpus(strategy, hardware)


def _within(forced: tuple[int, Source], gpus: int, hardware: HardwareProfile) -> tuple[int, Source]:
    size, source = forced
    if size > gpus:
        noun = "GPU" if gpus == 1 else "GPUs"
        raise NothingFits(
            f"tensor parallel size {size} ({source.layer}) is beyond the {gpus} {noun} "
            f"of {hardware.id}",
            hint=f"use --tp {gpus} or less, or a multi-node strategy with --nodes",
        )
    return size, source.replace(detail=f"{source.detail} TP {size}".strip())


def _all_gpus(strategy: Strategy, hardware: HardwareProfile) -> Source:
    gpus = "the GPU" if hardware.gpu_count == 1 else f"all {hardware.gpu_count} GPUs"
    return strategy.where.replace(
        layer=f"strategies.{strategy.name}", detail=f"{gpus} of a {hardware.id} node"
    )


class Layout:
    """The figures that one node's parallelism flags are made of."""

    __slots__ = ("gpus", "head", "local", "nodes", "rank", "source", "tp")

    def __init__(
        self,
        *,
        gpus: int,
        tp: int,
        nodes: int,
        rank: int,
        head: str,
        source: Source,
        local: int = 0,  # data-parallel ranks on each node: what a follower's first is counted by
    ) -> None:
        self.gpus, self.tp, self.nodes, self.rank = gpus, tp, nodes, rank
        self.head, self.source, self.local = head, source, local


def _tensor(at: Layout) -> Arguments:
    return flags(at.source, "--tensor-parallel-size", at.tp)


def _data(at: Layout) -> Arguments:
    return flags(at.source, "--data-parallel-size", at.gpus)


def _joined(at: Layout) -> tuple[object, ...]:
    """How nodes of one tensor- or pipeline-parallel group find each other."""
    headless = ("--headless",) if at.rank else ()
    return ("--nnodes", at.nodes, "--node-rank", at.rank, "--master-addr", at.head, *headless)


def _tensor_across(at: Layout) -> Arguments:
    return flags(at.source, "--tensor-parallel-size", at.tp * at.nodes, *_joined(at))


def _tensor_pipeline(at: Layout) -> Arguments:
    return flags(
        at.source,
        "--tensor-parallel-size",
        at.tp,
        "--pipeline-parallel-size",
        at.nodes,
        *_joined(at),
    )


def local_ranks(strategy: Strategy, gpus: int) -> int:
    """Data-parallel ranks on each node, where no layer says otherwise; 0: it has none."""
    return {"multi_node_tp_dp": 1, "multi_node_dep": gpus}.get(strategy.name, 0)


def _start(at: Layout) -> tuple[object, ...]:
    """A follower's first data-parallel rank: behind those of the nodes before it."""
    return ("--data-parallel-start-rank", at.rank * at.local) if at.rank else ()


def _tensor_data(at: Layout) -> Arguments:
    return flags(
        at.source,
        "--tensor-parallel-size",
        at.tp,
        "--data-parallel-size",
        at.nodes,
        LOCAL_RANKS,
        1,
        "--data-parallel-address",
        at.head,
        *_start(at),
    )


def _data_across(at: Layout) -> Arguments:
    return flags(
        at.source,
        "--data-parallel-size",
        at.gpus * at.nodes,
        LOCAL_RANKS,
        at.gpus,
        "--data-parallel-address",
        at.head,
        *_start(at),
    )


_BY_STRATEGY: dict[str, Callable[[Layout], Arguments]] = {
    "single_node_tp": _tensor,
    "single_node_tep": _tensor,
    "single_node_dep": _data,
    "multi_node_tp": _tensor_across,
    "multi_node_tep": _tensor_across,
    "multi_node_tp_pp": _tensor_pipeline,
    "multi_node_tp_dp": _tensor_data,
    "multi_node_dep": _data_across,
}


def parallel_arguments(strategy: Strategy, at: Layout) -> Arguments:
    """The parallelism flags of one node. Raises UsageError for a strategy that is not known."""
    build = _BY_STRATEGY.get(strategy.name)
    if build is None:
        raise UsageError(
            f"the strategy {strategy.name!r} has no known parallelism flags",
            hint=f"known: {', '.join(_BY_STRATEGY)}, pd_cluster",
        )
    return build(at)
