"""AMD GPUs as the kernel shows them: the KFD topology and the DRM cards under /sys."""

from __future__ import annotations

import os

from ..model.host import Gpu, GpuProcess
from .reading import list_dir, printable, program, read_file

_NODES = "sys/class/kfd/kfd/topology/nodes"
_CARDS = "sys/class/drm"
_HOLDERS = "sys/class/kfd/kfd/proc"
_VENDOR = 0x1002

SOURCE = "AMD kernel driver (/sys/class/kfd, /sys/class/drm)"


def gpus(root: str = "/") -> tuple[Gpu, ...]:
    """Every AMD device, in the KFD's order, which is the runtime's; others after."""
    nodes, cards, holders = _kfd_nodes(root), _drm_cards(root), _processes(root)
    addresses = [*nodes, *sorted(cards.keys() - nodes.keys())]
    found = []
    for index, address in enumerate(addresses):
        node = nodes.get(address, {})
        processes = None if holders is None else tuple(holders.get(node.get("gpu_id", -1), ()))
        gpu = _gpu(index, address, node, cards.get(address))
        found.append(gpu.replace(processes=processes))
    return tuple(found)


def driver_version(root: str = "/") -> str | None:
    """Of a driver that came as a package. The kernel's own has no version."""
    return printable(read_file(root, "sys/module/amdgpu/version") or "") or None


def _processes(root: str) -> dict[int, list[GpuProcess]] | None:
    """Who holds memory, by the KFD's number of the GPU; None where that is not told."""
    if not os.path.isdir(os.path.join(root, _HOLDERS)):
        return None
    found: dict[int, list[GpuProcess]] = {}
    for pid in filter(str.isdecimal, list_dir(root, _HOLDERS)):
        for name in list_dir(root, _HOLDERS, pid):
            kind, _, number = name.partition("_")
            size = read_file(root, _HOLDERS, pid, name) if kind == "vram" else None
            if size and size.isdecimal() and number.isdecimal() and int(size):
                holder = program(root, int(pid))
                one = GpuProcess(pid=int(pid), name=holder, memory_bytes=int(size))
                found.setdefault(int(number), []).append(one)
    return found


def _kfd_nodes(root: str) -> dict[str, dict[str, int]]:
    """Properties of each GPU node by PCI address; a partitioned GPU's nodes share one."""
    found: dict[str, dict[str, int]] = {}
    for name in list_dir(root, _NODES):
        properties = _numbers(read_file(root, _NODES, name, "properties") or "")
        if properties.get("vendor_id") == _VENDOR and properties.get("gfx_target_version"):
            properties |= _numbers(f"gpu_id {read_file(root, _NODES, name, 'gpu_id')}")
            found.setdefault(_address(properties), properties)
    return found


def _numbers(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}


def _address(properties: dict[str, int]) -> str:
    """A PCI address, "0000:05:00.0". The upper bits of location_id number the partitions."""
    location = properties.get("location_id", 0) & 0xFFFF
    bus, device, function = location >> 8, (location >> 3) & 0x1F, location & 7
    return f"{properties.get('domain', 0):04x}:{bus:02x}:{device:02x}.{function}"


def _drm_cards(root: str) -> dict[str, str]:
    """The device directory of each AMD card by PCI address; "card0-DP-1" is a connector."""
    found: dict[str, str] = {}
    for name in list_dir(root, _CARDS):
        device = os.path.join(root, _CARDS, name, "device")
        if name.removeprefix("card").isdecimal() and _hex(device, "vendor") == _VENDOR:
            found[_slot(device)] = device
    return found


def _slot(device: str) -> str:
    for line in (read_file(device, "uevent") or "").splitlines():
        key, _, value = line.partition("=")
        if key == "PCI_SLOT_NAME":
            return printable(value).lower()
    return os.path.basename(os.path.realpath(device)).lower()


def _gpu(index: int, address: str, properties: dict[str, int], device: str | None) -> Gpu:
    unknown: list[tuple[str, str]] = []
    version = properties.get("gfx_target_version")
    device_id = properties.get("device_id") or (_hex(device, "device") if device else None)
    name = _text(device, "product_name", "name", unknown)
    if version is None:
        unknown.append(("gfx_target", "no KFD node"))
    if device_id is None:
        unknown.append(("pci_device_id", "neither a KFD node nor a DRM card says it"))
    return Gpu(
        index=index,
        vendor="AMD",
        name=name or (f"AMD GPU {device_id:04x}" if device_id else "unknown"),
        uuid=_unique_id(device, unknown),
        pci_bus_id=address,
        pci_device_id=None if device_id is None else f"{device_id:04x}",
        gfx_target=None if version is None else gfx_target(version),
        memory_bytes=_bytes(device, "mem_info_vram_total", "memory_bytes", unknown) or None,
        memory_used_bytes=_bytes(device, "mem_info_vram_used", "memory_used_bytes", unknown),
        compute_partition=_partition(device, "current_compute_partition"),
        memory_partition=_partition(device, "current_memory_partition"),
        numa_node=_numa_node(device),
        unknown=tuple(unknown),
    )


def gfx_target(version: int) -> str:
    """The target "gfx950" of 90500, "gfx90a" of 90010: major in decimal, the rest in hex."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _hex(*path: str) -> int | None:
    try:
        return int(read_file(*path) or "", 16)
    except ValueError:
        return None


def _text(device: str | None, file: str, field: str, unknown: list[tuple[str, str]]) -> str | None:
    words = printable(read_file(device, file) or "") if device else ""
    if not words:
        unknown.append((field, f"{file} is not there or empty" if device else "no DRM card"))
    return words or None


def _unique_id(device: str | None, unknown: list[tuple[str, str]]) -> str | None:
    """As ROCR_VISIBLE_DEVICES takes it."""
    words = _text(device, "unique_id", "uuid", unknown)
    return None if words is None else f"GPU-{words}"


def _numa_node(device: str | None) -> int | None:
    """None for -1, which a machine of one node says."""
    words = read_file(device, "numa_node") if device else None
    return int(words) if words and words.isdecimal() else None


def _bytes(device: str | None, file: str, field: str, unknown: list[tuple[str, str]]) -> int | None:
    words = _text(device, file, field, unknown)
    if words is None or words.isdecimal():
        return None if words is None else int(words)
    unknown.append((field, f"{file} is no number"))
    return None


def _partition(device: str | None, file: str) -> str | None:
    """None on the many GPUs that have no partitions: nothing is unknown there."""
    return (printable(read_file(device, file) or "") or None) if device else None
