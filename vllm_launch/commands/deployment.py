"""The deployment that a command line's options lead to."""

from __future__ import annotations

from ..resolve.resolver import Resolver
from .hardware import for_hardware
from .request import request_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..model.checkpoint import Checkpoint
    from ..model.choice import Request
    from ..model.deployment import Deployment
    from ..model.recipe import Recipe
    from ..model.source import Variables
    from ..resolve.on_host import Host
    from ..settings import Settings


def deployment_of(
    found: Found,
    invocation: Invocation,
    settings: Settings,
    env: Variables = (),
    *,
    anywhere: bool = False,
) -> tuple[Deployment, Host | None]:
    """What a recipe resolves to by the options, and the host where one was planned for.

    ``anywhere``: where no machine is named, the recipe's usual one, and not this host.
    """
    library = found.library
    resolver = Resolver(found.recipe, library)
    request = request_of(found, invocation, settings, env)
    dynamo = _behind_dynamo(found.recipe, request.preset, settings)
    if dynamo:
        request = request.replace(pool_args=())  # its workers have no HTTP port
    host = None
    machine = settings["hardware"] or settings["host_facts"] or settings["gpus"]
    if machine or not anywhere:
        request, host = for_hardware(request, settings, library.taxonomy, found)
    if found.checkpoint is not None:
        resolved = _without_recipe(found, found.checkpoint, resolver, request, host)
    else:
        resolved = _resolved(resolver, request, host)
    if resolved.pools_shared:
        from ..resolve.side_channels import separate_ports

        resolved = separate_ports(resolved)
    if dynamo:
        from ..resolve.dynamo import behind_dynamo

        resolved = behind_dynamo(resolved, found.recipe.presets.get(request.preset or ""))
    return resolved, host


def _without_recipe(
    found: Found, checkpoint: Checkpoint, resolver: Resolver, request: Request, host: Host | None
) -> Deployment:
    """The deployment of a model that no recipe is of, by its config."""
    from ..resolve import unrecorded

    choice = resolver.choose(request)
    recipe = unrecorded.planned(
        found.recipe, checkpoint, choice.hardware, tp=request.tp, nodes=choice.nodes
    )
    again = Resolver(recipe, resolver.words)
    deployment = _resolved(again, request, host)
    notes = unrecorded.remarks(deployment, checkpoint)
    reasons = tuple(
        (subject, picked, "the only one" if subject == "variant" else why)
        for subject, picked, why in deployment.choice.reasons
    )
    return deployment.replace(
        choice=deployment.choice.replace(reasons=reasons), notes=(*deployment.notes, *notes)
    )


def _resolved(resolver: Resolver, request: Request, host: Host | None) -> Deployment:
    if host is None:
        return resolver.resolve(resolver.choose(request))
    from ..resolve.on_host import deployment_on

    return deployment_on(host, resolver, request)


def _behind_dynamo(recipe: Recipe, preset: str | None, settings: Settings) -> bool:
    """Whether Dynamo's frontend is to answer: where that is asked for, or its preset ran so."""
    asked = settings["frontend"]
    if asked is not None or preset is None:
        return bool(asked == "dynamo")
    from ..resolve.dynamo import ran_behind_dynamo

    return ran_behind_dynamo(recipe.presets.get(preset))
