"""Plan for a real host: this one, or one whose facts were saved."""

from __future__ import annotations

import os

from ..errors import NothingFits, UsageError
from ..resolve.match import match_profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model.choice import Request
    from ..model.host import Gpu, HostFacts
    from ..model.taxonomy import Taxonomy
    from ..settings import Settings

# What a server of either brand obeys.
_MASKS = {"NVIDIA": "CUDA_VISIBLE_DEVICES", "AMD": "HIP_VISIBLE_DEVICES"}
_NOTHING = ("", "-1", "NoDevFiles")


def on_host(request: Request, settings: Settings, taxonomy: Taxonomy) -> tuple[Request, HostFacts]:
    """The request for the GPUs that are there.

    Raises NothingFits where there are none, or none that a profile is known for.
    """
    facts = read_facts(settings)
    if not facts.gpus:
        raise _no_gpu(facts, settings)
    if settings["gpus"] is not None:
        gpus = _named(facts.gpus, settings["gpus"], settings.source("gpus"))
    else:
        gpus = facts.gpus if settings["host_facts"] else _visible(facts.gpus, os.environ)
    chosen = gpus != facts.gpus or settings["gpus"] is not None
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


def _visible(gpus: tuple[Gpu, ...], environ: Mapping[str, str]) -> tuple[Gpu, ...]:
    """The GPUs that the environment lets a server see.

    Raises NothingFits where that is none, UsageError for a mask that names what is not there.
    """
    seen: tuple[Gpu, ...] = ()
    hidden = []
    for vendor, variable in _MASKS.items():
        own = tuple(gpu for gpu in gpus if gpu.vendor == vendor)
        mask = environ.get(variable)
        if own and mask is not None:
            own = () if mask.strip() in _NOTHING else _named(own, mask, variable)
            hidden += [] if own else [f"{variable}={mask}"]
        seen += own
    if not seen:
        raise NothingFits(
            f"every GPU of this host is hidden by {' and '.join(hidden)}",
            hint="unset it, or give --gpus 0,1,…",
        )
    return seen


def _named(gpus: tuple[Gpu, ...], names: str, source: str) -> tuple[Gpu, ...]:
    """The GPUs named by index, or by UUID or a prefix of it. Raises UsageError."""
    picked: list[Gpu] = []
    for name in names.split(","):
        word = name.strip()
        found = [
            gpu
            for gpu in gpus
            if str(gpu.index) == word
            or (word.startswith("GPU-") and (gpu.uuid or "").startswith(word))
        ]
        if len(found) != 1:
            there = ", ".join(str(gpu.index) for gpu in gpus)
            raise UsageError(
                f"{source}: {word!r} names {len(found) or 'no'} GPU{'s' * (len(found) > 1)}",
                hint=f"GPUs here: {there}; or a UUID such as GPU-1a2b…",
            )
        if found[0] in picked:
            raise UsageError(f"{source}: GPU {word} is named twice")
        picked += found
    return tuple(picked)


def _no_gpu(facts: HostFacts, settings: Settings) -> NothingFits:
    """No GPU: what was looked for, and how to plan for another machine."""
    looked = "; ".join(f"{what}: {outcome}" for what, outcome in facts.looked_for)
    where = settings["host_facts"] or "this host"
    return NothingFits(
        f"no GPU found on {where}" + (f" ({looked})" if looked else ""),
        hint="to plan for another machine, give --hardware ID (as in --hardware b300 "
        "--dry-run) or --host-facts FILE",
    )
