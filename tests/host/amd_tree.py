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


def mi355x(count: int = 8) -> dict[str, str]:
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
        "dev/dri/renderD128": "",
    }
    for index in range(count):
        bus = 0x05 + 0x10 * index
        more = {
            "product_name": "AMD Instinct MI355X OAM\n",
            "unique_id": f"{index:016x}\n",
            "current_compute_partition": "SPX\n",
            "current_memory_partition": "NPS1\n",
        }
        tree |= node(2 + index, bus, "75a3", 90500)
        tree |= card(1 + index, bus, "75a3", MI355X_BYTES, **more)
    return tree


def apu_and_discrete() -> dict[str, str]:
    """A workstation: the CPU's graphics of 512 MiB beside an RX 7900 XTX."""
    return {
        "sys/class/kfd/kfd/topology/nodes/0/properties": CPU_NODE,
        **node(1, 0x03, "744c", 110000),
        **node(2, 0x0E, "164e", 100306),
        **card(0, 0x0E, "164e", 512 << 20),
        **card(1, 0x03, "744c", 24 * GIB),
    }
