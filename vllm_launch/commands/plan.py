"""From a command line to a deployment: what serve and explain have in common."""

from __future__ import annotations

import os

from ..errors import NothingFits, UsageError
from ..model.choice import Pool, Pools, Request
from ..model.record import Record
from ..model.source import Source, paired
from ..resolve.endpoints import expand_home, fill, placeholders
from ..resolve.footprint import shortfall
from ..resolve.resolver import Resolver
from .find import find_model
from .remarks import remarks
from .secrets import refuse_secret_arguments, variables_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..catalog.shelf import Found
    from ..commandline import Invocation
    from ..model.checkpoint import Checkpoint
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.host import HostFacts
    from ..model.part import Part
    from ..model.source import Arguments, Variables
    from ..model.taxonomy import Taxonomy
    from ..settings import Settings
    from .here import Host
    from .roles import Left


_LARGEST_PORT = 65535
# A variable that each launcher of many processes sets: without one, nothing of it is loaded.
_LAUNCHERS = (
    "SLURM_JOB_ID",
    "SLURM_JOB_NODELIST",
    "LWS_LEADER_ADDRESS",
    "GROUP_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "PMIX_RANK",
)


class Plan(Record):
    """A deployment, the processes of it that are this run's, and what it was made from."""

    found: Found
    deployment: Deployment
    processes: tuple[ProcessPlan, ...]  # its servers
    parts: tuple[Part, ...]  # with what runs beside them, in start order; none for one alone
    addresses: tuple[tuple[str, int, str], ...] = ()  # servers: title, node, address where known
    said: tuple[str, ...] = ()  # what was filled in without being asked for, and by what
    left: tuple[Left, ...] = ()  # placeholders that nothing fills
    facts: HostFacts | None  # None: planned for a profile, not a machine
    passed_by_name: tuple[str, ...]  # variables whose values only the environment has


def make(invocation: Invocation, settings: Settings, *, anywhere: bool = False) -> Plan:
    """The plan that a command line asks for; ``anywhere``: it need not be for this machine.

    Raises LaunchError for one that cannot be.
    """
    found = find_model(invocation.argument or "", settings)
    env, by_name = variables_from(settings.listed("env"), settings.source("env"))
    refuse_secret_arguments(invocation.passed)
    resolved, host = chosen(found, invocation, settings, env, anywhere=anywhere)
    resolved = _without(resolved, by_name)
    _refuse_one_port_for_all(resolved, invocation, settings)
    endpoints = _endpoints(settings)
    idle = (*_without_effect(settings, resolved, endpoints), *remarks(resolved, found))
    resolved = resolved.replace(notes=(*resolved.notes, *idle)) if idle else resolved
    deployment = expand_home(fill(resolved, endpoints), os.path.expanduser("~"))
    plan = Plan(
        found=found,
        deployment=deployment,
        processes=deployment.processes,
        parts=(),
        facts=host.facts if host is not None else None,
        passed_by_name=by_name,
    )
    if deployment.is_alone:
        return _of_one(plan, invocation, settings)
    from .roles import take

    taken = take(deployment, resolved, invocation, settings, endpoints, plan.facts)
    return plan.replace(
        deployment=taken.deployment,
        processes=tuple(part.plan for part in taken.parts if part.plan is not None),
        parts=taken.parts,
        addresses=taken.addresses,
        said=taken.said,
        left=taken.left,
    )


def chosen(
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
    resolver = Resolver(found.recipe, library.taxonomy, library.strategy, library.kv_store)
    on, off = _features(settings)
    request = Request(
        variant=_variant(found, settings),
        strategy=settings["strategy"],
        nodes=settings["nodes"],
        tp=settings["tp"],
        add_features=on,
        drop_features=off,
        kv_offload=settings["kv_offload"],
        instances=settings["instances"],
        pools=_pools(settings),
        preset=_preset(settings)[0],
        point=_preset(settings)[1],
        image=settings["image"],
        args=_operator_arguments(invocation, settings),
        args_role=settings["role"],
        env=env,
        model_path=found.model_path,
        set_by=tuple((name, settings.source(name)) for name in ("tp", "image")),
    )
    host = None
    machine = settings["hardware"] or settings["host_facts"] or settings["gpus"]
    if machine or not anywhere:
        request, host = for_hardware(request, settings, library.taxonomy, found)
    if found.checkpoint is not None:
        resolved = _without_recipe(found, found.checkpoint, resolver, request, host)
    else:
        resolved = _resolved(resolver, request, host)
    if resolved.pools_shared:
        from ..resolve.side_channels import apart

        resolved = apart(resolved)
    return _fronted(resolved, settings), host


def _without_recipe(
    found: Found, checkpoint: Checkpoint, resolver: Resolver, request: Request, host: Host | None
) -> Deployment:
    """The deployment of a model that no recipe is of, by its config."""
    from ..resolve import unrecorded

    choice = resolver.choose(request)
    recipe = unrecorded.planned(found.recipe, checkpoint, choice)
    again = Resolver(recipe, resolver.taxonomy, resolver.strategy, resolver.kv_store)
    deployment = _resolved(again, request, host)
    notes = unrecorded.remarks(recipe, checkpoint, choice)
    reasons = tuple(
        (subject, picked, "the only one" if subject == "variant" else why)
        for subject, picked, why in deployment.choice.reasons
    )
    return deployment.replace(
        choice=deployment.choice.replace(reasons=reasons), notes=(*deployment.notes, *notes)
    )


def _of_one(plan: Plan, invocation: Invocation, settings: Settings) -> Plan:
    """The plan of a server that stands alone. Raises UsageError for another role or rank."""
    process = plan.deployment.processes[0]
    role, rank = settings["role"], settings["node_rank"]
    if role not in (None, process.role) or rank not in (None, process.rank):
        wanted = " ".join(str(part) for part in (role, rank) if part is not None)
        raise UsageError(
            f"the deployment has no process {wanted}",
            hint=f"it has: {process.role} {process.rank}; see --nodes",
        )
    if placeholders(process):
        from ..resolve.parts import parts, unfilled
        from .roles import Left

        left = unfilled(parts(plan.deployment)[0])
        plan = plan.replace(left=tuple(Left(name=name) for name in left))
    if not any(name in os.environ for name in _LAUNCHERS):
        return plan
    from .roles import alone

    notes = (*plan.deployment.notes, *alone(invocation, settings))
    return plan.replace(deployment=plan.deployment.replace(notes=notes))


def _variant(found: Found, settings: Settings) -> str | None:
    """The variant asked for, by its name or by its checkpoint. Raises UsageError for two."""
    asked = settings["variant"]
    if asked is not None and found.variant not in (None, asked):
        raise UsageError(
            f"the checkpoint named is variant {found.variant}, and {settings.source('variant')} "
            f"asks for {asked}",
            hint=f"leave one out, or name the recipe: {found.recipe.id}",
        )
    return asked or found.variant


def _fronted(deployment: Deployment, settings: Settings) -> Deployment:
    """The deployment behind Dynamo's frontend where that is asked for, or its preset ran so."""
    choice = deployment.choice
    if settings["frontend"] is None and choice.preset is None:
        return deployment
    from ..resolve.dynamo import behind_dynamo, ran_behind_dynamo

    preset = deployment.recipe.presets.get(choice.preset or "")
    if (settings["frontend"] or ("dynamo" if ran_behind_dynamo(preset) else "vllm")) == "vllm":
        return deployment
    return behind_dynamo(deployment, preset)


def _without(deployment: Deployment, names: tuple[str, ...]) -> Deployment:
    """A deployment without the variables that are handed on by name, which the operator's win."""
    if not any(v[0] in names for plan in deployment.processes for v in plan.variables):
        return deployment
    return deployment.replace(
        processes=tuple(
            plan.replace(variables=tuple(v for v in plan.variables if v[0] not in names))
            for plan in deployment.processes
        )
    )


def _refuse_one_port_for_all(
    deployment: Deployment, invocation: Invocation, settings: Settings
) -> None:
    """Raise UsageError where --port would go to both pools, which may share a machine."""
    roles = {plan.role for plan in deployment.processes}
    passed = any(word.partition("=")[0] == "--port" for word in invocation.passed)
    given = settings["port"] is not None or (passed and deployment.pools_shared)
    if given and settings["role"] is None and "decode" in roles:
        raise UsageError(
            f"{settings.source('port') if settings['port'] is not None else '-- --port'}: "
            "prefill and decode cannot listen on one port",
            hint="say whose it is with --role prefill or --role decode",
        )


def _resolved(resolver: Resolver, request: Request, host: Host | None) -> Deployment:
    """The deployment, on the best of a host's GPUs where it does not need all of them."""
    deployment = resolver.resolve(resolver.choose(request))
    if host is None:
        return deployment
    from .here import narrowed

    fewer = narrowed(host, request, deployment)
    if fewer is not None:
        deployment = resolver.resolve(resolver.choose(fewer))
    short = shortfall(deployment)
    if short is not None and deployment.choice.nodes == 1:
        raise NothingFits(short, hint=f"see vllm-launch fit {deployment.recipe.id}")
    return deployment


def for_hardware(
    request: Request,
    settings: Settings,
    taxonomy: Taxonomy,
    found: Found,
    host: Host | None = None,
) -> tuple[Request, Host | None]:
    """Plan for the named profile or the preset's; else for the GPUs that are there.

    ``host`` is what was found there before, where it was.
    """
    named = settings["hardware"]
    detected = named in (None, "auto") or (
        named == "cpu" and "cpu" not in taxonomy.hardware_profiles
    )
    if not detected and not _facts_instead(settings):
        return request.replace(hardware=named, devices=_devices(settings)), None
    if request.preset is not None and named is None and settings["host_facts"] is None:
        return request.replace(devices=_devices(settings)), None
    from ..host.checkpoint import find, read
    from .here import find_host, usable

    host = host or find_host(settings, taxonomy)
    path = find(found.model_path or found.recipe.model.model_id, os.environ)
    return usable(host, request, read(path) if path is not None else None), host


def _facts_instead(settings: Settings) -> bool:
    """Whether --host-facts was set nearer to the command line than --hardware."""
    if settings["host_facts"] is None:
        return False
    if settings.outranks("host_facts", "hardware"):
        return True
    if settings.outranks("hardware", "host_facts"):
        return False
    raise UsageError(
        f"{settings.source('hardware')} and {settings.source('host_facts')} each name a machine",
        hint="leave one out",
    )


def _devices(settings: Settings) -> tuple[str, ...] | None:
    """The GPUs named with --gpus, of a machine that is not looked at. Raises UsageError."""
    if settings["gpus"] is None:
        return None
    devices = tuple(settings["gpus"].split(","))
    if len(set(devices)) < len(devices) or not all(map(_is_device, devices)):
        raise UsageError(
            f"{settings.source('gpus')}: found {settings['gpus']!r}; expected indices or UUIDs, "
            "each once, with commas between",
            hint="for example --gpus 0,1,2,3",
        )
    return devices


def _is_device(name: str) -> bool:
    """Whether a name has the form of an index, or of a GPU's or MIG instance's UUID."""
    if name.isascii() and name.isdecimal():
        return True
    return name.startswith(("GPU-", "MIG-")) and name.replace("-", "").isalnum()


def _features(settings: Settings) -> tuple[tuple[tuple[str, str | None], ...], tuple[str, ...]]:
    """The features to turn on, with their modes, and those to turn off.

    Of one that is in both, what was set nearer to the command line holds. Raises UsageError where
    neither was.
    """
    on = [_feature(text) for text in settings.listed("feature")]
    off = list(settings.listed("no_feature"))
    for name in {name for name, _ in on}.intersection(off):
        if settings.outranks("no_feature", "feature"):
            on = [feature for feature in on if feature[0] != name]
        elif settings.outranks("feature", "no_feature"):
            off.remove(name)
        else:
            raise UsageError(
                f"{settings.source('feature')} turns {name} on, and "
                f"{settings.source('no_feature')} turns it off",
                hint="leave one out",
            )
    return tuple(on), tuple(off)


def _feature(text: str) -> tuple[str, str | None]:
    name, _, mode = text.partition("=")
    return name, mode or None


def _preset(settings: Settings) -> tuple[str | None, str | None]:
    name, _, point = (settings["preset"] or "").partition(":")
    return name or None, point or None


def _pools(settings: Settings) -> Pools | None:
    """The pools asked for. One that is not keeps the recipe's size; none leaves both to it."""
    if settings["prefill"] is None and settings["decode"] is None:
        return None
    return Pools(prefill=_pool(settings, "prefill"), decode=_pool(settings, "decode"))


def _pool(settings: Settings, role: str) -> Pool:
    text = settings[role]
    if text is None:
        return Pool()
    nodes, _, mode = text.partition(":")
    if not (nodes.isascii() and nodes.isdecimal() and 1 <= len(nodes) < 5 and int(nodes) > 0):
        raise UsageError(
            f"{settings.source(role)}: found {text!r}; expected NODES[:MODE]",
            hint=f"for example --{role} 2:dep",
        )
    if mode not in ("", "tp", "tep", "dep"):
        raise UsageError(
            f"{settings.source(role)}: found the mode {mode!r}; expected tp, tep or dep"
        )
    return Pool(nodes=int(nodes), parallelism=mode or None)


def _operator_arguments(invocation: Invocation, settings: Settings) -> Arguments:
    """--port and --host, then what stands behind "--". Raises UsageError for what is no port."""
    own = []
    if (settings["port"] or 0) > _LARGEST_PORT:
        raise UsageError(
            f"{settings.source('port')}: found '{settings['port']}'; "
            f"expected a port, {_LARGEST_PORT} at most"
        )
    for name in ("port", "host"):
        value = settings[name]
        if value is not None and not (name == "host" and _in_container(settings)):
            source = Source(layer="operator", detail=settings.source(name))
            own += [(f"--{name}", source), (str(value), source)]
    passed = Source(layer="operator", detail="behind --")
    return (*paired(own), *paired((token, passed) for token in invocation.passed))


def _in_container(settings: Settings) -> bool:
    return settings["runtime"] in ("docker", "podman") or settings["to"] == "compose"


def _endpoints(settings: Settings) -> dict[str, str]:
    """The values of placeholders; the last one of a name holds.

    Raises UsageError for what is no NAME=VALUE, and for a file that cannot be read.
    """
    values = {}
    for text in settings.listed("endpoint"):
        source, lines = settings.source("endpoint"), [(0, text)]
        if text.startswith("@"):
            from .endpoint_file import lines_of

            source, lines = text[1:], lines_of(text[1:], source)
        for number, line in lines:
            name, equals, value = line.removeprefix("$").partition("=")
            if not equals or not name.replace("_", "").isalnum() or not value:
                place = f"{source}:{number}" if number else source
                raise UsageError(
                    f"{place}: found {line!r}; expected NAME=VALUE",
                    hint="for example HEAD_IP=10.0.0.1"
                    if number
                    else "for example --endpoint HEAD_IP=10.0.0.1",
                )
            values[name] = value
    return values


def _without_effect(
    settings: Settings, deployment: Deployment, endpoints: Collection[str]
) -> Iterator[str]:
    """What was asked for and changes nothing: it is not dropped in silence."""
    for name in ("name", "hardened"):
        kept = settings["to"] or settings["wait"] or settings["detach"]
        names_the_whole = name == "name" and kept
        if settings[name] and not _in_container(settings) and not names_the_whole:
            yield f"{settings.source(name)} is for containers, and this server is native"
    for name in ("wait_timeout", "request_timeout"):
        if settings[name] and not settings["wait"]:
            yield f"{settings.source(name)} is for --wait"
    if settings["image"] and settings["to"] == "slurm" and not settings["pyxis"]:
        yield f"{settings.source('image')} is for --pyxis, and these servers are native"
    if not endpoints or settings["role"] == "proxy":
        return
    from ..resolve.parts import parts, placeholders_of

    there = {name for part in parts(deployment) for name in placeholders_of(part)}
    for name in endpoints:
        if name not in there:
            has = ", ".join(f"${name}" for name in sorted(there)) or "none"
            yield f"{settings.source('endpoint')} {name} fills nothing; placeholders here: {has}"


def hub_cache() -> tuple[str, str]:
    """The hub cache on this machine, and where the image looks for it.

    HF_HUB_CACHE names the cache itself, HF_HOME the directory that holds it.
    """
    from ..host.checkpoint import hub_directory, hub_home

    inside = "/root/.cache/huggingface"
    if os.environ.get("HF_HUB_CACHE"):
        return _absolute(hub_directory(os.environ)), f"{inside}/hub"
    return _absolute(hub_home(os.environ)), inside


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
