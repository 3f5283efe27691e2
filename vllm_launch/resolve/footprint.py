"""How many GPUs hold one copy of a plan's weights, and whether these have room for them."""

from __future__ import annotations

from .hardware import memory_per_gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment


def shortfall(deployment: Deployment) -> str | None:
    """Why a plan's weights do not fit its GPUs, by the recipe's figure; None where they do."""
    choice = deployment.choice
    needed = deployment.recipe.variants[choice.variant].vram_minimum_gb
    share = memory_per_gpu(choice.hardware)
    gpus = gpus_of(deployment)
    if needed is None or needed <= share * gpus:
        return None
    return (
        f"variant {choice.variant} needs {needed:g} GB, and {gpus} GPU{'s' * (gpus > 1)} of "
        f"{choice.hardware.id} have {share * gpus:g} GB"
    )


def gpus_of(deployment: Deployment) -> int:
    """The GPUs that hold one copy of the weights: of two pools, those of the smaller."""
    strategy = deployment.choice.strategy
    return min(plan.holders_of_weights(strategy) for plan in deployment.processes)
