"""What was read off a machine: a plain record that can be saved and loaded."""

from __future__ import annotations

from .record import Record


class Gpu(Record):
    """One device as its driver reports it. A field that could not be read is None."""

    index: int  # in the driver's own order
    vendor: str  # "NVIDIA" or "AMD"
    name: str  # as reported, e.g. "NVIDIA H200", "AMD Instinct MI355X"
    uuid: str | None = None
    pci_bus_id: str | None = None
    pci_device_id: str | None = None  # four hex digits, e.g. "75a3"
    compute_capability: str | None = None  # NVIDIA: "9.0"
    gfx_target: str | None = None  # AMD: "gfx950"
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    unified_memory: bool = False  # GPU and host share one memory (GB10)
    mig_enabled: bool | None = None  # NVIDIA: cut into MIG instances; memory_bytes is then None
    compute_partition: str | None = None  # AMD: "SPX" is the whole GPU; "CPX" and so on a part
    memory_partition: str | None = None  # AMD: "NPS1" is the whole memory
    unknown: tuple[tuple[str, str], ...] = ()  # (field, why it could not be read)


class HostFacts(Record):
    """One machine, as seen at one time."""

    gpus: tuple[Gpu, ...] = ()
    cpu_model: str | None = None
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    nvidia_driver: str | None = None
    cuda_driver: str | None = None  # highest CUDA version the driver serves, "13.0"
    rocm: str | None = None
    render_gid: int | None = None  # numeric group of /dev/dri/renderD*
    video_gid: int | None = None  # numeric group of /dev/kfd
    looked_for: tuple[tuple[str, str], ...] = ()  # (what was tried, what came of it)
