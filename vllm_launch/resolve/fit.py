"""Whether each variant fits under each strategy, and the smallest change that would do."""

from __future__ import annotations

from ..errors import LaunchError
from ..model.choice import Pool, Pools
from ..model.record import Record
from .choosing import Choosing, is_multi_node
from .footprint import gpus_of, room_of
from .hardware import memory_per_gpu
from .pick_layout import pick_strategy, usual_strategy
from .shapes import kv_cache
from .suitability import ceil, enough_nodes, footprint, nodes_of_weights, power_of_two, too_old

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

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
    """Every variant under every strategy that is offered on the hardware.

    Raises NothingFits where none is.
    """
    return _Table(resolver, request, hardware, load).rows()


class _Table:
    """One recipe against one machine."""

    def __init__(
        self, resolver: Resolver, request: Request, hardware: HardwareProfile, load: Load
    ) -> None:
        self.resolver, self.request, self.hardware, self.load = resolver, request, hardware, load

    def rows(self) -> tuple[Fit, ...]:
        """Each row; the change that one needs is looked for among those that fit."""
        rows = [row for v in self.resolver.recipe.variants.values() for row in self._of(v)]
        return tuple(
            row if row.fits or row.change else row.replace(change=self._change(row, rows))
            for row in rows
        )

    def _of(self, variant: Variant) -> Iterator[Fit]:
        against = self._against(variant)
        if against is not None:
            yield self._blank(variant, "").replace(change=against)
            return
        strategies = self.resolver.chooser.offered(self.hardware)
        if not strategies:
            pick_strategy(Choosing(self.resolver.chooser, self.request), self.hardware, 1)
        for strategy in strategies:
            yield self._fit(variant, strategy)

    def _against(self, variant: Variant) -> str | None:
        """What rules a variant out under every strategy."""
        recipe = self.resolver.recipe
        old = too_old(recipe, self.hardware)
        if old is not None:
            return f"{recipe.id} needs compute capability {old} or newer"
        return self.resolver.chooser.why_not(variant, self.hardware)

    def _blank(self, variant: Variant, strategy: str, nodes: int = 1) -> Fit:
        holding = nodes_of_weights(strategy, nodes)
        return Fit(
            variant=variant.id,
            strategy=strategy,
            fits=False,
            gpus=self.hardware.gpu_count * holding,
            nodes=nodes,
            needs_gb=variant.vram_minimum_gb,
            has_gb=self.hardware.vram_gb * holding,
        )

    def _fit(self, variant: Variant, strategy: str) -> Fit:
        needed, nodes = footprint(variant), None
        if is_multi_node(strategy):
            nodes = enough_nodes(self.resolver.recipe, strategy, needed, self.hardware) or 2
        fit = self._blank(variant, strategy, nodes or 1)
        if needed > fit.has_gb and strategy != "pd_cluster":
            return fit
        return self._tried(fit, nodes=nodes)

    def _tried(self, fit: Fit, **more: Any) -> Fit:
        """A row as its plan is."""
        asked = self.request.replace(variant=fit.variant, strategy=fit.strategy, **more)
        try:
            deployment = self.resolver.resolve(self.resolver.choose(asked))
        except LaunchError as error:
            return fit.replace(change=error.message)
        apart = deployment.deploy_type == "pd_cluster" and not deployment.pools_shared
        fit = fit.replace(
            gpus=gpus_of(deployment),
            has_gb=room_of(deployment),
            nodes=len(deployment.processes) if apart else fit.nodes,
        )
        if fit.has_gb < (fit.needs_gb or 0):
            return fit
        return fit.replace(fits=True, estimate=_estimate(deployment, self.hardware, self.load))

    def _change(self, row: Fit, rows: Sequence[Fit]) -> str:
        """The smallest change that would do: more of the GPUs, another variant, nodes, GPUs."""
        alike = [o for o in rows if o.fits and (o.strategy, o.nodes) == (row.strategy, 1)]
        several = [o for o in rows if o.fits and o.variant == row.variant and o.nodes > 1]
        all_gpus = self.hardware.gpu_count
        if row.gpus < all_gpus and self._tried(row, tp=all_gpus).fits:
            return f"--tp {all_gpus}"
        if alike:
            return f"--variant {max(alike, key=_needs).variant}"
        if row.strategy == "pd_cluster":
            return self._pools(row)
        if several:
            first = next((row for row in several if row.strategy == self._usual()), several[0])
            return f"--strategy {first.strategy} --nodes {first.nodes}"
        return self._larger(row)

    def _usual(self) -> str | None:
        """The strategy on several nodes where nobody asks for one."""
        asking = Choosing(self.resolver.chooser, self.request)
        return usual_strategy(asking, self.hardware, 2)

    def _pools(self, row: Fit) -> str:
        nodes = power_of_two(ceil(_needs(row) / self.hardware.vram_gb))
        pools = Pools(prefill=Pool(nodes=nodes), decode=Pool(nodes=nodes))
        if self.hardware.scalable and self._tried(row, pools=pools).fits:
            return f"--prefill {nodes} --decode {nodes}"
        return self._larger(row, copies=2)

    def _larger(self, row: Fit, copies: int = 1) -> str:
        share = memory_per_gpu(self.hardware)
        return f"{copies * power_of_two(ceil(_needs(row) / share))} GPUs of {share:.0f} GB"


def _needs(fit: Fit) -> float:
    return fit.needs_gb or 0


def _estimate(deployment: Deployment, hardware: HardwareProfile, load: Load) -> str:
    """How many tokens of KV cache the rest of a GPU's memory holds, marked as an estimate."""
    if load.checkpoint is None:
        return ""
    plan = deployment.processes[0]
    variant = deployment.recipe.variants[deployment.choice.variant]
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
