"""The table of what fits."""

from __future__ import annotations

from .wrapping import wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..model.taxonomy import HardwareProfile
    from ..resolve.fit import Fit


def fit_text(hardware: HardwareProfile, table: Sequence[Fit]) -> str:
    """One line a variant and strategy: what it needs, what there is, what would do."""
    share = hardware.vram_gb / hardware.gpu_count
    lines = [f"{hardware.id}: {hardware.gpu_count} × {share:.0f} GB", ""]
    lines.append(f"{'variant':10} {'strategy':17} {'GPUs':>4} {'needs GB':>8} {'left GB':>8}")
    for fit in table:
        needs = f"{fit.needs_gb:.0f}" if fit.needs_gb is not None else "?"
        left = f"{fit.headroom_gb:+.0f}" if fit.headroom_gb is not None and not _barred(fit) else ""
        mark = _verdict(fit)
        lines.append(
            f"{fit.variant:10} {fit.strategy or 'any':17} {fit.gpus:4} {needs:>8} {left:>8}  {mark}"
        )
        about = fit.estimate if fit.fits else fit.change
        lines += wrapped(about, " " * 11)
    return "\n".join(lines) + "\n"


def _verdict(fit: Fit) -> str:
    if not fit.fits:
        return "no"
    return f"fits on {fit.nodes} nodes" if fit.nodes > 1 else "fits"


def _barred(fit: Fit) -> bool:
    """Whether something other than memory speaks against it."""
    return not fit.fits and (fit.headroom_gb or 0) >= 0


def fit_record(
    hardware: HardwareProfile, table: Sequence[Fit], *, verified: bool = True
) -> dict[str, Any]:
    """The same for programs; memory in GB (1e9 bytes)."""
    return {
        "hardware": hardware.id,
        "verified": verified,
        "gpus": hardware.gpu_count,
        "vram_gb": hardware.vram_gb,
        "fits": [
            {
                "variant": fit.variant,
                "strategy": fit.strategy,
                "fits": fit.fits,
                "gpus": fit.gpus,
                "nodes": fit.nodes,
                "needs_gb": fit.needs_gb,
                "has_gb": fit.has_gb,
                "headroom_gb": fit.headroom_gb,
                "change": fit.change or None,
                "estimate": fit.estimate or None,
            }
            for fit in table
        ],
    }
