"""Memory of the plan's GPUs: free, and enough for the weights."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .devices import chosen, listed, of_brand
from .layout import layout
from .plan import last, place, value
from .units import GIB, counted, rounded, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.host import Gpu
    from .situation import Situation

_DEFAULT_UTILIZATION = 0.9  # the least that any release takes by default
_HEADROOM = 1.2  # that recipes' vram_minimum_gb has over the weights


def utilization(situation: Situation) -> float:
    """The part of each GPU's memory that the server takes."""
    try:
        return float(value(situation.process, "--gpu-memory-utilization") or _DEFAULT_UTILIZATION)
    except ValueError:
        return _DEFAULT_UTILIZATION


def free(situation: Situation, gpu: Gpu) -> int | None:
    """What a new process can have of a GPU's memory."""
    if gpu.unified_memory:
        facts = situation.facts
        return facts.memory_available_bytes if facts is not None else None
    if gpu.memory_free_bytes is not None:
        return gpu.memory_free_bytes
    if gpu.memory_bytes is None or gpu.memory_used_bytes is None:
        return None
    return gpu.memory_bytes - gpu.memory_used_bytes


def idle(situation: Situation) -> Iterable[Finding] | None:
    """Free memory against the server's share of the whole."""
    if situation.facts is None or last(situation.process, "--kv-cache-memory-bytes"):
        return None
    used = chosen(situation)
    unread = [
        gpu for gpu in used if _needed(situation, gpu) is None or free(situation, gpu) is None
    ]
    busy = [gpu for gpu in used if gpu not in unread and not _has_room(situation, gpu)]
    return [*_unread(unread), *([_busy(situation, busy)] if busy else [])]


def _needed(situation: Situation, gpu: Gpu) -> int | None:
    if gpu.memory_bytes is None:
        return None
    return int(gpu.memory_bytes * utilization(situation))


def _has_room(situation: Situation, gpu: Gpu) -> bool:
    return (free(situation, gpu) or 0) >= (_needed(situation, gpu) or 0)


def _unread(gpus: list[Gpu]) -> list[Finding]:
    said = [gpu for gpu in gpus if not gpu.fault and not gpu.mig_enabled]
    if not said:
        return []
    reasons = dict(said[0].unknown)
    reason = (
        reasons.get("memory_bytes") or reasons.get("memory_used_bytes") or "the driver is silent"
    )
    return [Finding(severity="note", what=f"{listed(said)}: free memory is not known: {reason}")]


def _busy(situation: Situation, busy: list[Gpu]) -> Finding:
    least = min(busy, key=lambda gpu: free(situation, gpu) or 0)
    share = rounded(utilization(situation) * 100)
    kind = "unified memory" if least.unified_memory else "memory"
    holders = _holders(busy)
    return Finding(
        severity="fail",
        what=f"{listed(busy)}: {size(free(situation, least) or 0)} of {kind} free, "
        f"{size(_needed(situation, least) or 0)} needed "
        f"({share} % of {size(least.memory_bytes or 0)})",
        why="The server takes its share at once and stops where less is free."
        + (f" It is held by {holders}." if holders else ""),
        remedy=_ways_out(situation, busy),
        cause="--gpu-memory-utilization",
        source=place(situation.process, "--gpu-memory-utilization"),
    )


def _holders(gpus: list[Gpu]) -> str:
    held: dict[int, str] = {}
    for gpu in gpus:
        for process in gpu.processes or ():
            memory = f", {size(process.memory_bytes)}" if process.memory_bytes else ""
            held.setdefault(process.pid, f"{process.name or 'process'} ({process.pid}{memory})")
    more = f" and {len(held) - 4} more" if len(held) > 4 else ""
    return ", ".join(list(held.values())[:4]) + more


def _ways_out(situation: Situation, busy: list[Gpu]) -> str:
    """Idle GPUs instead, or the share that would fit."""
    ranks = layout(situation.process).ranks
    others = [gpu for gpu in of_brand(situation) if not gpu.fault and not gpu.mig_enabled]
    able = [gpu for gpu in others if _needed(situation, gpu) and _has_room(situation, gpu)]
    ways = ["Stop what holds it"]
    if len(able) >= ranks:
        ways.append(f"take idle ones with --gpus {','.join(str(g.index) for g in able[:ranks])}")
    fits = min((free(situation, gpu) or 0) / (gpu.memory_bytes or 1) for gpu in busy)
    share = int(fits * 100 - 1) / 100
    if share >= 0.3:
        ways.append(f"pass --gpu-memory-utilization {share:g} behind --")
    return ", or ".join(ways) + "."


def weights_fit(situation: Situation) -> Iterable[Finding] | None:
    """The memory of the GPUs against the recipe's figure for the weights."""
    wanted = situation.variant.vram_minimum_gb
    found = _memory(situation)
    if wanted is None or found is None:
        return None
    holders, has = found
    weights = wanted / _HEADROOM
    if wanted <= has or last(situation.process, "--cpu-offload-gb"):
        return []
    certain = weights > has * utilization(situation)
    return [
        Finding(
            severity="fail" if certain else "warn",
            what=f"{wanted:g} GB needed for variant {situation.variant.id}, "
            f"{counted(holders, 'GPU')} have {rounded(has)} GB",
            why="The weights do not fit."
            if certain
            else "The weights may fit, and leave little or nothing for the KV cache.",
            remedy="See vllm-launch fit for the variants and strategies that fit.",
        )
    ]


def _memory(situation: Situation) -> tuple[int, float] | None:
    """How many GPUs hold the weights, and their memory in GB: measured, or the profile's."""
    choice = situation.deployment.choice
    hardware = choice.hardware
    holders = situation.process.holders_of_weights(choice.strategy)
    if situation.facts is None and hardware.generation != "cpu":
        return holders, hardware.vram_gb / hardware.gpu_count * holders
    gpus = chosen(situation)
    sizes = [gpu.memory_bytes for gpu in gpus if gpu.memory_bytes]
    if not sizes or len(sizes) < len(gpus):
        return None
    return holders, min(sizes) * holders / 1e9


def context_fits(situation: Situation) -> Iterable[Finding] | None:
    """An estimate of the tokens of KV cache against the longest context asked for."""
    shape, gpus = situation.shape, chosen(situation)
    sizes = [gpu.memory_bytes for gpu in gpus if gpu.memory_bytes]
    if shape is None or shape.kv_cache is None or not shape.weight_bytes or not sizes:
        return None
    asked = _context(situation, shape.context_length)
    if asked is None:
        return None
    holders = situation.process.holders_of_weights(situation.deployment.choice.strategy)
    room = min(sizes) * utilization(situation) - shape.weight_bytes / holders - 2 * GIB
    tokens = shape.kv_cache.tokens(room)
    if tokens >= asked:
        return []
    return [
        Finding(
            severity="note",
            what=f"estimate: room for {tokens} tokens of KV cache, a context of {asked} asked for",
            why="The server refuses to start where its KV cache cannot hold one full context; "
            "sliding windows and linear attention are counted where the config names such layers.",
            remedy=f"If it refuses, pass --max-model-len {tokens // 1024 * 1024} behind --."
            if tokens >= 1024
            else "If it refuses, use more GPUs or a smaller variant.",
            cause="--max-model-len",
        )
    ]


def _context(situation: Situation, of_model: int | None) -> int | None:
    text = value(situation.process, "--max-model-len")
    if text is None:
        return of_model
    return int(text) if text.isdecimal() else None


CHECKS = (
    Check(
        code="GPU_BUSY",
        subject="GPUs",
        about="free memory of each GPU against --gpu-memory-utilization",
        run=idle,
    ),
    Check(
        code="GPU_MEMORY",
        subject="GPUs",
        about="memory, measured or the profile's, against what the weights take",
        run=weights_fit,
    ),
    Check(
        code="CONTEXT_TOO_LONG",
        subject="GPUs",
        about="room for KV cache against --max-model-len, an estimate",
        run=context_fits,
    ),
)
