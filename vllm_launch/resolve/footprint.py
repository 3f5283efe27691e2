"""How many GPUs hold one copy of a plan's weights, and whether these have room for them."""

from __future__ import annotations

from .hardware import memory_per_gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment
    from ..model.taxonomy import HardwareProfile


def shortfall(deployment: Deployment) -> str | None:
    """Why a plan's weights do not fit its GPUs, by the recipe's figure; None where they do."""
    choice = deployment.choice
    needed = deployment.recipe.variants[choice.variant].vram_minimum_gb
    share = memory_per_gpu(choice.hardware)
    gpus = gpus_of(deployment, choice.hardware)
    if needed is None or needed <= share * gpus:
        return None
    return (
        f"variant {choice.variant} needs {needed:g} GB, and {gpus} GPU{'s' * (gpus > 1)} of "
        f"{choice.hardware.id} have {share * gpus:g} GB"
    )


def gpus_of(deployment: Deployment, hardware: HardwareProfile) -> int:
    """The GPUs that hold one copy of the weights."""
    if deployment.deploy_type == "pd_cluster":
        # A pool may span nodes: its ranks count, not the devices of one process.
        return min(
            (plan.number("--tensor-parallel-size") or 1)
            * (plan.number("--data-parallel-size") or 1)
            for plan in deployment.processes
        )
    split = deployment.processes[0].number("--tensor-parallel-size") or hardware.gpu_count
    if deployment.choice.strategy.endswith(("_dep", "_tp_pp")):
        return hardware.gpu_count * deployment.choice.nodes
    return split
