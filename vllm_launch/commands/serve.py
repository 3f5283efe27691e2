"""serve: resolve a recipe into a command, and print it or become it."""

from __future__ import annotations

import os

from ..errors import CheckFailed, UsageError
from ..render.shell import command, exports, quote
from ..resolve.container import ContainerSetup, container_argv
from ..streams import answer, remark
from .plan import hub_cache, make

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

    from ..commandline import Invocation
    from ..model.deployment import ProcessPlan
    from ..model.part import Part
    from ..settings import Settings
    from .plan import Plan
    from .roles import Left


_SHOWN = 8  # names in one line


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the plan, or become its process."""
    plan = make(invocation, settings)
    setup = container_setup(plan, settings)
    if settings["locked"]:
        from .lock import demand

        demand(plan, setup, settings)
    if not (settings["dry_run"] or settings["output"]):
        return _become(plan, settings, setup, invocation.line)
    _print(plan, settings, setup)
    return 0


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
    if plan.deployment.image is None:
        raise UsageError(
            f"no image is known for {plan.deployment.choice.hardware.brand}",
            hint="give --image REF",
        )
    from ..resolve.images import is_image_reference

    if not is_image_reference(plan.deployment.image):
        raise UsageError(
            f"{plan.deployment.image!r} is no image reference",
            hint="write NAME:TAG or NAME@sha256:…",
        )
    dynamo = plan.deployment.dynamo
    if dynamo is not None and plan.deployment.image_source.layer != "operator":
        raise UsageError(
            f"{plan.deployment.image} has no Dynamo in it",
            hint=f"install {' '.join(dynamo.requirements) or 'ai-dynamo'} on top of it, and name "
            "what comes out with --image; or serve with vLLM alone: --frontend vllm",
        )
    cache, inside = hub_cache()
    for path in (cache, plan.found.model_path or ""):
        if ":" in path:
            raise UsageError(
                f"{engine} cannot mount {path}: there is a colon in it",
                hint="make a link to it under another name",
            )
    facts = plan.facts
    host = settings["host"]
    shared = plan.deployment.on_host_network
    if host and shared and settings["role"] != "router":
        raise UsageError(
            f"{settings.source('host')}: these containers use the machine's network, where "
            "nothing is published",
            hint="hand the address to vLLM itself: -- --host ADDR",
        )
    return ContainerSetup(
        engine=engine,
        hub_cache=cache,
        hub_cache_inside=inside,
        passed_by_name=plan.passed_by_name,
        render_gid=facts.render_gid if facts is not None else None,
        video_gid=facts.video_gid if facts is not None else None,
        hardened=bool(settings["hardened"]),
        masked=plan.deployment.choice.devices is not None,
        devices=(plan.deployment.choice.devices or ()) if plan.facts is not None else (),
        **_kept_container(plan, settings),
        publish=f"[{host}]:" if ":" in (host or "") else f"{host}:" if host else "",
        host_network=shared,
        model_path=plan.found.model_path,
    )


def _kept_container(plan: Plan, settings: Settings) -> dict[str, Any]:
    """How a container is named, and marked where it is to be found again."""
    if not (settings["wait"] or settings["detach"]):
        return {"name": settings["name"]}
    from .supervised import container_words

    return container_words(plan, settings, plan.processes[0].model if plan.processes else "")


def command_of(
    plan: Plan, process: ProcessPlan, setup: ContainerSetup | None
) -> tuple[list[str], dict[str, str]]:
    """What runs one process: its words, and the variables that it is started with."""
    if setup is None:
        return process.argv, process.env
    deployment = plan.deployment
    image = deployment.image or ""
    return container_argv(process, deployment.choice.hardware, image, setup), {}


def _become(
    plan: Plan, settings: Settings, setup: ContainerSetup | None, line: Sequence[str]
) -> int:
    part = _one_part(plan, settings) if plan.parts else None
    if part is not None:
        plan = _narrowed(plan, part)
        if part.plan is None:
            _refuse_to_wait(part, settings)
            _become_part(plan, part, settings, line)
    process = plan.processes[0]
    _refuse_unfilled(plan)
    argv, variables = command_of(plan, process, setup)
    from ..launch import become, program_path

    asked = (v for n, v, source in process.variables if (n, source.layer) == ("PATH", "operator"))
    path = next(asked, os.environ.get("PATH"))
    program_path(argv[0], path)
    _tell(plan)
    _tell_command(line)
    _check(plan, settings)
    if part is not None:
        _write_files(part)
    _write_lock(plan, setup, settings)
    environment = {**_own_environment(), **variables}
    if settings["wait"] or settings["detach"]:
        from .supervised import start

        return start(plan, settings, setup, line, environment, path)
    return become(argv, environment, path)


def _refuse_to_wait(part: Part, settings: Settings) -> None:
    """Raise UsageError where what is no server is to be waited for."""
    if settings["wait"] or settings["detach"]:
        option = settings.source("wait") or settings.source("detach")
        raise UsageError(
            f"{option} is for servers, and this is the {part.title}",
            hint="leave it out; verify waits for what answers on a port",
        )


def _one_part(plan: Plan, settings: Settings) -> Part:
    """The part to become: the only one, or the only server where no role is asked for.

    Raises UsageError where that does not say which.
    """
    servers = [part for part in plan.parts if part.plan is not None]
    if len(plan.parts) == 1:
        return plan.parts[0]
    if len(servers) == 1 and settings["role"] is None:
        return servers[0]
    names = [part.title for part in plan.parts]
    names = [*names[:_SHOWN], f"and {len(names) - _SHOWN} more"] if len(names) > 12 else names
    raise UsageError(
        f"the deployment has {len(plan.parts)} processes ({', '.join(names)}), and this runs one",
        hint="say which with --role and --node-rank, or print all with --dry-run",
    )


def _narrowed(plan: Plan, part: Part) -> Plan:
    """A plan for one part of it."""
    if len(plan.parts) == 1:
        return plan
    from ..resolve.parts import unfilled

    names = unfilled(part)
    said = f"this is the {part.title}; start what runs beside it by its --role"
    return plan.replace(
        parts=(part,),
        processes=(part.plan,) if part.plan is not None else (),
        left=tuple(each for each in plan.left if each.name in names),
        said=(said, *plan.said),
    )


def _become_part(plan: Plan, part: Part, settings: Settings, line: Sequence[str]) -> NoReturn:
    """Become a router, a store or what else runs beside the servers."""
    if not part.argv:
        raise UsageError(
            f"the recipe's command for the {part.title} needs a shell, and none is run",
            hint="print it with --dry-run, and run it by hand",
        )
    if settings["runtime"] in ("docker", "podman"):
        raise UsageError(
            f"no image is known for the {part.title}", hint="leave --runtime out: it runs natively"
        )
    from ..launch import become, program_path

    _refuse_unfilled(plan)
    path = os.environ.get("PATH")
    program_path(part.argv[0], path)
    _tell(plan)
    _tell_command(line)
    _check(plan, settings)
    _write_files(part)
    become(part.argv, {**_own_environment(), **dict(part.env)}, path)


def _tell_command(line: Sequence[str]) -> None:
    """The launcher's own command, for whoever reads the server's log, diagnose above all."""
    from ..diagnose.retry import STARTED_AS

    remark(f"{STARTED_AS}{' '.join(quote(word) for word in ('vllm-launch', *line))}\n")


def _own_environment() -> dict[str, str]:
    """This process's variables, without the launcher's own."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith("VLLM_LAUNCH_")
    }


def _check(plan: Plan, settings: Settings) -> None:
    """Run the checks; what fails stops a launch on the host that was planned for.

    With --hardware the operator says what this machine is: findings are told, and stop nothing.
    Raises CheckFailed.
    """
    from ..render.findings import reviews_text
    from .reviews import require_known_codes, reviews_of, stops

    require_known_codes(settings)
    reviews = reviews_of(plan, settings)
    if any(found.severity != "note" for _, each in reviews for found in each.findings):
        remark(reviews_text(reviews, notes=False))
    if plan.facts is not None and settings["host_facts"] is None and stops(reviews, settings):
        raise CheckFailed(
            "a check failed, and nothing was started",
            hint="mend what is said above, or leave checks out: --skip CODE, --skip all",
        )


def _write_files(part: Part) -> None:
    """Write what the process reads before it is there."""
    if part.files:
        from .state import write_files

        write_files(part)


def _refuse_unfilled(plan: Plan) -> None:
    """Raise UsageError for a placeholder that nothing fills, naming each and its option."""
    if plan.left:
        what, options = left_words(plan.left)
        raise UsageError(f"not filled in: {what}", hint=f"give {options}")


def _print(plan: Plan, settings: Settings, setup: ContainerSetup | None) -> None:
    form = settings["output"] or "shell"
    if form == "json":
        from ..render.envelope import deployment_envelope

        shown = [(part, *part_command(plan, part, setup)[:2]) for part in plan.parts]
        answer(
            deployment_envelope(
                plan.deployment, plan.processes, setup, settings, plan.found.origin, shown
            )
        )
    else:
        writers = {"shell": _shell, "argv": _argv, "env": _env}
        answer(writers[form](plan, setup))
    _tell(plan)
    _write_lock(plan, setup, settings)


def _write_lock(plan: Plan, setup: ContainerSetup | None, settings: Settings) -> None:
    if settings["lock"]:
        from .lock import write

        write(plan, setup, settings)


def _shell(plan: Plan, setup: ContainerSetup | None) -> str:
    """Every process as shell text; evaluated, it gives exactly the words that would run."""
    if plan.parts:
        from ..render.parts import block

        titled = len(plan.parts) > 1
        return "\n".join(
            block(part, *part_command(plan, part, setup), titled=titled) for part in plan.parts
        )
    argv, variables = command_of(plan, plan.processes[0], setup)
    starts = () if setup is None else (argv.index(plan.deployment.image or ""),)
    return "\n".join([*exports(variables), command(argv, starts)]) + "\n"


def part_command(
    plan: Plan, part: Part, setup: ContainerSetup | None
) -> tuple[Sequence[str], Mapping[str, str], Sequence[int]]:
    """What runs one part: its words, its variables, and which words begin a line when shown."""
    if part.plan is None:
        return part.argv, dict(part.env), ()
    argv, variables = command_of(plan, part.plan, setup)
    return argv, variables, () if setup is None else (argv.index(plan.deployment.image or ""),)


def _argv(plan: Plan, setup: ContainerSetup | None) -> str:
    """One JSON list of words a process, in start order."""
    import json

    if plan.parts:
        words = [part_command(plan, part, setup)[0] for part in plan.parts]
    else:
        words = [command_of(plan, process, setup)[0] for process in plan.processes]
    return "".join(json.dumps(argv) + "\n" for argv in words)


def _env(plan: Plan, _: ContainerSetup | None) -> str:
    """NAME=VALUE lines, as env files have them. Raises UsageError for a value of several lines."""
    lines = []
    each_env = [(part.title, dict(part.env)) for part in plan.parts]
    for title, env in each_env or [("", plan.processes[0].env)]:
        lines += [f"# {title}\n"] if len(plan.parts) > 1 else []
        for name, value in env.items():
            if "\n" in value:
                raise UsageError(
                    f"{name} has several lines, which no env file can hold",
                    hint="use --output json",
                )
            lines.append(f"{name}={value}\n")
    return "".join(lines)


def _tell(plan: Plan) -> None:
    """What was chosen, filled in and left open, and what to know, on the standard error."""
    from ..render.summary import summary

    remark(summary(plan.deployment))
    remark("".join(f"# {line}\n" for line in plan.said))
    if plan.left:
        what, options = left_words(plan.left)
        remark(f"# not filled in: {what}{f': give {options}' if options else ''}\n")


def left_words(left: Sequence[Left]) -> tuple[str, str]:
    """Placeholders that are left with what each stands for, and the options that fill them."""
    shown = left if len(left) <= _SHOWN else left[: _SHOWN - 2]
    what = [f"${one.name} ({one.what})" if one.what else f"${one.name}" for one in shown]
    options = [f"--endpoint {one.name}=…" for one in shown if not one.by_itself]
    if len(left) > len(shown):
        what.append(f"and {len(left) - len(shown)} more")
        options.append("…")
    return ", ".join(what), " ".join(options)
