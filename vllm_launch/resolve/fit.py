"""Whether each variant fits under each strategy, and the smallest change that would do."""

from __future__ import annotations

from ..errors import LaunchError
from ..model.record import Record
from .footprint import gpus_of
from .hardware import memory_per_gpu
from .shapes import kv_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.checkpoint import Checkpoint
    from ..model.choice import Request
    from ..model.deployment import Deployment
    from ..model.recipe import Variant
    from ..model.taxonomy import HardwareProfile
    from .resolver import Resolver

_GB = 1e9
_HEADROOM = 1.2  # recipes name weights times this
_DEFAULT_UTILIZATION = 0.9  # vLLM's own default of --gpu-memory-utilization


class Fit(Record):
    """One variant under one strategy. Memory in GB (1e9 bytes), all GPUs together."""

    variant: str
    strategy: str  # "" for all of them, where the hardware rules the variant out
    fits: bool
    gpus: int  # of all nodes, as far as they share one copy of the weights
    nodes: int = 1
    needs_gb: float | None  # the recipe's figure for weights with headroom
    has_gb: float
    change: str = ""  # where it does not fit: why, or the smallest change that would do
    estimate: str = ""  # KV cache beside the weights, where the config is at hand

    @property
    def headroom_gb(self) -> float | None:
        """What is left beside the weights; negative where they do not fit."""
        return self.has_gb - self.needs_gb if self.needs_gb is not None else None


class Load(Record):
    """What the KV cache is to hold, and the model's own shape where that is known."""

    checkpoint: Checkpoint | None = None
    max_model_len: int | None = None  # tokens
    concurrency: int = 1


def fits(
    resolver: Resolver, request: Request, hardware: HardwareProfile, load: Load
) -> tuple[Fit, ...]:
    """Every variant under every strategy that is offered on the hardware."""
    table: list[Fit] = []
    for variant in resolver.recipe.variants.values():
        against = resolver.chooser.why_not(variant, hardware)
        if against is not None:
            table.append(_blank(variant, "", hardware).replace(change=against))
            continue
        strategies = resolver.chooser.offered(hardware)
        table += [_fit(resolver, request, hardware, variant, each, load) for each in strategies]
    return tuple(table)


def _blank(variant: Variant, strategy: str, hardware: HardwareProfile) -> Fit:
    return Fit(
        variant=variant.id,
        strategy=strategy,
        fits=False,
        gpus=hardware.gpu_count,
        needs_gb=variant.vram_minimum_gb,
        has_gb=hardware.vram_gb,
    )


def _fit(
    resolver: Resolver,
    request: Request,
    hardware: HardwareProfile,
    variant: Variant,
    strategy: str,
    load: Load,
) -> Fit:
    needed = variant.vram_minimum_gb
    nodes = _nodes(strategy, needed, hardware)
    fit = _blank(variant, strategy, hardware).replace(nodes=nodes)
    asked = request.replace(
        variant=variant.id, strategy=strategy, nodes=nodes if nodes > 1 else None, profile=None,
        hardware=hardware.id, devices=None,
    )  # fmt: skip
    try:
        deployment = resolver.resolve(resolver.choose(asked).replace(hardware=hardware))
    except LaunchError as error:
        return fit.replace(change=error.message)
    gpus = gpus_of(deployment, hardware)
    fit = fit.replace(gpus=gpus, has_gb=memory_per_gpu(hardware) * gpus)
    if needed is not None and needed > fit.has_gb:
        return fit.replace(change=_change(resolver, variant, hardware, needed))
    return fit.replace(fits=True, estimate=_estimate(deployment, variant, hardware, load))


def _nodes(strategy: str, needed: float | None, hardware: HardwareProfile) -> int:
    if not strategy.startswith("multi_node"):
        return 1
    return max(2, -int(-(needed or 0) // hardware.vram_gb))


def _change(resolver: Resolver, variant: Variant, hardware: HardwareProfile, needed: float) -> str:
    """The smallest change that would do: another variant, more GPUs, or nodes."""
    share = memory_per_gpu(hardware)
    smaller = [
        other
        for other in resolver.recipe.variants.values()
        if resolver.chooser.why_not(other, hardware) is None
        and (other.vram_minimum_gb or 0) <= hardware.vram_gb
        and other.id != variant.id
    ]
    if smaller:
        best = max(smaller, key=lambda other: other.vram_minimum_gb or 0)
        return f"--variant {best.id}"
    if any(name.startswith("multi_node") for name in resolver.chooser.offered(hardware)):
        return f"--nodes {max(2, -int(-needed // hardware.vram_gb))}"
    return f"{-int(-needed // share)} GPUs of {share:.0f} GB"


def _estimate(
    deployment: Deployment, variant: Variant, hardware: HardwareProfile, load: Load
) -> str:
    """How many tokens of KV cache the rest of a GPU's memory holds, marked as an estimate."""
    if load.checkpoint is None:
        return ""
    plan = deployment.processes[0]
    tp = plan.number("--tensor-parallel-size") or 1
    cache = kv_cache(load.checkpoint, plan.value("--kv-cache-dtype"), tp)
    weights = load.checkpoint.weight_bytes or (variant.vram_minimum_gb or 0) / _HEADROOM * _GB
    if cache is None or not weights:
        return ""
    utilization = float(plan.value("--gpu-memory-utilization") or _DEFAULT_UTILIZATION)
    room = memory_per_gpu(hardware) * _GB * utilization - weights / tp
    longest = cache.tokens(room / load.concurrency)
    tokens = longest * load.concurrency
    wanted = (load.max_model_len or 0) * load.concurrency
    if wanted <= tokens:
        return f"estimate: {tokens} tokens of KV cache"
    return (
        f"estimate: {tokens} tokens of KV cache, {wanted} wanted; --max-model-len "
        f"{longest} would do, or --kv-cache-dtype fp8"
    )
