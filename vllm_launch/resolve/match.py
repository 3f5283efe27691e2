"""Which hardware profile the GPUs of a host are. Pure.

NVIDIA devices go by name and compute capability, AMD's by PCI device id: AMD's
names vary with driver and virtualisation. What a device measures is what counts
for fit; the profile's nominal memory only tells look-alikes apart.
"""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ..model.host import Gpu
    from ..model.taxonomy import HardwareProfile

_GIB = 1 << 30
# Devices report less than their nominal memory: GB200 185.0 GiB of 192. One that falls
# shorter than this is another product: an RTX PRO 5000 of 48 GB is not the one of 72.
_SHORTEST = 0.85
# A name that the driver gives to a product it does not know yet.
_NAMELESS = "NVIDIA GRAPHICS DEVICE"
_NEVER = frozenset({"LAPTOP", "MIG"})


class Match(Record):
    """The GPUs to serve on and the profile that they are, if any."""

    profile_id: str | None
    gpus: tuple[Gpu, ...]  # uniform: what a deployment on this host may use
    vram_gb: float | None  # measured, all of them together, 1 GB = 1e9 bytes; None: unknown
    reason: str
    notes: tuple[str, ...] = ()


class _Product(Record):
    """One kind of GPU and the profiles it may be; of several, the first that fits."""

    label: str
    names: tuple[frozenset[str], ...]  # each a set of words that the name must have
    capability: str
    profiles: tuple[str, ...]  # with their _2x, _4x, _8x relatives


def _product(label: str, capability: str, *profiles: str, also: str = "") -> _Product:
    names = [label, also] if also else [label]
    words = tuple(frozenset(_words(name)) for name in names)
    return _Product(label=label, names=words, capability=capability, profiles=profiles)


def _words(name: str) -> list[str]:
    return "".join(char if char.isalnum() else " " for char in name.upper()).split()


_NVIDIA = (
    _product("H100", "9.0", "h100"),
    _product("H200", "9.0", "h200", also="L20X"),
    _product("B200", "10.0", "b200"),
    _product("B300", "10.3", "b300"),
    _product("GB200", "10.0", "gb200"),
    _product("GB300", "10.3", "dgx_station_gb300", "gb300"),
    _product("GB10", "12.1", "dgx_spark_gb10"),
    _product("RTX PRO 6000", "12.0", "rtx_pro_6000"),
    _product("RTX PRO 5000", "12.0", "rtx_pro_5000"),
    _product("RTX 5090", "12.0", "rtx_5090"),
    _product("RTX 4090", "8.9", "rtx_4090"),
)
_AMD = {
    "74a0": "MI300A",
    "74a1": "MI300X",
    "74a9": "MI300X",  # HF
    "74b5": "MI300X",  # VF
    "74bd": "MI300X",  # HF
    "74a2": "MI308X",
    "74a5": "MI325X",
    "74b9": "MI325X",  # VF
    "75a0": "MI350X",
    "75a3": "MI355X",
}


class _Group(Record):
    """GPUs of one kind, and what they were found to be."""

    gpus: tuple[Gpu, ...]
    profile: HardwareProfile | None = None
    why: str = ""

    @property
    def vendor(self) -> str:
        return self.gpus[0].vendor

    @property
    def label(self) -> str:
        return f"{len(self.gpus)} x {self.gpus[0].name}"


def match_profile(gpus: Sequence[Gpu], profiles: Mapping[str, HardwareProfile]) -> Match:
    """The profile of the largest uniform set of GPUs, with the reason and what was left out."""
    notes = [note for gpu in gpus if (note := _why_not_whole(gpu))]
    whole = [gpu for gpu in gpus if not _why_not_whole(gpu)]
    groups = [_judged(product, kin, profiles) for product, kin in _by_product(whole, profiles)]
    if not groups:
        reason = "no GPU can be used whole" if gpus else "no GPU was found"
        return Match(profile_id=None, gpus=(), vram_gb=0.0, reason=reason, notes=tuple(notes))
    best = _largest(groups)
    used = _used(best)
    notes += [f"left out: {group.label}" for group in groups if group is not best]
    return Match(
        profile_id=best.profile.id if best.profile else None,
        gpus=used,
        vram_gb=_vram_gb(used),
        reason=_reason(best, used),
        notes=(*notes, *_remarks(best, used)),
    )


def _why_not_whole(gpu: Gpu) -> str:
    """Why a device cannot be used as a whole GPU, or nothing."""
    unknown = dict(gpu.unknown)
    here = f"left out: {gpu.vendor} GPU {gpu.index}"
    if gpu.name == "unknown" and gpu.pci_device_id is None:
        return f"{here} does not answer: {unknown.get('name', 'no reason given')}"
    if gpu.mig_enabled:
        return f"{here} ({gpu.name}) is cut into MIG instances"
    modes = (gpu.compute_partition or "SPX", gpu.memory_partition or "NPS1")
    if gpu.vendor == "AMD" and modes != ("SPX", "NPS1"):
        return f"{here} ({gpu.name}) is partitioned: {'/'.join(modes)}, not SPX/NPS1"
    return ""


def _by_product(
    gpus: Iterable[Gpu], profiles: Mapping[str, HardwareProfile]
) -> list[tuple[_Product | None, tuple[Gpu, ...]]]:
    """GPUs by what they are: "NVIDIA H100" and "NVIDIA H100 80GB HBM3" are one product."""
    products: dict[tuple[str, str], _Product | None] = {}
    kin: dict[tuple[str, str], list[Gpu]] = {}
    for gpu in gpus:
        product = _product_of(gpu, profiles)
        key = (gpu.vendor, product.label if product else gpu.name)
        products[key] = product
        kin.setdefault(key, []).append(gpu)
    return [(products[key], tuple(members)) for key, members in kin.items()]


def _product_of(gpu: Gpu, profiles: Mapping[str, HardwareProfile]) -> _Product | None:
    if gpu.vendor == "AMD":
        label = _AMD.get((gpu.pci_device_id or "").lower())
        return _product(label, "", label.lower()) if label else None
    if gpu.vendor != "NVIDIA":
        return None
    if gpu.name.upper() == _NAMELESS:
        return _by_memory(gpu, profiles)
    words = set(_words(gpu.name))
    for product in _NVIDIA:
        if any(name <= words for name in product.names) and not words & _NEVER:
            return product if gpu.compute_capability in (None, product.capability) else None
    return None


def _by_memory(gpu: Gpu, profiles: Mapping[str, HardwareProfile]) -> _Product | None:
    """The product of this capability with the most memory that is still within the measured."""
    rated = [
        (_share(profile), product)
        for product in _NVIDIA
        for profile in _candidates(product, profiles)
        if product.capability == gpu.compute_capability and not profile.restricted
    ]
    measured = (gpu.memory_bytes or 0) / _GIB
    fitting = [(share, product) for share, product in rated if share * 0.95 <= measured]
    return max(fitting, key=_first)[1] if fitting else None


def _first(pair: tuple[float, _Product]) -> float:
    return pair[0]


def _share(profile: HardwareProfile) -> float:
    return profile.vram_gb / max(profile.gpu_count, 1)


def _candidates(
    product: _Product, profiles: Mapping[str, HardwareProfile]
) -> list[HardwareProfile]:
    """The product's profiles that these recipes have: "rtx_5090", then "rtx_5090_2x"."""
    return [
        profile
        for base in product.profiles
        for key, profile in profiles.items()
        if key == base or _is_relative(key, base)
    ]


def _is_relative(key: str, base: str) -> bool:
    count = key.removeprefix(f"{base}_").removesuffix("x")
    return key == f"{base}_{count}x" and count.isdecimal()


def _judged(
    product: _Product | None, gpus: tuple[Gpu, ...], profiles: Mapping[str, HardwareProfile]
) -> _Group:
    """The group with its profile, or with the reason for none."""
    if product is None:
        return _Group(gpus=gpus, why=_why_no_product(gpus[0]))
    candidates = _candidates(product, profiles)
    if not candidates:
        return _Group(gpus=gpus, why=f"these recipes have no profile for {product.label}")
    roomy = [profile for profile in candidates if not _is_short(profile, gpus)]
    if not roomy:
        return _Group(gpus=gpus, why=f"less memory than any {product.label} profile has")
    for profile in roomy:
        if not profile.restricted or profile.gpu_count == len(gpus):
            return _Group(gpus=gpus, profile=profile)
    counts = ", ".join(f"{profile.id} for {profile.gpu_count}" for profile in roomy)
    return _Group(gpus=gpus, why=f"no profile is for {len(gpus)} of these (there is {counts})")


def _why_no_product(gpu: Gpu) -> str:
    if gpu.vendor == "AMD":
        return f"PCI device id {gpu.pci_device_id or 'unread'} is of no known profile"
    capability = gpu.compute_capability or "unread"
    return f"no known profile has this name with compute capability {capability}"


def _is_short(profile: HardwareProfile, gpus: tuple[Gpu, ...]) -> bool:
    known = _measured(gpus)
    return bool(known) and min(known) / _GIB < _SHORTEST * _share(profile)


def _measured(gpus: tuple[Gpu, ...]) -> list[int]:
    return [gpu.memory_bytes for gpu in gpus if gpu.memory_bytes]


def _largest(groups: list[_Group]) -> _Group:
    """Between vendors, the one with a serving device; then the most memory.

    In steps of 16 GiB, so that of A100 and H100 of 80 GB the one with a profile goes first.
    """
    serving = {group.vendor for group in groups if group.profile}

    def rank(group: _Group) -> tuple[bool, int, bool, int]:
        steps = round(sum(_measured(group.gpus)) / (16 * _GIB))
        return group.vendor in serving, steps, group.profile is not None, len(group.gpus)

    return max(groups, key=rank)


def _used(group: _Group) -> tuple[Gpu, ...]:
    """All of the group, or as many as a profile's node has."""
    return group.gpus[: group.profile.gpu_count] if group.profile else group.gpus


def _vram_gb(gpus: tuple[Gpu, ...]) -> float | None:
    """Sized by the smallest, which is what tensor parallelism can use of each."""
    known = _measured(gpus)
    return min(known) * len(gpus) / 1e9 if known else None


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
        remarks.append(f"no profile: {group.why}; name one with --hardware")
    if len(used) < len(group.gpus):
        remarks.append(f"the first {len(used)} of {len(group.gpus)} GPUs: the profile has no more")
    if known and max(known) - min(known) > 0.02 * max(known):
        remarks.append("memory differs between these GPUs: sized by the smallest")
    if known and len(known) < len(used):
        remarks.append(f"memory of {len(used) - len(known)} unread: taken to be their siblings'")
    if not known:
        remarks.append("memory of these GPUs could not be read")
    if group.profile and group.profile.id == "dgx_station_gb300":
        remarks.append("one GB300 alone is taken for a DGX Station; of a tray: --hardware gb300")
    if group.profile and used[0].name.upper() == _NAMELESS:
        remarks.append("the driver does not know this GPU's name: a guess by memory and capability")
    return remarks
