"""What was read off a machine: a plain record that can be saved and loaded."""

from __future__ import annotations

from .record import Record

# Makes the parts of AMD's GPUs whole ones.
MAKE_WHOLE = "sudo amd-smi set --compute-partition SPX && sudo amd-smi set --memory-partition NPS1"


class GpuProcess(Record):
    """A process that holds memory of a GPU."""

    pid: int  # as the driver counts: the host's, where a container has its own
    name: str | None = None  # the program's name alone: its arguments may hold secrets
    memory_bytes: int | None = None


class MigDevice(Record):
    """One MIG instance, as its own handle describes it."""

    uuid: str | None = None  # "MIG-…", as CUDA_VISIBLE_DEVICES takes it
    profile: str | None = None  # "1g.10gb"
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    unknown: tuple[tuple[str, str], ...] = ()  # (field, why it could not be read)


class Gpu(Record):
    """One device as its driver reports it. A field that could not be read is None.

    One that is None and not in ``unknown`` is something that such a device has not.
    """

    index: int  # in the driver's own order
    vendor: str  # "NVIDIA" or "AMD"
    name: str  # as reported, e.g. "NVIDIA H200", "AMD Instinct MI355X"
    uuid: str | None = None  # as the vendor's own mask variable takes it
    pci_bus_id: str | None = None
    pci_device_id: str | None = None  # four hex digits, e.g. "75a3"
    compute_capability: str | None = None  # NVIDIA: "9.0"
    gfx_target: str | None = None  # AMD: "gfx950"
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    memory_free_bytes: int | None = None  # less than the rest: drivers keep some to themselves
    unified_memory: bool = False  # GPU and host share one memory (GB10)
    processes: tuple[GpuProcess, ...] | None = None
    mig_enabled: bool | None = None  # NVIDIA: cut into MIG instances; memory_bytes is then None
    mig_devices: tuple[MigDevice, ...] | None = None
    compute_partition: str | None = None  # AMD: "SPX" is the whole GPU; "CPX" and so on a part
    memory_partition: str | None = None  # AMD: "NPS1" is the whole memory
    nvlink_active: int | None = None  # links that are up; 0: it has none, or all are down
    nvlink_peers: tuple[str, ...] = ()  # PCI bus ids at their other ends, or "switch"
    fabric_state: str | None = None  # "completed"; "in progress": its manager is not ready
    fabric_clique: int | None = None
    fabric_cluster: str | None = None  # UUID of the NVLink domain
    persistence_mode: bool | None = None
    ecc_uncorrected: int | None = None  # since the driver was loaded
    ecc_pending: bool | None = None  # bad memory waits for a reset to be mapped out
    numa_node: int | None = None
    fault: str | None = None  # why it cannot be used: lost, or it never answers
    unknown: tuple[tuple[str, str], ...] = ()  # (field, why it could not be read)

    @property
    def partition(self) -> tuple[str, str]:
        """AMD's compute and memory modes; SPX and NPS1, the whole, where they were not read."""
        return self.compute_partition or "SPX", self.memory_partition or "NPS1"


class NumaNode(Record):
    """One NUMA node. Without CPUs it is memory alone: a GPU's, or an expander's."""

    node: int
    cpus: int
    memory_bytes: int | None = None


class NetworkInterface(Record):
    """A network interface with addresses that other machines may reach."""

    name: str
    up: bool | None = None
    speed_mbps: int | None = None
    addresses: tuple[str, ...] = ()  # with their networks' lengths: "10.0.0.1/24"


class RdmaDevice(Record):
    """The first port of an RDMA device."""

    name: str  # "mlx5_0"
    state: str | None = None  # "ACTIVE"
    rate: str | None = None  # "400 Gb/sec"


class LocalImage(Record):
    """An image that a container engine has."""

    engine: str  # "docker" or "podman"
    reference: str  # "vllm/vllm-openai:latest", or NAME@sha256:… for one without a tag
    id: str | None = None  # of its content on this engine
    digest: str | None = None  # "sha256:…" at its registry; None: it was not pulled from one


class HostFacts(Record):
    """One machine, as seen at one time."""

    hostname: str | None = None  # only where it was asked for
    gpus: tuple[Gpu, ...] = ()
    cpu_model: str | None = None
    cpu_arch: str | None = None  # "x86_64" or "aarch64"
    cpu_sockets: int | None = None
    cpu_flags: tuple[str, ...] = ()  # those that vLLM's CPU backend asks for
    numa_nodes: tuple[NumaNode, ...] = ()
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    nvidia_driver: str | None = None
    cuda_driver: str | None = None  # highest CUDA version the driver serves, "13.0"
    amd_driver: str | None = None
    rocm: str | None = None
    render_gid: int | None = None  # numeric group of /dev/dri/renderD*
    video_gid: int | None = None  # numeric group of /dev/kfd
    device_access: tuple[
        tuple[str, str], ...
    ] = ()  # AMD: (device file, "read and write" or why not)
    looked_for: tuple[tuple[str, str], ...] = ()  # (what was tried, what came of it)
    # What has to be alike on machines that serve together; None: nobody looked.
    kernel: str | None = None
    vllm: str | None = None  # the version behind the vllm on PATH; "": there is none
    interfaces: tuple[NetworkInterface, ...] | None = None
    rdma_devices: tuple[RdmaDevice, ...] | None = None
    images: tuple[LocalImage, ...] | None = None  # those that have "vllm" in their names
