"""How the servers of a plan are run in containers on this machine."""

from __future__ import annotations

import os

from ..errors import NothingFits, UsageError
from ..model.image import is_image_reference, no_reference
from ..resolve.container import ContainerSetup, mounts_of
from ..running import engine, state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..model.deployment import Deployment
    from ..settings import Settings
    from .plan import Plan


def container_setup(
    plan: Plan, settings: Settings, default: str | None = None
) -> ContainerSetup | None:
    """How a container is to be run here; None for a native server.

    ``default`` is the engine where none is asked for.

    Raises UsageError for a container that no image is known for.
    """
    engine = settings["runtime"] or default
    if engine in (None, "native"):
        return None
    _require_image(plan.deployment)
    cache, inside = _hub_cache(plan.passed_by_name)
    _refuse_host(plan, settings)
    facts = plan.facts
    devices = plan.deployment.choice.devices
    setup = ContainerSetup(
        engine=engine,
        hub_cache=cache,
        hub_cache_inside=inside,
        passed_by_name=plan.passed_by_name,
        render_gid=facts.render_gid if facts is not None else None,
        video_gid=facts.video_gid if facts is not None else None,
        hardened=bool(settings["hardened"]),
        masked=devices is not None,
        devices=(devices or ()) if facts is not None else (),
        **_kept_container(plan, settings),
        publish=_publish(settings["host"] or ""),
        host_network=plan.deployment.on_host_network,
    )
    _refuse_colons(plan, setup)
    return setup


def _refuse_colons(plan: Plan, setup: ContainerSetup) -> None:
    """Raise UsageError for a path that an engine would take for two."""
    mounts = [mount for process in plan.processes for mount in mounts_of(process, setup)]
    for path, _, _ in mounts:
        if ":" in path:
            raise UsageError(
                f"{setup.engine} cannot mount {path}: there is a colon in it",
                hint="make a link to it under another name",
            )


def _refuse_host(plan: Plan, settings: Settings) -> None:
    """Raise UsageError for --host where containers publish nothing."""
    published = not plan.deployment.on_host_network or settings["role"] == "router"
    if settings["host"] and not published:
        raise UsageError(
            f"{settings.source('host')}: these containers use the machine's network, where "
            "nothing is published",
            hint="hand the address to vLLM itself: -- --host ADDR",
        )


def _require_image(deployment: Deployment) -> None:
    """Raise UsageError where no image is known, or one that cannot run the servers."""
    image, dynamo = deployment.image, deployment.dynamo
    if image is None:
        raise UsageError(
            f"no image is known for {deployment.choice.hardware.brand}", hint="give --image REF"
        )
    if not is_image_reference(image):
        raise UsageError(no_reference(image), hint="write NAME:TAG or NAME@sha256:…")
    if dynamo is not None and deployment.image_source.layer != "operator":
        raise UsageError(
            f"{image} has no Dynamo in it",
            hint=f"install {' '.join(dynamo.requirements) or 'ai-dynamo'} on top of it, and name "
            "what comes out with --image; or serve with vLLM alone: --frontend vllm",
        )


def _publish(host: str) -> str:
    """What stands before a published port; "" publishes it on every address."""
    if not host:
        return ""
    return f"[{host}]:" if ":" in host else f"{host}:"


def _kept_container(plan: Plan, settings: Settings) -> dict[str, Any]:
    """How a container is named, and marked where it is to be found again."""
    if not (settings["wait"] or settings["detach"]):
        name = settings["name"]
        return {"name": name and state.checked_name(name, settings.source("name"))}

    from .kept import asked_name

    model = plan.processes[0].model if plan.processes else ""
    name = asked_name(settings) or state.usual_name(model)
    return {**names_of(name, settings), "detached": bool(settings["detach"])}


def names_of(name: str, settings: Settings) -> dict[str, str]:
    """What the container of a kept server is called, and the label that it is found by."""
    return {
        "name": settings["name"] or f"vllm-{name}",
        "label": engine.label(name),
    }


def _hub_cache(passed_by_name: Sequence[str]) -> tuple[str, str]:
    """The hub cache on this machine, and where the image looks for it.

    HF_HUB_CACHE names the cache itself, HF_HOME the directory that holds it; a container that is
    handed one of them looks there.
    """
    from ..host.checkpoint import hub_directory, hub_home

    inside = "/root/.cache/huggingface"
    handed = [name for name in passed_by_name if os.environ.get(name)]
    home = _absolute(hub_home(os.environ)) if "HF_HOME" in handed else inside
    if os.environ.get("HF_HUB_CACHE"):
        cache = _absolute(hub_directory(os.environ))
        return cache, cache if "HF_HUB_CACHE" in handed else f"{home}/hub"
    return _absolute(hub_home(os.environ)), home


def _absolute(path: str) -> str:
    """A hub cache's whole path. Raises NothingFits where that is not known."""
    if path.startswith("~"):
        raise NothingFits("the hub cache is under ~, and HOME is not set", hint="set HF_HOME")
    try:
        return os.path.abspath(path)
    except OSError:
        raise NothingFits(
            f"the hub cache is at {path}, under a working directory that is gone",
            hint="cd to one that is there, or set HF_HOME to a whole path",
        ) from None
