"""Deployments and errors as plain data, the same for the batch and for --output json."""

from __future__ import annotations

from ..resolve.container import PORTABLE, container_argv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..errors import LaunchError
    from ..model.deployment import Deployment
    from ..resolve.container import ContainerSetup


def deployment_record(deployment: Deployment, setup: ContainerSetup = PORTABLE) -> dict[str, Any]:
    """What runs, without provenance."""
    choice, image = deployment.choice, deployment.image
    processes = []
    for plan in deployment.processes:
        docker = container_argv(plan, choice.hardware, image, setup) if image else None
        processes.append(
            {
                "role": plan.role,
                "rank": plan.rank,
                "argv": plan.argv,
                "env": plan.env,
                "docker_argv": docker,
            }
        )
    record: dict[str, Any] = {
        "deploy_type": deployment.deploy_type,
        "hardware": choice.hardware.id,
        "variant": choice.variant,
        "strategy": choice.strategy,
        "nodes": choice.nodes,
        "image": image,
        "processes": processes,
        "router": deployment.router,
        "companions": [{"label": c.label, "command": c.command} for c in deployment.companions],
    }
    store = deployment.store
    if store is not None:
        record["instances"] = store.instances
        record["master"] = store.master
        record["mooncake_config"] = store.mooncake_config
        record["store_config"] = store.store_config
    if deployment.notes:
        record["notes"] = list(deployment.notes)
    return record


def error_record(error: LaunchError) -> dict[str, Any]:
    """An error for programs: a stable code and a sentence."""
    message = f"{error.message} ({error.hint})" if error.hint else error.message
    record: dict[str, Any] = {"code": error.code, "message": message}
    problems = getattr(error, "problems", ())
    if problems:
        record["problems"] = [str(problem) for problem in problems]
    return {"error": record}
