"""A plan for a model that no recipe is of, from its config.json alone. Nobody has verified it."""

from __future__ import annotations

from math import ceil

from ..model.recipe import Meta, Model, Recipe, Size, Variant
from ..model.source import Source, paired
from .hardware import memory_per_gpu
from .shapes import kv_cache, legal_tp_sizes, why_not_tp
from .suitability import power_of_two
from .weights import weight_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..model.checkpoint import Checkpoint
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.source import Arguments
    from ..model.taxonomy import HardwareProfile

GENERIC = "generic plan: config.json"
_GB = 1e9
_HEADROOM = 1.2  # what recipes allow for weights
_UTILIZATION = 0.9  # vLLM's own default of --gpu-memory-utilization
_ACTIVATIONS = 0.05  # of a GPU's memory, beside weights and KV cache
_ROOM = 32768  # tokens of KV cache that are worth another GPU
_AT_ONCE = 4  # requests whose KV cache a CPU's memory is kept for
_LEAST = 0.3
_STEP = 1024  # a context is a multiple of these


def draft(model_id: str, checkpoint: Checkpoint, profiles: Mapping[str, HardwareProfile]) -> Recipe:
    """The recipe as far as no hardware is known: what the weights take, and where they may run.

    That is everywhere: on profiles that only some recipes are for, too.
    """
    where = Source(layer=GENERIC, file=f"{checkpoint.path}/config.json", line=1)
    known = weight_bytes(checkpoint)
    variant = Variant(
        id="default",
        precision=checkpoint.precision,
        vram_minimum_gb=round(known[0] * _HEADROOM / _GB, 1) if known else None,
        where=where,
    )
    return Recipe(
        id=model_id,
        where=where,
        meta=Meta(hardware={p.id: "unverified" for p in profiles.values() if p.restricted}),
        model=Model(model_id=model_id, context_length=checkpoint.context_length),
        variants={"default": variant},
        compatible_strategies=("single_node_tp", "multi_node_tp"),
    )


def planned(
    recipe: Recipe,
    checkpoint: Checkpoint,
    hardware: HardwareProfile,
    *,
    tp: int | None = None,
    nodes: int = 1,
) -> Recipe:
    """The draft with the TP size and the context that the hardware has room for.

    ``tp`` is a size that the operator asks for.
    """
    size = tp or tp_size(checkpoint, hardware)
    ranks = size if nodes == 1 else hardware.gpu_count * nodes
    sizes = Size(by_key={"default": size}, where=Source(layer=f"{GENERIC} {_heads(checkpoint)}"))
    variant = recipe.variants["default"].replace(tp=sizes)
    context = fitting_context(checkpoint, hardware, ranks)
    args: Arguments = ()
    if context is not None:
        source = Source(
            layer=f"{GENERIC} max_position_embeddings={checkpoint.context_length}",
            detail=f"KV cache for {context} tokens on {ranks} GPU{'s' * (ranks > 1)}, estimated",
        )
        args = paired([("--max-model-len", source), (str(context), source)])
    args += _cpu_memory(checkpoint, hardware, ranks, context)
    return recipe.replace(variants={"default": variant}, model=recipe.model.replace(base_args=args))


def _cpu_memory(
    checkpoint: Checkpoint, hardware: HardwareProfile, ranks: int, context: int | None
) -> Arguments:
    """On CPUs, the share of each NUMA node that is needed: the rest is the machine's own.

    vLLM's default is what a GPU can spare, and a host whose memory is in use does not start.
    """
    known = weight_bytes(checkpoint)
    if hardware.generation != "cpu" or known is None:
        return ()
    wanted = context or min(checkpoint.context_length or _ROOM, _ROOM)
    cache = kv_cache(checkpoint, None, ranks)
    requests = cache.taken(wanted) * _AT_ONCE if cache is not None else 0.0
    needed = (known[0] * _HEADROOM / ranks + requests) / (memory_per_gpu(hardware) * _GB)
    share = min(_UTILIZATION, max(_LEAST, ceil(needed * 20) / 20))
    source = Source(
        layer=f"{GENERIC} {known[1]}",
        detail=f"for the weights and {_AT_ONCE} requests of {wanted} tokens, estimated",
    )
    return paired([("--gpu-memory-utilization", source), (f"{share:.2f}", source)])


def tp_size(checkpoint: Checkpoint, hardware: HardwareProfile) -> int:
    """The smallest TP size that the shape allows and that has room for weights and KV cache.

    Where none has, or nothing is known of the weights, the largest that the shape allows. Where
    it is not known how many heads there are to split, powers of two are what is tried: most
    models' heads divide by them; and one GPU is enough for weights that nothing is known of.
    """
    legal = legal_tp_sizes(checkpoint, hardware.gpu_count, expert_parallel=False) or (1,)
    if not checkpoint.attention_heads:
        legal = tuple(size for size in legal if size == power_of_two(size))
    known = weight_bytes(checkpoint)
    if known is None:
        return legal[-1] if checkpoint.attention_heads else 1
    share = memory_per_gpu(hardware) * _GB
    holding = [size for size in legal if known[0] * _HEADROOM <= share * size]
    wanted = min(checkpoint.context_length or _ROOM, _ROOM)
    roomy = [size for size in holding if _tokens(checkpoint, hardware, size, wanted) >= wanted]
    return (roomy or holding[-1:] or legal[-1:])[0]


def _tokens(checkpoint: Checkpoint, hardware: HardwareProfile, ranks: int, otherwise: int) -> int:
    """Tokens of KV cache beside the weights; ``otherwise`` where that cannot be estimated."""
    cache = kv_cache(checkpoint, None, ranks)
    known = weight_bytes(checkpoint)
    if cache is None or known is None:
        return otherwise
    share = memory_per_gpu(hardware) * _GB * (_UTILIZATION - _ACTIVATIONS)
    return cache.tokens(share - known[0] / ranks)


def fitting_context(checkpoint: Checkpoint, hardware: HardwareProfile, ranks: int) -> int | None:
    """The context to serve with, where the model's own does not fit; None where it does."""
    own = checkpoint.context_length
    if own is None:
        return None
    tokens = _tokens(checkpoint, hardware, ranks, own)
    return max(_STEP, tokens // _STEP * _STEP) if tokens < own else None


def _heads(checkpoint: Checkpoint) -> str:
    """The figures that decide which sizes there are, as the config has them."""
    known = weight_bytes(checkpoint)
    figures = {
        "num_attention_heads": checkpoint.attention_heads,
        "num_key_value_heads": checkpoint.kv_heads,
    }
    said = ", ".join(f"{name}={value}" for name, value in figures.items() if value)
    return "; ".join(filter(None, (said, known[1] if known else "weights unknown")))


def remarks(deployment: Deployment, checkpoint: Checkpoint) -> Iterator[str]:
    """What to know of a plan that was made so."""
    choice, base_args = deployment.choice, deployment.recipe.model.base_args
    known = weight_bytes(checkpoint)
    weights = known[1] if known else "nothing is known of the weights' size"
    yield f"{checkpoint.precision or 'precision unknown'}; {weights}"
    if choice.strategy == "single_node_tp":
        yield from _guessed(deployment.processes[0], checkpoint)
    size = choice.request.tp
    refused = why_not_tp(checkpoint, size, expert_parallel=False) if size else None
    if refused:
        yield f"--tp {size}: {refused}"
    limits = [tokens[1] for flag, tokens, _ in base_args if flag == "--max-model-len"]
    if limits:
        own, context = checkpoint.context_length, limits[0]
        why = "the KV cache has room for no more, by an estimate"
        yield f"context {context} tokens instead of {own}: {why}"
    yield "no tool call parser, reasoning parser or drafting: a config does not say which"
    if checkpoint.own_code:
        yield "the checkpoint has code of its own, which -- --trust-remote-code would run"


def _guessed(plan: ProcessPlan, checkpoint: Checkpoint) -> Iterator[str]:
    """The TP size, where too little is known to choose it well."""
    sizes = [argument for argument in plan.arguments if argument[0] == "--tensor-parallel-size"]
    if not sizes or not sizes[0][2].layer.startswith(GENERIC):
        return
    taken = f"TP {sizes[0][1][1]} is taken"
    if not checkpoint.attention_heads:
        yield f"{taken}: the config does not say how many heads there are to split"
    elif weight_bytes(checkpoint) is None:
        yield f"{taken}, the largest that can be"
