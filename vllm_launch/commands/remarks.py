"""What an operator should be told about a plan that can be launched all the same."""

from __future__ import annotations

from ..render.shell import one_line
from ..resolve.footprint import shortfall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..catalog.shelf import Found
    from ..model.deployment import Deployment
    from ..settings import Settings

# Variables that decide which code a process runs.
_POWERFUL = ("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "BASH_ENV", "ENV")


def remarks(
    deployment: Deployment, found: Found, settings: Settings, endpoints: Collection[str]
) -> Iterator[str]:
    """Notes on options without effect, on memory and on what a foreign recipe reaches for."""
    yield from _options_without_effect(settings)
    yield from _ports_without_effect(settings, deployment)
    if endpoints and settings["role"] != "proxy":
        yield from _endpoints_without_effect(settings, deployment, endpoints)
    short = shortfall(deployment)
    if short is not None:
        yield f"{short}; see vllm-launch fit {deployment.recipe.id}"
    yield from _layers(found)
    if not found.library.own or found.overlays:
        yield from _reaches(deployment)


def _layers(found: Found) -> Iterator[str]:
    """Which sources besides the recipe's own have a say, or would have had."""
    if found.shadowed:
        hidden = " and ".join(found.shadowed)
        yield f"the recipe is from {found.library.source}, and hides that of {hidden}"
    for path in found.overlays:
        yield f"the overlay {path} changes the recipe"


def _reaches(deployment: Deployment) -> Iterator[str]:
    """What a recipe of somebody else's sets that decides what code runs or what is mounted."""
    seen: set[str] = set()
    for plan in deployment.processes:
        for name, value, source in plan.variables:
            if source.layer == "operator" or name in seen:
                continue
            seen.add(name)
            if name in _POWERFUL or name.startswith("LD_"):
                yield one_line(f"the recipe sets {name}={value}, which decides what code runs")
            elif name.endswith("_CONFIG_PATH") and not value.startswith("$"):
                yield one_line(
                    f"the recipe names the file {value} ({name}), which a container is given"
                )


def in_container(settings: Settings) -> bool:
    """Whether the servers are to run in containers of an engine on a machine."""
    return settings["runtime"] in ("docker", "podman") or settings["to"] == "compose"


def _options_without_effect(settings: Settings) -> Iterator[str]:
    """What was asked for and changes nothing: it is not dropped in silence."""
    kept = settings["to"] or settings["wait"] or settings["detach"]
    if not in_container(settings):
        for name in ("hardened",) if kept else ("name", "hardened"):
            if settings[name]:
                yield f"{settings.source(name)} is for {_containers_of_others(settings)}"
    if not settings["wait"]:
        for name in ("wait_timeout", "request_timeout"):
            if settings[name]:
                yield f"{settings.source(name)} is for --wait"
    if settings["image"] and not (settings["to"] or in_container(settings)):
        yield f"{settings.source('image')} is for containers, and this server is native"
    if settings["image"] and settings["to"] == "slurm" and not settings["pyxis"]:
        yield f"{settings.source('image')} is for --pyxis, and these servers are native"


def _containers_of_others(settings: Settings) -> str:
    """What an option of docker's and podman's containers is for, where these are none."""
    if settings["to"] == "kubernetes" or (settings["to"] == "slurm" and settings["pyxis"]):
        return "docker and podman, which do not run these containers"
    return "containers, and this server is native"


def _ports_without_effect(settings: Settings, deployment: Deployment) -> Iterator[str]:
    """Ports of pools that the deployment does not have, or that listen on none."""
    for name in ("prefill_port", "decode_port"):
        if settings[name] and deployment.deploy_type != "pd_cluster":
            yield f"{settings.source(name)} is for pd_cluster, and there is no such pool here"
        elif settings[name] and deployment.dynamo is not None:
            yield f"{settings.source(name)}: Dynamo's workers have no HTTP port"


def _endpoints_without_effect(
    settings: Settings, deployment: Deployment, endpoints: Collection[str]
) -> Iterator[str]:
    """Values of placeholders that the deployment does not have."""
    from ..resolve.parts import parts
    from ..resolve.placeholders import placeholders_of

    there = {name for part in parts(deployment) for name in placeholders_of(part)}
    has = ", ".join(f"${name}" for name in sorted(there)) or "none"
    for name in endpoints:
        if name not in there:
            yield f"{settings.source('endpoint')} {name} fills nothing; placeholders here: {has}"
