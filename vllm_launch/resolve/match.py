"""Which hardware profile a host is, for planning on it. Pure.

The profile that comes out is the effective one: as many GPUs as there are, and
the memory that they measure.
"""

from __future__ import annotations

from ..model.record import Record
from . import generic
from .cpus import describe_cpu, xeon_of
from .gpus import choose_gpus, is_idle, left_out, why_not_whole
from .products import GIB, by_product, candidates, is_nameless, share, why_no_product

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.host import Gpu, HostFacts
    from ..model.taxonomy import HardwareProfile
    from .products import Product

# Devices report less than their nominal memory: GB200 185.0 GiB of 192. One that falls
# shorter than this is another product: an RTX PRO 5000 of 48 GB is not the one of 72.
_SHORTEST = 0.85
_SERVING_BYTES = 40 * GIB  # of a GPU without a profile that was still made for servers


class Match(Record):
    """The GPUs to serve on and the profile that they are, if any."""

    profile_id: str | None  # of the recipes' own; None for a generic profile too
    gpus: tuple[Gpu, ...]  # uniform: what a deployment on this host may use
    vram_gb: float | None  # measured, all of them together, 1 GB = 1e9 bytes; None: unknown
    reason: str
    notes: tuple[str, ...] = ()
    profile: HardwareProfile | None = None  # to plan with: these GPUs and their memory
    named_by: str = ""  # the value of --hardware that would decide, where GPUs are whole


class _Group(Record):
    """GPUs of one kind, and what they were found to be."""

    gpus: tuple[Gpu, ...]
    profile: HardwareProfile | None = None
    why: str = ""  # there is no profile

    @property
    def vendor(self) -> str:
        return self.gpus[0].vendor

    @property
    def label(self) -> str:
        return f"{len(self.gpus)} x {self.gpus[0].name}"


def match_profile(gpus: Sequence[Gpu], profiles: Mapping[str, HardwareProfile]) -> Match:
    """The profile of the largest uniform set of GPUs, with the reason and what was left out."""
    notes = left_out(gpus)
    whole = [gpu for gpu in gpus if not why_not_whole(gpu)]
    groups = [_judged(product, kin, profiles) for product, kin in by_product(whole, profiles)]
    if not groups:
        return _nothing(_why_none(gpus), notes)
    vendors = _serving_vendors(groups)
    if len(vendors) > 1:
        return _tie(groups, vendors).replace(notes=tuple(notes))
    best = max((group for group in groups if group.vendor in vendors), key=_size)
    notes += [f"left out: {group.label}" for group in groups if group is not best]
    used = choose_gpus(best.gpus, best.profile.gpu_count if best.profile else len(best.gpus))
    vram_gb = _vram_gb(used)
    return Match(
        profile_id=best.profile.id if best.profile else None,
        gpus=used,
        vram_gb=vram_gb,
        reason=_reason(best, used),
        notes=(*notes, *_remarks(best, used)),
        profile=_effective(best, used, vram_gb),
        named_by="" if best.profile or vram_gb is not None else "ID",
    )


def _nothing(reason: str, notes: Sequence[str]) -> Match:
    return Match(profile_id=None, gpus=(), vram_gb=0.0, reason=reason, notes=tuple(notes))


def _why_none(gpus: Sequence[Gpu]) -> str:
    if not gpus:
        return "no GPU was found"
    instances = [one.uuid for gpu in gpus for one in gpu.mig_devices or () if one.uuid]
    if instances and all(gpu.mig_enabled for gpu in gpus):
        return f"every GPU is cut into MIG instances: name one, such as --gpus {instances[0]}"
    return "no GPU can be used whole"


def _judged(
    product: Product | None, gpus: tuple[Gpu, ...], profiles: Mapping[str, HardwareProfile]
) -> _Group:
    """The group with its profile, or with the reason for none."""
    if product is None:
        return _Group(gpus=gpus, why=why_no_product(gpus[0]))
    offered = candidates(product, profiles)
    if not offered:
        return _Group(gpus=gpus, why=f"these recipes have no profile for {product.label}")
    roomy = [profile for profile in offered if not _is_short(profile, gpus)]
    if not roomy:
        return _Group(gpus=gpus, why=f"less memory than any {product.label} profile has")
    for profile in roomy:
        if not profile.restricted or profile.gpu_count == len(gpus):
            return _Group(gpus=gpus, profile=profile)
    counts = ", ".join(f"{profile.id} for {profile.gpu_count}" for profile in roomy)
    return _Group(gpus=gpus, why=f"no profile is for {len(gpus)} of these (there is {counts})")


def _is_short(profile: HardwareProfile, gpus: tuple[Gpu, ...]) -> bool:
    known = _measured(gpus)
    return bool(known) and min(known) / GIB < _SHORTEST * share(profile)


def _measured(gpus: tuple[Gpu, ...]) -> list[int]:
    return [gpu.memory_bytes for gpu in gpus if gpu.memory_bytes]


def _serving_vendors(groups: list[_Group]) -> list[str]:
    """The vendor whose GPUs are made for serving; both, where nothing tells them apart."""
    best: dict[str, tuple[int, int]] = {}
    for group in groups:
        best[group.vendor] = max(_serving(group), best.get(group.vendor, (0, 0)))
    top = max(best.values())
    return [vendor for vendor, serving in best.items() if serving == top]


def _serving(group: _Group) -> tuple[int, int]:
    """How much a group is made for serving. Only among desktop cards does size decide."""
    known = _measured(group.gpus)
    if group.profile:
        return (2 if group.profile.restricted else 3, 0)
    if known and min(known) >= _SERVING_BYTES:
        return (1, 0)
    return (0, _steps(group))


def _steps(group: _Group) -> int:
    """Memory in steps of 16 GiB, so that an A100 of 80 GB is as large as an H100 of 80 GB."""
    return round(sum(_measured(group.gpus)) / (16 * GIB))


def _size(group: _Group) -> tuple[int, bool, int]:
    return _steps(group), group.profile is not None, len(group.gpus)


def _tie(groups: list[_Group], vendors: list[str]) -> Match:
    best = [max((one for one in groups if one.vendor == vendor), key=_size) for vendor in vendors]
    which = " and ".join(group.label for group in best)
    ids = "|".join(group.profile.id for group in best if group.profile)
    return _nothing(f"{which} can both serve here: choose with --gpus", ()).replace(
        named_by=ids or "ID"
    )


def _vram_gb(gpus: tuple[Gpu, ...]) -> float | None:
    """Sized by the smallest, which is what tensor parallelism can use of each."""
    known = _measured(gpus)
    return min(known) * len(gpus) / 1e9 if known else None


def _effective(
    group: _Group, used: tuple[Gpu, ...], vram_gb: float | None
) -> HardwareProfile | None:
    """The profile to plan with. Without one and without measured memory there is none."""
    if group.profile is None:
        return None if vram_gb is None else generic.gpu_profile(used, vram_gb)
    nominal = share(group.profile) * len(used)
    return group.profile.replace(
        gpu_count=len(used),
        vram_gb=round(nominal if vram_gb is None else vram_gb, 1),
        compute_arch=group.profile.compute_arch or generic.architecture(used[0]),
    )


def _reason(group: _Group, used: tuple[Gpu, ...]) -> str:
    if group.profile is None:
        return f"{group.label}: {group.why}"
    gpu, profile = group.gpus[0], group.profile
    is_amd = gpu.vendor == "AMD"
    key, value = ("PCI device id", gpu.pci_device_id) if is_amd else ("name", gpu.name)
    capability = gpu.compute_capability
    by = f"by {key} {value}" + (f" and compute capability {capability}" if capability else "")
    part = f", {len(used)} of its {profile.gpu_count} GPUs" if len(used) < profile.gpu_count else ""
    return f"{group.label} is profile {profile.id}{part} ({by})"


def _remarks(group: _Group, used: tuple[Gpu, ...]) -> list[str]:
    """What an operator should know about the GPUs that were taken."""
    known, remarks = _measured(used), []
    if group.profile is None:
        remarks.append(_without_profile(group, used, bool(known)))
    if len(used) < len(group.gpus):
        idle = " (idle ones first)" if any(is_idle(gpu) is False for gpu in group.gpus) else ""
        taken = f"{len(used)} of {len(group.gpus)} GPUs{idle}"
        remarks.append(f"{taken}: the profile has no more")
    if known and max(known) - min(known) > 0.02 * max(known):
        remarks.append("memory differs between these GPUs: sized by the smallest")
    if known and len(known) < len(used):
        remarks.append(f"memory of {len(used) - len(known)} unread: taken to be their siblings'")
    if not known:
        remarks.append("memory of these GPUs could not be read")
    if group.profile and group.profile.id == "dgx_station_gb300":
        remarks.append("one GB300 alone is taken for a DGX Station; of a tray: --hardware gb300")
    if group.profile and is_nameless(used[0]):
        remarks.append("the driver does not know this GPU's name: a guess by memory and capability")
    if generic.too_old(used[0]):
        remarks.append("vLLM needs compute capability 7.0 or newer")
    return remarks


def _without_profile(group: _Group, used: tuple[Gpu, ...], sized: bool) -> str:
    if not sized:
        return f"no profile: {group.why}"
    made = generic.gpu_profile(used, 0).id
    return f"no profile: planned as {made}, on which no recipe was verified"


def match_cpu(facts: HostFacts, profiles: Mapping[str, HardwareProfile]) -> Match:
    """The profile of the host's CPUs: for vLLM's CPU backend, and only when that is asked for."""
    memory = sum(node.memory_bytes or 0 for node in facts.numa_nodes if node.cpus)
    memory = memory or facts.memory_bytes or 0
    nodes = sum(node.cpus > 0 for node in facts.numa_nodes) or 1
    made, notes = describe_cpu(facts)
    if not memory:
        return _nothing("the host's memory could not be read", notes)
    named = xeon_of(facts.cpu_model or "")
    profile, vram_gb = profiles.get(named or ""), memory / 1e9
    reason = f"{facts.cpu_model or 'the CPU'} is profile {named} (by model)"
    if profile is None:
        why = f"these recipes have no profile {named}" if named else "no profile is for this CPU"
        reason = f"{facts.cpu_model or 'the CPU'}: {why}"
        notes.append(f"no profile: planned as {made.id}, on which no recipe was verified")
    return Match(
        profile_id=profile.id if profile else None,
        gpus=(),
        vram_gb=vram_gb,
        reason=reason,
        notes=tuple(notes),
        profile=(profile or made).replace(gpu_count=nodes, vram_gb=round(vram_gb, 1)),
    )
