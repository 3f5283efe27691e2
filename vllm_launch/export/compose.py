"""compose.yaml: a machine's parts as services of Docker Compose, one file a machine.

Written for the compose specification and for docker-compose 1.27 and newer alike: no key is
there that one of them would not take.
"""

from __future__ import annotations

from ..errors import UsageError
from . import ExportFile, commented
from .containers import by_name, container_for, image_notes, images_of
from .filling import by_hand, file_text, filled_parts
from .readiness import health_url, startup_seconds, stop_seconds
from .yamltext import writable, yaml_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..model.deployment import Deployment
    from ..model.part import Part
    from ..resolve.container import Access, Container
    from . import Brief

CONFIG_DIRECTORY = "/etc/vllm-launch"  # in the containers


def files(brief: Brief) -> tuple[ExportFile, ...]:
    """One file a machine, and the configuration files that their parts read.

    Raises UsageError for a placeholder that nobody filled in.
    """
    if brief.setup is None:
        raise UsageError("compose runs containers", hint="leave --runtime native out")
    images = images_of(brief)
    parts = filled_parts(brief, CONFIG_DIRECTORY)
    machines = sorted({part.node for part in parts})
    found = {}
    for node in machines:
        name = "compose.yaml" if len(machines) == 1 else f"compose-{node}.yaml"
        here = [part for part in parts if part.node == node]
        found[name] = _file(name, here, brief, images)
    for part in parts:
        for file in part.files:
            found[file.name] = ExportFile(name=file.name, text=file_text(file))
    return tuple(found.values())


def _file(name: str, parts: Sequence[Part], brief: Brief, images: Mapping[str, str]) -> ExportFile:
    services = {part.name: _service(part, parts, brief, images) for part in parts}
    notes = (*_usage(name, parts, brief), *image_notes(parts, images), *by_hand(brief))
    header = commented(brief.replace(header=(*brief.header, *notes)))
    return ExportFile(name=name, text=f"{header}\n{yaml_text({'services': services})}")


def _usage(name: str, parts: Sequence[Part], brief: Brief) -> Iterator[str]:
    """How the file is used, as comments."""
    plain = name == "compose.yaml"
    compose = "docker compose" if plain else f"docker compose -f {name}"
    yield ""
    if not brief.deployment.is_alone:
        yield f"Of this machine: {', '.join(part.title for part in parts)}."
    yield f"Start: {compose} up -d    Log: {compose} logs -f    Stop: {compose} down"
    yield f"From the environment, where set: {', '.join(by_name(brief))}"


def _service(
    part: Part, here: Sequence[Part], brief: Brief, images: Mapping[str, str]
) -> dict[str, Any]:
    container = container_for(part, brief, images, ".", CONFIG_DIRECTORY)
    service: dict[str, Any] = {
        "image": container.image,
        "container_name": f"{brief.name}-{part.name}"
        if not brief.deployment.is_alone
        else brief.name,
        **({"entrypoint": [container.entrypoint]} if container.entrypoint else {}),
        "command": list(container.command),
        "environment": [
            *container.passed_by_name,
            *(f"{name}={value}" for name, value in container.variables),
        ],
        **_network(container),
        **_access(container.access, container.engine),
        "volumes": _volumes(container),
        "depends_on": _depends_on(part, here),
        **_healthcheck(part, brief.deployment),
        "restart": "unless-stopped",
        "stop_grace_period": f"{stop_seconds(part)}s",
    }
    return {key: _escaped(value) for key, value in service.items() if value not in ([], {}, "")}


def _network(container: Container) -> dict[str, Any]:
    if any(access.host_network for access in container.access):
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


def _volumes(container: Container) -> list[str]:
    own = [(path, path, True) for each in container.access for path in each.mounts]
    return [_volume(*mount) for mount in (*own, *container.mounts)]


def _volume(outside: str, inside: str, writes: bool) -> str:
    if ":" in outside + inside:
        raise UsageError(
            f"compose cannot mount {outside}: there is a colon in it",
            hint="make a link to it under another name",
        )
    return f"{outside}:{inside}" if writes else f"{outside}:{inside}:ro"


def _depends_on(part: Part, here: Sequence[Part]) -> dict[str, Any]:
    """What has to run before, of this machine; what answers requests has to answer."""
    return {
        other.name: {"condition": "service_healthy" if health_url(other) else "service_started"}
        for other in here
        if other.name in part.after
    }


def _healthcheck(part: Part, deployment: Deployment) -> dict[str, Any]:
    """A server's, with the Python that every image of vLLM has."""
    url = health_url(part)
    if url is None or part.plan is None:
        return {}
    code = f"import urllib.request; urllib.request.urlopen({url!r}, timeout=5)"
    if url.startswith("https:"):  # its certificate is for the name that others know it by
        code = f"import ssl, {code[7:-1]}, context=ssl._create_unverified_context())"
    return {
        "healthcheck": {
            "test": ["CMD", "python3", "-c", code],
            "interval": "10s",
            "timeout": "10s",
            "retries": 6,
            "start_period": f"{startup_seconds(deployment, part.plan)}s",
        }
    }


def _escaped(value: Any) -> Any:
    """Values in which Compose finds no variable: of theirs every dollar sign is one."""
    if isinstance(value, str):
        return writable(value).replace("$", "$$")
    if isinstance(value, list):
        return [_escaped(each) for each in value]
    if isinstance(value, dict):
        return {key: _escaped(each) for key, each in value.items()}
    return value
