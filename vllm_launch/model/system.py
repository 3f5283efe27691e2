"""What a launch needs to know of the machine beside its GPUs, and what to ask for.

A field that is None could not be read, or was not asked for; where it was, ``unknown`` has the
reason. An empty tuple says that there is none.
"""

from __future__ import annotations

from .record import Record

UNLIMITED = -1


class HugePool(Record):
    """The HugeTLB pages of one size."""

    size: int  # bytes of one page
    total: int
    free: int
    reserved: int = 0  # of the free ones: promised to mappings that have not touched them
    overcommit: int = 0  # pages that the kernel may add by itself
    nodes: tuple[tuple[int, int, int], ...] = ()  # each NUMA node: number, total, free

    @property
    def available(self) -> int:
        """Pages that a new mapping can have."""
        return max(0, self.free - self.reserved)


class Cgroup(Record):
    """The limits of the control group that a process started here is in."""

    version: int  # 1 or 2
    memory_limit: int | None = None  # bytes; None: no limit
    memory_used: int | None = None  # without the page cache that can be dropped
    hugetlb: tuple[tuple[int, int, int], ...] = ()  # page size, limit, used; limited sizes only
    path: str = ""  # the directory with the hugetlb files


class Filesystem(Record):
    """Space under one path."""

    path: str
    size: int
    free: int  # for this user


class Port(Record):
    """What came of binding a port."""

    port: int
    address: str = ""  # "": every address
    taken: bool
    holder: str = ""  # the program that listens, where it can be seen
    reason: str = ""  # why it cannot be bound, where no one has it


class Weights(Record):
    """A checkpoint's files, in the hub cache or in a directory."""

    path: str  # the directory with the config, or where it would be
    present: bool  # whether a config is there
    local: bool = False  # a directory that the operator named
    expected: int | None = None  # weight files by the index; None: there is no index
    missing: tuple[str, ...] = ()  # weight files that the index names and that are not there
    total_bytes: int | None = None  # by the index
    present_bytes: int = 0  # of weight files, and of downloads begun
    config: bool = True  # whether config.json is there

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be downloaded."""
        return self.present and self.expected is not None and not self.missing


class Hub(Record):
    """The hub's cache and access to it."""

    cache: str  # the directory that holds the models
    token: bool  # whether there is one; never its value
    offline: str = ""  # the variable that forbids downloads
    elsewhere: str = ""  # the cache of the user who called sudo, where it has the model


class Interface(Record):
    """A network interface."""

    name: str
    up: bool | None = None


class Name(Record):
    """A host name or address of the plan, resolved."""

    name: str
    addresses: tuple[str, ...] = ()
    loopback: bool = False  # every address is one of loopback
    here: bool | None = None  # an address of this machine
    interface: str = ""  # that packets to it leave by; if it is this machine's, that has it
    error: str = ""  # why it has no address


class Engine(Record):
    """Docker or podman."""

    name: str
    path: str = ""  # "": not on PATH
    version: str = ""  # the daemon's, for docker; "": it does not answer
    error: str = ""
    runtimes: tuple[str, ...] = ()
    cdi: tuple[str, ...] = ()  # kinds of devices that CDI specs offer, "nvidia.com/gpu"
    hook: bool = False  # the NVIDIA container toolkit's programs are installed
    rootless: bool = False
    remote: bool = False  # the daemon is on another machine


class Image(Record):
    """A container image, as far as the engine has it."""

    reference: str
    local: bool
    entrypoint: tuple[str, ...] = ()
    digest: str = ""  # "NAME@sha256:…"
    id: str = ""  # of its content, which an image has without a registry too
    cuda: str = ""  # of the CUDA libraries in it, "13.0.1"


class Vllm(Record):
    """The vLLM that the command would be, by what is installed beside it."""

    path: str = ""  # the command; "": not on PATH
    interpreter: str = ""
    version: str = ""
    distribution: str = ""  # the package's name, "vllm" or a build of it
    python: str = ""  # "3.12"
    cuda: str = ""  # of the CUDA runtime installed beside it, "13.0"
    error: str = ""  # why the version is not known


class Fabric(Record):
    """NVSwitch and its manager."""

    switches: int  # that the driver shows
    manager: bool | None = None  # whether it runs; None: its processes cannot be seen
    version: str = ""


class Wanted(Record):
    """What is to be read. Nothing else is looked at."""

    ports: tuple[tuple[str, int], ...] = ()  # to be bound: address ("" for any), port
    listeners: tuple[tuple[str, int], ...] = ()  # that should be listened on already
    names: tuple[str, ...] = ()  # to be resolved
    interfaces: bool = False
    model: str = ""  # repository or directory
    download_dir: str = ""
    ask_hub: bool = False  # over the network
    variables: tuple[tuple[str, str], ...] = ()  # of the plan: they change where things are
    program: str = ""  # to be looked for on PATH
    programs: tuple[str, ...] = ()  # others
    files: tuple[str, ...] = ()  # to be opened
    engine: str = ""
    image: str = ""
    memory: bool = True
    huge_pages: bool = False
    limits: bool = False
    numa: bool = False
    rdma: bool = False
    imex: bool = False
    amd: bool = False
    fabric: bool = False


class SystemFacts(Record):
    """One machine, as far as a plan needs it."""

    huge_pools: tuple[HugePool, ...] | None = None
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    cgroup: Cgroup | None = None
    shm: Filesystem | None = None
    memlock: int | None = None  # bytes that may be locked, or UNLIMITED
    nofile: int | None = None  # files that may be open, after a process raised its own limit
    capabilities: tuple[str, ...] | None = None  # of those that plans need
    in_container: bool | None = None
    ports: tuple[Port, ...] | None = None
    listeners: tuple[Port, ...] | None = None  # ``taken``: someone listens
    weights: Weights | None = None
    hub: Hub | None = None
    hub_status: int | None = None  # the hub's answer for the model: 200, 401, 403 or 404
    disk: Filesystem | None = None  # where downloads go
    numa_nodes: tuple[int, ...] | None = None  # with memory
    memory_policy: bool | None = None  # whether one may be set
    cpus_restricted: bool | None = None  # whether this process may run on some CPUs only
    numactl: bool | None = None  # whether the program is on PATH
    interfaces: tuple[Interface, ...] | None = None
    names: tuple[Name, ...] | None = None
    own_name: Name | None = None  # this machine's own host name
    rdma_devices: tuple[str, ...] | None = None
    imex_channels: tuple[str, ...] | None = None
    amd_devices: tuple[tuple[str, str], ...] | None = None  # file, "" or why it cannot be used
    fabric: Fabric | None = None
    engine: Engine | None = None
    image: Image | None = None
    vllm: Vllm | None = None
    programs: tuple[tuple[str, str], ...] | None = None  # name, path or "" where it is not
    files: tuple[tuple[str, str], ...] | None = None  # path, "" or why it cannot be read
    variables: tuple[tuple[str, str], ...] = ()  # of this environment, of those that matter
    vllm_variables: tuple[str, ...] = ()  # names of this environment's VLLM_… variables
    unknown: tuple[tuple[str, str], ...] = ()  # field, why it could not be read

    def why_unknown(self, field: str) -> str:
        """The reason that a field was asked for and not read; "" where there is none."""
        return dict(self.unknown).get(field, "")
