"""The docker or podman command that runs a process plan."""

from __future__ import annotations

from ..model.record import Record
from ..model.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    publish: str = ""  # "ADDRESS:", where the port is not to be open on every interface
    model_path: str | None = None


PORTABLE = ContainerSetup()


def container_argv(
    process: ProcessPlan,
    hardware: HardwareProfile,
    image: str,
    setup: ContainerSetup = PORTABLE,
) -> list[str]:
    """The command that runs one process in a container."""
    port = process.value("--port") or "8000"
    argv = [setup.engine, "run", *(("--name", setup.name) if setup.name else ())]
    argv += _devices(process, hardware, setup)
    argv += _privileges(process, setup)
    argv += ["-p", f"{setup.publish}{port}:{port}"]
    argv += ["-v", f"{setup.hub_cache}:{setup.hub_cache_inside}"]
    for path in _mounted(process, setup):
        argv += ["-v", f"{path}:{path}:ro"]
    for name in setup.passed_by_name:
        argv += ["-e", name]
    for name, value, _ in _environment(process, hardware, setup):
        argv += ["-e", f"{name}={value}"]
    if process.program == _IMAGE_STARTS:
        return [*argv, image, *process.argv[len(_IMAGE_STARTS) :]]
    return [*argv, "--entrypoint", process.argv[0], image, *process.argv[1:]]


def _devices(process: ProcessPlan, hardware: HardwareProfile, setup: ContainerSetup) -> list[str]:
    """The brand's part: which devices the container sees."""
    brand = hardware.generation if hardware.brand == "Intel" else hardware.brand
    if brand == "NVIDIA":
        return _nvidia_devices(_mask(process, setup), setup)
    if brand == "AMD":
        return _amd_devices(setup)
    if brand == "Google":
        shared_memory = "/dev/shm"  # noqa: S108 - the device itself, for the TPU runtime
        return ["--privileged", "--network", "host", "-v", f"{shared_memory}:{shared_memory}"]
    if brand == "cpu":
        return ["--shm-size", "16g"]
    if brand == "xpu":
        by_path = "/dev/dri/by-path"
        return ["--device", "/dev/dri", "-v", f"{by_path}:{by_path}", "--shm-size", "16g"]
    return []


def _mask(process: ProcessPlan, setup: ContainerSetup) -> str | None:
    if not setup.masked:
        return None
    said = (value for name, value, _ in process.variables if name in _MASKS)
    return next(said, ",".join(setup.devices) or None)


def _nvidia_devices(mask: str | None, setup: ContainerSetup) -> list[str]:
    """Docker's own option, or CDI names for podman, which had none before version 5."""
    if setup.engine == "podman":
        names = mask.split(",") if mask else ["all"]
        return [token for name in names for token in ("--device", f"nvidia.com/gpu={name}")]
    return ["--gpus", f'"device={mask}"' if mask else "all"]


def _amd_devices(setup: ContainerSetup) -> list[str]:
    """Groups by number where it is known: the image's names may stand for other numbers."""
    gids = sorted({gid for gid in (setup.video_gid, setup.render_gid) if gid is not None})
    groups = [str(gid) for gid in gids] or ["video"]
    devices = ["--device=/dev/kfd", "--device=/dev/dri", "--security-opt", "seccomp=unconfined"]
    return devices + [token for group in groups for token in ("--group-add", group)]


def _privileges(process: ProcessPlan, setup: ContainerSetup) -> list[str]:
    """All privileges, or only what the plan needs."""
    if not setup.hardened:
        return ["--privileged", "--ipc=host"]
    # The image's root reads and writes a hub cache that belongs to somebody else.
    argv = ["--security-opt", "no-new-privileges", "--cap-drop", "ALL", "--cap-add", "DAC_OVERRIDE"]
    for capability in _capabilities(process):
        argv += ["--cap-add", capability]
    if _uses_rdma(process):
        argv += ["--device", "/dev/infiniband"]
    return [*argv, "--shm-size", "16g", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864"]


def _capabilities(process: ProcessPlan) -> list[str]:
    """Capabilities by what needs them: NUMA binding, pinned or HugeTLB memory."""
    flags = {flag.partition("=")[0] for flag, _, _ in process.arguments}
    needed = ["SYS_NICE"] if "--numa-bind" in flags else []
    return ["IPC_LOCK", *needed] if "--kv-transfer-config" in flags else needed


def _uses_rdma(process: ProcessPlan) -> bool:
    config = process.value("--kv-transfer-config") or ""
    return "NixlConnector" in config or "Mooncake" in config


def _mounted(process: ProcessPlan, setup: ContainerSetup) -> list[str]:
    """Paths on the host that the process reads: a local model, files that variables name."""
    paths = [setup.model_path] if setup.model_path else []
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
