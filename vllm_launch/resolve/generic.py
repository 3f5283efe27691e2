"""Profiles for hardware that no profile names: made of what was measured. Pure."""

from __future__ import annotations

from ..model.taxonomy import HardwareProfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.host import Gpu

# By major version of the compute capability; by both numbers where a major version has two.
_GENERATIONS = {
    "6": "pascal",
    "7": "volta",
    "7.5": "turing",
    "8": "ampere",
    "8.9": "ada",
    "9": "hopper",
    "10": "blackwell",
    "11": "blackwell",
    "12": "blackwell",
}
_OLDEST = 7.0  # that vLLM's CUDA build runs on


def gpu_profile(gpus: tuple[Gpu, ...], vram_gb: float) -> HardwareProfile:
    """One for these GPUs, which are of one kind. Of a brand's own, nothing else is known."""
    first = gpus[0]
    arch = architecture(first)
    return HardwareProfile(
        id="_".join(filter(None, ("generic", first.vendor.lower(), arch))),
        brand=first.vendor,
        generation=generation(first),
        display_name=f"{len(gpus)} x {first.name}",
        description="Detected; no recipe names this hardware",
        gpu_count=len(gpus),
        vram_gb=round(vram_gb, 1),
        compute_arch=arch,
    )


def architecture(gpu: Gpu) -> str:
    """Such as "sm80" or "gfx942"; nothing where it was not read."""
    if gpu.vendor == "AMD":
        return gpu.gfx_target or ""
    return f"sm{gpu.compute_capability.replace('.', '')}" if gpu.compute_capability else ""


def generation(gpu: Gpu) -> str:
    """As recipes key on it; one that is newer than this list is called by its architecture."""
    if gpu.vendor == "AMD":
        return "amd"
    capability = gpu.compute_capability or ""
    major = capability.partition(".")[0]
    known = _GENERATIONS.get(capability) or _GENERATIONS.get(major)
    return known or architecture(gpu) or "unknown"


def too_old(gpu: Gpu) -> bool:
    """Whether vLLM has no kernels for it."""
    try:
        return gpu.vendor == "NVIDIA" and float(gpu.compute_capability or _OLDEST) < _OLDEST
    except ValueError:
        return False
