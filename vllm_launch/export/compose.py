"""compose.yaml: a machine's parts as services of Docker Compose, one file a machine.

Written for the compose specification and for docker-compose 1.27 and newer alike: no key is
there that one of them would not take.
"""

from __future__ import annotations

from ..errors import UsageError
from ..model.part import SERVERS
from ..resolve.container import Access, Container, container_of
from ..resolve.images import is_image_reference
from ..resolve.parts import parts as parts_of
from . import ExportFile, commented
from .filling import by_hand, file_text, filled_parts
from .yamltext import writable, yaml_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..model.part import Part
    from ..resolve.container import ContainerSetup
    from . import Brief

CONFIG_DIRECTORY = "/etc/vllm-launch"  # in the containers
_OWN_IMAGES = ("etcd", "nats")  # which are in no image of vLLM's
_NEED_GPUS = ("companion",)
_NEED_MACHINE = ("companion", "store")  # shared memory, and the network cards
_START_PERIOD = 3600  # seconds: weights may be downloaded and kernels compiled
_GRACE = 120  # seconds to answer what was asked before
_HEALTH = "import urllib.request; urllib.request.urlopen({url!r}, timeout=5)"


def files(brief: Brief) -> tuple[ExportFile, ...]:
    """One file a machine, and the configuration files that their parts read.

    Raises UsageError for a placeholder that nobody filled in.
    """
    images = _images(brief)
    parts = filled_parts(brief, CONFIG_DIRECTORY)
    machines = sorted({part.node for part in parts})
    everything = parts_of(brief.deployment)
    host_network = len(everything) > 1
    found = {}
    for node in machines:
        name = "compose.yaml" if len(machines) == 1 else f"compose-{node}.yaml"
        here = [part for part in parts if part.node == node]
        found[name] = _file(name, here, brief, images, host_network=host_network)
    for part in parts:
        for file in part.files:
            found[file.name] = ExportFile(name=file.name, text=file_text(file))
    return tuple(found.values())


def _file(
    name: str,
    parts: Sequence[Part],
    brief: Brief,
    images: Mapping[str, str],
    *,
    host_network: bool,
) -> ExportFile:
    services = {
        part.name: _service(part, parts, brief, images, host_network=host_network) for part in parts
    }
    notes = (*_usage(name, parts, brief), *_image_notes(parts, images), *by_hand(brief))
    header = commented(brief.replace(header=(*brief.header, *notes)))
    return ExportFile(name=name, text=f"{header}\n{yaml_text({'services': services})}")


def _usage(name: str, parts: Sequence[Part], brief: Brief) -> Iterator[str]:
    """How the file is used, as comments."""
    plain = name == "compose.yaml"
    compose = "docker compose" if plain else f"docker compose -f {name}"
    yield ""
    if len(parts_of(brief.deployment)) > 1:
        yield f"Of this machine: {', '.join(part.title for part in parts)}."
    yield f"Start: {compose} up -d    Log: {compose} logs -f    Stop: {compose} down"
    yield f"From the environment, where set: {', '.join(_by_name(brief))}"


def _image_notes(parts: Sequence[Part], images: Mapping[str, str]) -> Iterator[str]:
    """Which parts run from the server's image for want of another."""
    for part in parts:
        if part.role not in SERVERS and part.role not in images:
            yield (
                f"The image of the servers must have {part.argv[0]} in it; "
                f"another one for it: --part-image {part.role}=REF"
            )


def _by_name(brief: Brief) -> tuple[str, ...]:
    """Variables that reach the servers from the environment of ``compose up``."""
    return tuple(dict.fromkeys(("HF_TOKEN", *brief.passed_by_name)))


def _images(brief: Brief) -> dict[str, str]:
    """The images of parts beside the servers, by role. Raises UsageError where one has to be."""
    images = {}
    roles = tuple(dict.fromkeys(p.role for p in brief.parts if p.role not in SERVERS and p.argv))
    for text in brief.options.get("part_image") or ():
        role, _, image = text.partition("=")
        if role not in roles or not is_image_reference(image):
            raise UsageError(
                f"--part-image: found {text!r}; expected ROLE=REF",
                hint=f"parts beside the servers here: {', '.join(roles) or 'none'}",
            )
        images[role] = image
    for role in _OWN_IMAGES:
        if role in roles and role not in images:
            raise UsageError(f"no image is known for {role}", hint=f"give --part-image {role}=REF")
    return images


def _service(
    part: Part,
    here: Sequence[Part],
    brief: Brief,
    images: Mapping[str, str],
    *,
    host_network: bool,
) -> dict[str, Any]:
    container = container_for(part, brief, images)
    shared = host_network or any(access.host_network for access in container.access)
    if shared and container.publish:
        raise UsageError(
            "--host: these containers use the machine's network, where nothing is published",
            hint="hand the address to vLLM itself: -- --host ADDR",
        )
    several = len(here) > 1 or host_network
    service: dict[str, Any] = {
        "image": container.image,
        "container_name": f"{brief.name}-{part.name}" if several else brief.name,
        **({"entrypoint": [container.entrypoint]} if container.entrypoint else {}),
        "command": list(container.command),
        "environment": [
            *container.passed_by_name,
            *(f"{name}={value}" for name, value in container.variables),
        ],
        **_network(container, shared=shared),
        **_access(container.access, container.engine),
        "volumes": [_volume(*mount) for mount in container.mounts],
        **_depends_on(part, here),
        **_healthcheck(part),
        "restart": "unless-stopped",
        "stop_grace_period": f"{_grace(part)}s",
    }
    return {key: _escaped(value) for key, value in service.items() if value not in ([], {}, "")}


def container_for(part: Part, brief: Brief, images: Mapping[str, str]) -> Container:
    """The container of a server, or of what runs beside the servers."""
    setup = _setup(brief).replace(name=None, passed_by_name=_by_name(brief))
    hardware = brief.deployment.choice.hardware
    image = brief.deployment.image or ""
    if part.plan is not None:
        container = container_of(part.plan, hardware, image, setup)
        return container.replace(mounts=tuple(_beside(mount, part) for mount in container.mounts))
    server = next(p.plan for p in parts_of(brief.deployment) if p.plan is not None)
    access = container_of(server, hardware, image, setup).access
    if part.role not in _NEED_GPUS:
        access = tuple(each.replace(gpus=None) for each in access)
    return Container(
        engine=setup.engine,
        access=access if part.role in _NEED_MACHINE else (),
        mounts=tuple(
            (f"./{file.name}", f"{CONFIG_DIRECTORY}/{file.name}", False) for file in part.files
        ),
        variables=part.env,
        image=images.get(part.role, image),
        entrypoint=part.argv[0],
        command=part.argv[1:],
    )


def _setup(brief: Brief) -> ContainerSetup:
    if brief.setup is None:
        raise UsageError("compose runs containers", hint="leave --runtime native out")
    return brief.setup


def _beside(mount: tuple[str, str, bool], part: Part) -> tuple[str, str, bool]:
    """A mount whose file lies beside compose.yaml, where the export writes it."""
    own = {f"{CONFIG_DIRECTORY}/{file.name}": f"./{file.name}" for file in part.files}
    outside, inside, writable = mount
    return own.get(outside, outside), inside, writable


def _network(container: Container, *, shared: bool) -> dict[str, Any]:
    """The machine's own network where parts reach each other: their side channels and ranks
    pick and announce ports that nobody could publish beforehand."""
    if shared:
        return {"network_mode": "host"}
    if container.port is None:
        return {}
    return {"ports": [f"{container.publish}{container.port}:{container.port}"]}


def _access(pieces: Sequence[Access], engine: str) -> dict[str, Any]:
    """What a container is given of its machine."""
    gpus = next((each.gpus for each in pieces if each.gpus is not None), None)
    devices = [path for each in pieces for path in each.devices]
    if gpus is not None and engine == "podman":
        devices += [f"nvidia.com/gpu={name}" for name in gpus or ("all",)]
        gpus = None
    return {
        "privileged": any(each.privileged for each in pieces) or "",
        "ipc": "host" if any(each.host_ipc for each in pieces) else "",
        "devices": devices,
        "group_add": [group for each in pieces for group in each.groups],
        "security_opt": [option for each in pieces for option in each.security],
        "cap_drop": [name for each in pieces for name in each.drop],
        "cap_add": [name for each in pieces for name in each.add],
        "shm_size": next((each.shm_size for each in reversed(pieces) if each.shm_size), ""),
        "ulimits": {name: limit for each in pieces for name, limit in each.ulimits},
        "deploy": _reserved(gpus),
    }


def _reserved(gpus: tuple[str, ...] | None) -> dict[str, Any]:
    """NVIDIA GPUs, all of them or those named."""
    if gpus is None:
        return {}
    which = {"device_ids": list(gpus)} if gpus else {"count": "all"}
    device = {"driver": "nvidia", **which, "capabilities": ["gpu"]}
    return {"resources": {"reservations": {"devices": [device]}}}


def _volume(outside: str, inside: str, writable_inside: bool) -> str:
    if ":" in outside + inside:
        raise UsageError(
            f"compose cannot mount {outside}: there is a colon in it",
            hint="make a link to it under another name",
        )
    return f"{outside}:{inside}" if writable_inside else f"{outside}:{inside}:ro"


def _depends_on(part: Part, here: Sequence[Part]) -> dict[str, Any]:
    """What has to run before, of this machine; what answers requests has to answer."""
    return {
        "depends_on": {
            other.name: {
                "condition": "service_healthy" if _healthcheck(other) else "service_started"
            }
            for other in here
            if other.name in part.after
        }
    }


def _healthcheck(part: Part) -> dict[str, Any]:
    """A server's, with the Python that every image of vLLM has."""
    if part.port is None or part.plan is None:
        return {}
    code = _HEALTH.format(url=f"http://{_own_address(part)}:{part.port}/health")
    return {
        "healthcheck": {
            "test": ["CMD", "python3", "-c", code],
            "interval": "10s",
            "timeout": "10s",
            "retries": 6,
            "start_period": f"{_start_period(part)}s",
        }
    }


def _own_address(part: Part) -> str:
    """Where a server is reached from its own machine."""
    host = (part.plan.value("--host") if part.plan else None) or ""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - compared with, not listened on
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _start_period(part: Part) -> int:
    """Seconds that a cold start may take: at least as long as vLLM itself waits."""
    waits = dict(part.env).get("VLLM_ENGINE_READY_TIMEOUT_S", "")
    own = int(waits) if waits.isascii() and waits.isdecimal() and len(waits) < 7 else 0
    return max(_START_PERIOD, own)


def _grace(part: Part) -> int:
    """Seconds until a stop is forced: longer than the server's own time for what it answers."""
    own = part.plan.number("--shutdown-timeout") if part.plan is not None else None
    return max(_GRACE, (own or 0) + 30)


def _escaped(value: Any) -> Any:
    """Values in which Compose finds no variable: of theirs every dollar sign is one."""
    if isinstance(value, str):
        return writable(value).replace("$", "$$")
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    if isinstance(value, dict):
        return {key: _escaped(each) for key, each in value.items()}
    return value
