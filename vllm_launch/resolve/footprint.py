"""How many GPUs hold one copy of a plan's weights, and whether these have room for them."""

from __future__ import annotations

from .hardware import have, memory_per_gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment


def shortfall(deployment: Deployment) -> str | None:
    """Why a plan's weights do not fit its GPUs, by the recipe's figure; None where they do."""
    choice = deployment.choice
    needed = deployment.recipe.variants[choice.variant].vram_minimum_gb
    room = room_of(deployment)
    if needed is None or needed <= room:
        return None
    return f"variant {choice.variant} needs {needed:g} GB, and {have(room, choice.hardware)}"


def room_of(deployment: Deployment) -> float:
    """GB that hold one copy of the weights: half a GPU's where two pools share the only one."""
    hardware = deployment.choice.hardware
    halved = deployment.pools_shared and hardware.gpu_count == 1
    return memory_per_gpu(hardware) * gpus_of(deployment) / (2 if halved else 1)


def gpus_of(deployment: Deployment) -> int:
    """The GPUs that hold one copy of the weights: of two pools, those of the smaller."""
    strategy = deployment.choice.strategy
    return min(plan.holders_of_weights(strategy) for plan in deployment.processes)
