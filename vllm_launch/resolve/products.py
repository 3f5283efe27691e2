"""Which product a GPU is, and which hardware profiles a product may be. Pure.

NVIDIA devices go by name and compute capability, AMD's by PCI device id: AMD's
names vary with driver and virtualisation. What a device measures is what counts
for fit; the profile's nominal memory only tells look-alikes apart.
"""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..model.host import Gpu
    from ..model.taxonomy import HardwareProfile

GIB = 1 << 30
# A name that the driver gives to a product it does not know yet.
_NAMELESS = "NVIDIA GRAPHICS DEVICE"
_NEVER = frozenset({"LAPTOP", "MIG"})


class Product(Record):
    """One kind of GPU and the profiles it may be; of several, the first that fits."""

    label: str
    names: tuple[frozenset[str], ...]  # each a set of words that the name must have
    capability: str
    profiles: tuple[str, ...]  # with their _2x, _4x, _8x relatives


def _product(label: str, capability: str, *profiles: str, also: str = "") -> Product:
    names = [label, also] if also else [label]
    words = tuple(frozenset(_words(name)) for name in names)
    return Product(label=label, names=words, capability=capability, profiles=profiles)


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


def by_product(
    gpus: Iterable[Gpu], profiles: Mapping[str, HardwareProfile]
) -> list[tuple[Product | None, tuple[Gpu, ...]]]:
    """GPUs by what they are: "NVIDIA H100" and "NVIDIA H100 80GB HBM3" are one product."""
    products: dict[tuple[str, str], Product | None] = {}
    kin: dict[tuple[str, str], list[Gpu]] = {}
    for gpu in gpus:
        product = _product_of(gpu, profiles)
        key = (gpu.vendor, product.label if product else gpu.name)
        products[key] = product
        kin.setdefault(key, []).append(gpu)
    return [(products[key], tuple(members)) for key, members in kin.items()]


def _product_of(gpu: Gpu, profiles: Mapping[str, HardwareProfile]) -> Product | None:
    named = _by_own_name(gpu, profiles)
    if named is not None:
        return named
    if gpu.vendor == "AMD":
        label = _AMD.get((gpu.pci_device_id or "").lower())
        return _product(label, "", label.lower()) if label else None
    if gpu.vendor != "NVIDIA":
        return None
    if is_nameless(gpu):
        return _by_memory(gpu, profiles)
    words = set(_words(gpu.name))
    for product in _NVIDIA:
        if any(name <= words for name in product.names) and not words & _NEVER:
            return product if gpu.compute_capability in (None, product.capability) else None
    return None


def _by_own_name(gpu: Gpu, profiles: Mapping[str, HardwareProfile]) -> Product | None:
    """The product of a profile that names this GPU itself."""
    words = set(_words(gpu.name))
    for profile in profiles.values():
        for name in profile.gpu_names:
            if profile.brand == gpu.vendor and set(_words(name)) <= words:
                return _product(name, "", profile.id)
    return None


def is_nameless(gpu: Gpu) -> bool:
    """Whether the driver is older than the GPU, so that it has no name for it."""
    return gpu.name.upper() == _NAMELESS


def _by_memory(gpu: Gpu, profiles: Mapping[str, HardwareProfile]) -> Product | None:
    """The product of this capability with the most memory that is still within the measured."""
    rated = [
        (share(profile), product)
        for product in _NVIDIA
        for profile in candidates(product, profiles)
        if product.capability == gpu.compute_capability and not profile.restricted
    ]
    measured = (gpu.memory_bytes or 0) / GIB
    fitting = [(size, product) for size, product in rated if size * 0.95 <= measured]
    return max(fitting, key=_first)[1] if fitting else None


def _first(pair: tuple[float, Product]) -> float:
    return pair[0]


def share(profile: HardwareProfile) -> float:
    """Nominal GB of one device."""
    return profile.vram_gb / max(profile.gpu_count, 1)


def candidates(product: Product, profiles: Mapping[str, HardwareProfile]) -> list[HardwareProfile]:
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


def why_no_product(gpu: Gpu) -> str:
    """Why a GPU is none of the known products."""
    if gpu.vendor == "AMD":
        return f"PCI device id {gpu.pci_device_id or 'unread'} is of no known profile"
    capability = gpu.compute_capability or "unread"
    return f"no known profile has this name with compute capability {capability}"
