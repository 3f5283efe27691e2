"""Which of several hardware keys counts on a machine."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from ..model.taxonomy import HardwareProfile

    T = TypeVar("T")

# Keys of docker_image maps, by brand.
IMAGE_BRANDS = {"NVIDIA": "nvidia", "AMD": "amd", "Google": "tpu", "Intel": "intel"}


def for_generation(overrides: Mapping[str, T], hardware: HardwareProfile) -> T | None:
    """The generation's entry; failing that, on NVIDIA, the one for all of NVIDIA."""
    found = overrides.get(hardware.generation)
    if found is None and hardware.brand == "NVIDIA":
        return overrides.get("nvidia")
    return found


def most_specific(values: Mapping[str, T], hardware: HardwareProfile) -> T | None:
    """The entry of the exact id, else the generation, else the brand, else "default"."""
    for key in (hardware.id, hardware.generation, hardware.brand.lower(), "default"):
        if key in values:
            return values[key]
    return None


def is_unsupported(support: Mapping[str, str], hardware: HardwareProfile) -> bool:
    """Whether a support map rules the hardware out; the exact id speaks before the generation."""
    for key in (hardware.id, hardware.generation, hardware.brand.lower()):
        if key in support:
            return support[key] == "unsupported"
    return False


def memory_per_gpu(hardware: HardwareProfile) -> float:
    """Nominal GB of one device."""
    return hardware.vram_gb / hardware.gpu_count


def have(room: float, hardware: HardwareProfile) -> str:
    """The devices that make up so many GB, and that they have them; "half a GPU" where none do."""
    count = round(room / memory_per_gpu(hardware), 1)
    if count < 1:
        return f"half a GPU of {hardware.id} has {room:g} GB"
    if count == 1:
        return f"1 GPU of {hardware.id} has {room:g} GB"
    return f"{count:.0f} GPUs of {hardware.id} have {room:g} GB"
