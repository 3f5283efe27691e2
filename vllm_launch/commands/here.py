"""Plan for a real host: this one, or one whose facts were saved."""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from ..resolve.match import match_profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.choice import Request
    from ..model.host import Gpu, HostFacts
    from ..model.taxonomy import Taxonomy
    from ..settings import Settings


def on_host(request: Request, settings: Settings, taxonomy: Taxonomy) -> tuple[Request, HostFacts]:
    """The request for the GPUs that are there.

    Raises NothingFits where there are none, or none that a profile is known for.
    """
    facts = read_facts(settings)
    gpus, chosen = _chosen(facts.gpus, settings["gpus"], settings.source("gpus"))
    if not gpus:
        raise _no_gpu(facts, settings)
    match = match_profile(gpus, taxonomy.hardware_profiles)
    if match.profile_id is None:
        raise NothingFits(
            f"no hardware profile matches: {match.reason}",
            hint=f"name one: --hardware {'|'.join(taxonomy.hardware_profiles)}",
        )
    profile = taxonomy.hardware_profiles[match.profile_id]
    profile = profile.replace(
        gpu_count=len(match.gpus), vram_gb=round(match.vram_gb or profile.vram_gb, 1)
    )
    partial = chosen or len(match.gpus) < len(facts.gpus)
    devices = tuple(str(gpu.index) for gpu in match.gpus) if partial else None
    because = "; ".join((match.reason, *match.notes))
    return request.replace(profile=profile, devices=devices, because=because), facts


def read_facts(settings: Settings) -> HostFacts:
    """The saved facts that are named, or this machine's."""
    if settings["host_facts"]:
        from ..host.facts_file import load

        return load(settings["host_facts"])
    from ..host.facts import read_host

    return read_host()


def _chosen(gpus: tuple[Gpu, ...], asked: str | None, option: str) -> tuple[tuple[Gpu, ...], bool]:
    """The GPUs asked for, by index or by UUID or a prefix of it. Raises UsageError."""
    if not asked:
        return gpus, False
    picked = []
    for word in asked.split(","):
        found = [
            gpu
            for gpu in gpus
            if str(gpu.index) == word
            or (word.startswith("GPU-") and (gpu.uuid or "").startswith(word))
        ]
        if len(found) != 1:
            there = ", ".join(str(gpu.index) for gpu in gpus) or "none"
            raise UsageError(
                f"{option}: {word!r} names {len(found) or 'no'} GPU{'s' * (len(found) > 1)}",
                hint=f"GPUs here: {there}; or a UUID such as GPU-1a2b…",
            )
        if found[0] in picked:
            raise UsageError(f"{option}: GPU {word} is named twice")
        picked += found
    return tuple(picked), True


def _no_gpu(facts: HostFacts, settings: Settings) -> NothingFits:
    """No GPU: what was looked for, and how to plan for another machine."""
    looked = "; ".join(f"{what}: {outcome}" for what, outcome in facts.looked_for)
    where = settings["host_facts"] or "this host"
    return NothingFits(
        f"no GPU found on {where}" + (f" ({looked})" if looked else ""),
        hint="to plan for another machine, give --hardware ID (as in --hardware b300 "
        "--dry-run) or --host-facts FILE",
    )
