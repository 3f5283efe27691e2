"""A host's facts and the profile that they match."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.host import Gpu, HostFacts
    from ..resolve.match import Match

_GIB = 1 << 30


def detection(facts: HostFacts, match: Match) -> str:
    """The host's GPUs, one a line, then its profile and why, then what was looked for."""
    lines = [_gpu(gpu) for gpu in facts.gpus] or ["no GPU"]
    for name, value in (
        ("NVIDIA driver", facts.nvidia_driver),
        ("CUDA", facts.cuda_driver),
        ("ROCm", facts.rocm),
        ("CPU", facts.cpu_model),
        ("memory", _size(facts.memory_bytes)),
    ):
        if value:
            lines.append(f"{name}: {value}")
    lines.append(f"profile: {match.profile_id or 'none'} ({match.reason})")
    lines += [f"note: {note}" for note in match.notes]
    lines += [f"looked for {what}: {outcome}" for what, outcome in facts.looked_for]
    return "\n".join(lines) + "\n"


def _gpu(gpu: Gpu) -> str:
    used = f", {_size(gpu.memory_used_bytes)} used" if gpu.memory_used_bytes else ""
    unified = " unified" if gpu.unified_memory else ""
    about = gpu.compute_capability or gpu.gfx_target or "unknown capability"
    unread = "".join(f"; {field} unknown: {why}" for field, why in gpu.unknown)
    memory = _size(gpu.memory_bytes) or "unknown memory"
    return f"GPU {gpu.index}: {gpu.name} ({about}), {memory}{unified}{used}{unread}"


def _size(size: int | None) -> str:
    return f"{size / _GIB:.1f} GiB" if size else ""


def detection_record(facts: HostFacts, match: Match) -> dict[str, Any]:
    """The facts in the form that --host-facts reads, with the match beside them."""
    from ..host.facts_file import to_dict

    return {
        "facts": to_dict(facts),
        "profile": match.profile_id,
        "reason": match.reason,
        "gpus": [gpu.index for gpu in match.gpus],
        "vram_gb": match.vram_gb,
        "notes": list(match.notes),
    }
