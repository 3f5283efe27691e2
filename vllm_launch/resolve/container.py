"""The docker or podman command that runs a process plan."""

from __future__ import annotations

from ..model.record import Record
from ..model.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..model.deployment import ProcessPlan
    from ..model.source import Variable
    from ..model.taxonomy import HardwareProfile

_HUB_CACHE_INSIDE = "/root/.cache/huggingface"
_IMAGE_STARTS = ("vllm", "serve")  # the entry point of vLLM's images
_MASKS = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_CHOSEN = Source(layer="the devices to be used")


class ContainerSetup(Record):
    """How containers are run on a machine. The defaults make the portable command."""

    engine: str = "docker"  # or "podman"
    hub_cache: str = "~/.cache/huggingface"
    hub_cache_inside: str = _HUB_CACHE_INSIDE
    passed_by_name: tuple[str, ...] = ()  # variables whose values stay out of the command
    render_gid: int | None = None
    video_gid: int | None = None
    hardened: bool = False
    masked: bool = False  # only some devices are to be used: the engine hands in just those
    devices: tuple[str, ...] = ()  # these, where no variable of the plan says so
    name: str | None = None
    label: str = ""  # "KEY=VALUE", by which it is found again
    detached: bool = False  # its engine runs it in the background
    publish: str = ""  # "ADDRESS:", where the port is not to be open on every interface
    host_network: bool = False  # the machine's own network, where nothing is published


PORTABLE = ContainerSetup()


class Access(Record):
    """What a container is given of its machine, for one reason."""

    privileged: bool = False
    host_network: bool = False
    gpus: tuple[str, ...] | None = None  # NVIDIA's, which the engine hands in; (): all of them
    security: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()  # capabilities
    add: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()  # each at its own path
    groups: tuple[str, ...] = ()
    host_ipc: bool = False
    shm_size: str = ""
    ulimits: tuple[tuple[str, int], ...] = ()


# What most containers are given: made, and written, once. A batch makes thousands a second.
_EVERY_GPU = Access(gpus=())
_EVERY_PRIVILEGE = Access(privileged=True, host_ipc=True)
_HOST_NETWORK = Access(host_network=True)
_AMD_BY_NAME = Access(
    devices=("/dev/kfd", "/dev/dri"), security=("seccomp=unconfined",), groups=("video",)
)


class Container(Record):
    """One container, before it is written in an engine's words."""

    engine: str
    name: str | None = None
    label: str = ""
    detached: bool = False
    access: tuple[Access, ...] = ()
    publish: str = ""  # "ADDRESS:", or "" for every interface
    port: str | None = None  # the same inside and outside
    mounts: tuple[tuple[str, str, bool], ...] = ()  # outside, inside, whether it can be written
    passed_by_name: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    image: str
    entrypoint: str | None = None  # None: the image's own
    command: tuple[str, ...] = ()


def container_of(
    process: ProcessPlan,
    hardware: HardwareProfile,
    image: str,
    setup: ContainerSetup = PORTABLE,
) -> Container:
    """The container that one server runs in."""
    argv = process.argv
    own_start = process.program == _IMAGE_STARTS
    access = (*_devices(process, hardware, setup), *_privileges(process, setup))
    if setup.host_network and not any(each.host_network for each in access):
        access = (_HOST_NETWORK, *access)
    return Container(
        engine=setup.engine,
        name=setup.name,
        label=setup.label,
        detached=setup.detached,
        access=access,
        publish=setup.publish,
        port=None if setup.host_network else process.value("--port") or "8000",
        mounts=mounts_of(process, setup),
        passed_by_name=setup.passed_by_name,
        variables=tuple((name, text) for name, text, _ in _environment(process, hardware, setup)),
        image=image,
        entrypoint=None if own_start else argv[0],
        command=tuple(argv[len(_IMAGE_STARTS) if own_start else 1 :]),
    )


def mounts_of(process: ProcessPlan, setup: ContainerSetup) -> tuple[tuple[str, str, bool], ...]:
    """What a server sees of its machine's files: outside, inside, whether it can be written."""
    # What a batch gives never changes; and HF_HUB_CACHE counts before HF_HOME.
    handed = "HF_HUB_CACHE" in setup.passed_by_name and setup.hub_cache == setup.hub_cache_inside
    named = "HF_HUB_CACHE" in process.env or not handed
    own = own_hub_cache(process) if setup is not PORTABLE and named else ""
    cache = (own, own, True) if own else (setup.hub_cache, setup.hub_cache_inside, True)
    return (cache, *((path, path, False) for path in files_read(process)))


def own_hub_cache(process: ProcessPlan) -> str:
    """Where a server's own variables have the hub cache; "" where they name no whole path."""
    named = process.env.get("HF_HUB_CACHE") or process.env.get("HF_HOME") or ""
    return named if named.startswith("/") else ""


def container_argv(
    process: ProcessPlan,
    hardware: HardwareProfile,
    image: str,
    setup: ContainerSetup = PORTABLE,
) -> list[str]:
    """The command that runs one process in a container."""
    return run_argv(container_of(process, hardware, image, setup))


def run_argv(container: Container) -> list[str]:
    """A container as the docker or podman command that runs it."""
    argv = [container.engine, "run", *(("-d",) if container.detached else ())]
    argv += ["--name", container.name] if container.name else []
    argv += ["--label", container.label] if container.label else []
    for access in container.access:
        argv += _written(access, container.engine)
    if container.port is not None:
        argv += ["-p", f"{container.publish}{container.port}:{container.port}"]
    for outside, inside, writable in container.mounts:
        argv += ["-v", f"{outside}:{inside}" if writable else f"{outside}:{inside}:ro"]
    for name in container.passed_by_name:
        argv += ["-e", name]
    for name, value in container.variables:
        argv += ["-e", f"{name}={value}"]
    if container.entrypoint is not None:
        argv += ["--entrypoint", container.entrypoint]
    return [*argv, container.image, *container.command]


def _written(access: Access, engine: str) -> Sequence[str]:
    """One reason's options, out of the usual ones where it is one of those."""
    usual = _USUAL.get((id(access), engine))
    return _access_argv(access, engine) if usual is None else usual


def _access_argv(access: Access, engine: str) -> list[str]:
    """One reason's options; what is written and in which order is as the recorded commands are."""
    argv = ["--privileged"] if access.privileged else []
    argv += ["--network", "host"] if access.host_network else []
    argv += _gpus_argv(access.gpus, engine)
    if access.groups:  # AMD's, whose documents write it in one word
        argv += [f"--device={path}" for path in access.devices]
    argv += _repeated("--security-opt", access.security)
    argv += [*_repeated("--cap-drop", access.drop), *_repeated("--cap-add", access.add)]
    argv += () if access.groups else _repeated("--device", access.devices)
    argv += _repeated("-v", [f"{path}:{path}" for path in access.mounts])
    argv += _repeated("--group-add", access.groups)
    argv += ["--ipc=host"] if access.host_ipc else []
    argv += ["--shm-size", access.shm_size] if access.shm_size else []
    return argv + _repeated("--ulimit", [f"{name}={limit}" for name, limit in access.ulimits])


def _repeated(option: str, values: Iterable[str]) -> list[str]:
    return [token for value in values for token in (option, value)]


def _gpus_argv(gpus: tuple[str, ...] | None, engine: str) -> list[str]:
    """Docker's own option, or CDI names for podman, which had none before version 5."""
    if gpus is None:
        return []
    if engine == "podman":
        return _repeated("--device", [f"nvidia.com/gpu={name}" for name in gpus or ("all",)])
    # Docker reads the value as CSV: without quotes inside, the comma would end it.
    return ["--gpus", f'"device={",".join(gpus)}"' if gpus else "all"]


def _devices(
    process: ProcessPlan, hardware: HardwareProfile, setup: ContainerSetup
) -> tuple[Access, ...]:
    """The brand's part: which devices the container sees."""
    brand = hardware.generation if hardware.brand == "Intel" else hardware.brand
    if brand == "NVIDIA":
        mask = _mask(process, setup)
        return (Access(gpus=tuple(mask.split(","))) if mask else _EVERY_GPU,)
    if brand == "AMD":
        return (_amd_devices(setup),)
    if brand == "Google":
        shared_memory = "/dev/shm"  # noqa: S108 - the device itself, for the TPU runtime
        return (Access(privileged=True, host_network=True, mounts=(shared_memory,)),)
    if brand == "cpu":
        return (Access(shm_size="16g"),)
    if brand == "xpu":
        by_path = ("/dev/dri/by-path",)
        return (Access(devices=("/dev/dri",), mounts=by_path, shm_size="16g"),)
    return ()


def _mask(process: ProcessPlan, setup: ContainerSetup) -> str | None:
    if not setup.masked:
        return None
    said = (value for name, value, _ in process.variables if name in _MASKS)
    return next(said, ",".join(setup.devices) or None)


def _amd_devices(setup: ContainerSetup) -> Access:
    """Groups by number where it is known: the image's names may stand for other numbers."""
    if setup.video_gid is None and setup.render_gid is None:
        return _AMD_BY_NAME
    gids = sorted({gid for gid in (setup.video_gid, setup.render_gid) if gid is not None})
    return _AMD_BY_NAME.replace(groups=tuple(str(gid) for gid in gids))


def _privileges(process: ProcessPlan, setup: ContainerSetup) -> tuple[Access, ...]:
    """All privileges, or only what the plan needs."""
    if not setup.hardened:
        return (_EVERY_PRIVILEGE,)
    return (
        Access(
            security=("no-new-privileges",),
            drop=("ALL",),
            # The image's root reads and writes a hub cache that belongs to somebody else.
            add=("DAC_OVERRIDE", *_capabilities(process)),
            devices=tuple(_network_devices(process)),
            shm_size="16g",
            ulimits=(("memlock", -1), ("stack", 67108864)),
        ),
    )


def _capabilities(process: ProcessPlan) -> list[str]:
    """Capabilities by what needs them: NUMA binding, pinned or HugeTLB memory."""
    flags = {flag.partition("=")[0] for flag, _, _ in process.arguments}
    needed = ["SYS_NICE"] if "--numa-bind" in flags else []
    return ["IPC_LOCK", *needed] if "--kv-transfer-config" in flags else needed


def _network_devices(process: ProcessPlan) -> Iterator[str]:
    """RDMA cards where a connector uses them, and an IMEX channel for NVLink between trays."""
    if _uses_rdma(process):
        yield "/dev/infiniband"
    if process.env.get("NCCL_MNNVL_ENABLE") == "1":
        yield "/dev/nvidia-caps-imex-channels/channel0"


def _uses_rdma(process: ProcessPlan) -> bool:
    config = process.value("--kv-transfer-config") or ""
    return "NixlConnector" in config or "Mooncake" in config


def files_read(process: ProcessPlan) -> list[str]:
    """Paths on the host that a server reads: a local model, files that variables name."""
    paths = [process.model] if process.model.startswith("/") else []
    configs = (value for name, value, _ in process.variables if name.endswith("_CONFIG_PATH"))
    return [*paths, *configs]


def _environment(
    process: ProcessPlan, hardware: HardwareProfile, setup: ContainerSetup
) -> tuple[Variable, ...]:
    """The native environment, without a device mask that the engine's own option replaces.

    On AMD the container has every device, and the mask is all that limits the process.
    """
    dropped = set(setup.passed_by_name)
    own: tuple[Variable, ...] = ()
    if setup.masked and hardware.brand == "NVIDIA":
        dropped.update(_MASKS)
    elif setup.masked and setup.devices and process.role not in ("prefill", "decode"):
        # Counted anew: masks of the host's own environment do not reach into a container.
        dropped.update(_MASKS)
        own = (("HIP_VISIBLE_DEVICES", ",".join(setup.devices), _CHOSEN),)
    if not dropped:
        return process.variables
    return (*own, *(variable for variable in process.variables if variable[0] not in dropped))


_USUAL = {
    (id(access), engine): tuple(_access_argv(access, engine))
    for access in (_EVERY_GPU, _EVERY_PRIVILEGE, _AMD_BY_NAME)
    for engine in ("docker", "podman")
}
