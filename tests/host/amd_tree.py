"""The files that Linux shows for AMD GPUs, for tests: {path under the root: content}."""

from __future__ import annotations

GIB = 1 << 30
MI300X_BYTES = 206141652992
MI355X_BYTES = 309220868096
CPU_NODE = "cpu_cores_count 128\nsimd_count 0\ngfx_target_version 0\nvendor_id 0\n"


def node(number: int, bus: int, device: str, gfx: int) -> dict[str, str]:
    """A GPU's node of the KFD topology."""
    properties = {
        "cpu_cores_count": 0,
        "simd_count": 1024,
        "gfx_target_version": gfx,
        "vendor_id": 0x1002,
        "device_id": int(device, 16),
        "location_id": bus << 8,
        "domain": 0,
    }
    lines = "".join(f"{key} {value}\n" for key, value in properties.items())
    return {f"sys/class/kfd/kfd/topology/nodes/{number}/properties": lines}


def card(number: int, bus: int, device: str, total: int | None, **more: str) -> dict[str, str]:
    """A DRM card. ``total`` None: a driver that reports no VRAM."""
    contents = {
        "vendor": "0x1002\n",
        "device": f"0x{device}\n",
        "uevent": f"DRIVER=amdgpu\nPCI_SLOT_NAME=0000:{bus:02x}:00.0\n",
        **more,
    }
    if total is not None:
        contents |= {"mem_info_vram_total": f"{total}\n", "mem_info_vram_used": "297795584\n"}
    return {f"sys/class/drm/card{number}/device/{name}": text for name, text in contents.items()}


def _node_of(count: int, device: str, gfx: int, total: int, product: str) -> dict[str, str]:
    """An OAM node. Two CPU nodes come first; a BMC's VGA holds card0."""
    tree = {
        "sys/class/kfd/kfd/topology/nodes/0/properties": CPU_NODE,
        "sys/class/kfd/kfd/topology/nodes/1/properties": CPU_NODE,
        "sys/class/drm/card0/device/vendor": "0x1a03\n",
        "sys/class/drm/card0-VGA-1/status": "disconnected\n",
        "sys/class/drm/version": "drm 1.1.0 20060810\n",
        "opt/rocm/.info/version": "7.0.2-56\n",
        "dev/kfd": "",
        "dev/dri/card0": "",
    }
    for index in range(count):
        bus = 0x05 + 0x10 * index
        more = {
            "product_name": f"{product}\n",
            "unique_id": f"{0xABCDEF0000000000 + index:016x}\n",
            "current_compute_partition": "SPX\n",
            "current_memory_partition": "NPS1\n",
            "numa_node": f"{2 * index // count}\n",
        }
        tree |= node(2 + index, bus, device, gfx)
        tree |= {f"sys/class/kfd/kfd/topology/nodes/{2 + index}/gpu_id": f"{1000 + index}\n"}
        tree |= card(1 + index, bus, device, total, **more)
        tree[f"dev/dri/renderD{128 + index}"] = ""
    return tree


def mi355x(count: int = 8) -> dict[str, str]:
    """An OAM node of MI355X."""
    return _node_of(count, "75a3", 90500, MI355X_BYTES, "AMD Instinct MI355X OAM")


def mi300x(count: int = 8) -> dict[str, str]:
    """An OAM node of MI300X."""
    return _node_of(count, "74a1", 90402, MI300X_BYTES, "AMD Instinct MI300X OAM")


def held(pid: int, size: int, gpu: int = 0, program: str = "python3") -> dict[str, str]:
    """A process that holds memory of a GPU of an OAM node, as the kernel tells it."""
    return {
        f"sys/class/kfd/kfd/proc/{pid}/pasid": "32769\n",
        f"sys/class/kfd/kfd/proc/{pid}/vram_{1000 + gpu}": f"{size}\n",
        f"sys/class/kfd/kfd/proc/{pid}/vram_{1000 + gpu + 1}": "0\n",
        f"proc/{pid}/comm": f"{program}\n",
    }


def apu_and_discrete() -> dict[str, str]:
    """A workstation: the CPU's graphics of 512 MiB beside an RX 7900 XTX."""
    return {
        "sys/class/kfd/kfd/topology/nodes/0/properties": CPU_NODE,
        **node(1, 0x03, "744c", 110000),
        **node(2, 0x0E, "164e", 100306),
        **card(0, 0x0E, "164e", 512 << 20),
        **card(1, 0x03, "744c", 24 * GIB),
    }
