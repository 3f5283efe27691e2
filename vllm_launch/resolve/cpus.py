"""What a host's CPUs are to vLLM's CPU backend. Pure."""

from __future__ import annotations

from ..model.taxonomy import HardwareProfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.host import HostFacts

_METALS = frozenset({"PLATINUM", "GOLD", "SILVER", "BRONZE"})


def xeon_of(model: str) -> str | None:
    """The taxonomy's name for a Xeon, by its number.

    Up to the fifth generation a metal comes before the number, whose second digit is the
    generation ("PLATINUM 8592+"). Xeon 6 has no metal, and a P or an E after it ("6980P").
    """
    words = "".join(char if char.isalnum() else " " for char in model.upper()).split()
    if "XEON" not in words:
        return None
    for word in words:
        number, kind = word[:4], word[4:5]
        if len(number) == 4 and number.isdecimal():
            if _METALS & set(words):
                return "xeon5" if number[1] == "5" else None
            return "xeon6" if number[0] == "6" and kind in ("P", "E") else None
    return None


def describe_cpu(facts: HostFacts) -> tuple[HardwareProfile, list[str]]:
    """A profile for CPUs that none is for, without its size; and what is to be known of them."""
    arch = facts.cpu_arch or "unknown"
    model = facts.cpu_model or "CPU"
    profile = HardwareProfile(
        id=f"generic_cpu_{arch}",
        brand="Intel" if "INTEL" in model.upper() else "CPU",
        generation="cpu",
        display_name=model,
        description="Detected; no recipe names this hardware",
        gpu_count=1,
        vram_gb=0,
        compute_arch=_best(facts.cpu_flags),
    )
    return profile, _lacks(facts)


def _best(flags: tuple[str, ...]) -> str:
    for flag in ("amx_bf16", "avx512_bf16", "avx512f", "avx2", "sve", "neon"):
        if flag in flags:
            return flag
    return ""


def _lacks(facts: HostFacts) -> list[str]:
    if facts.cpu_arch != "x86_64" or "avx512f" in facts.cpu_flags:
        return []
    if "avx2" in facts.cpu_flags:
        return ["the CPU has no AVX-512: vLLM's CPU backend runs on AVX2 with fewer features"]
    return ["the CPU has neither AVX-512 nor AVX2, one of which vLLM's CPU backend needs"]
