"""A plan as it is printed: its commands in four forms, and what to know of them."""

from __future__ import annotations

from ..errors import UsageError
from ..render.shell import command, exports
from ..streams import answer, remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.deployment import ProcessPlan
    from ..model.part import Part
    from ..resolve.container import ContainerSetup
    from ..settings import Settings
    from .filling import Unfilled
    from .plan import Plan

_SHOWN = 8  # names in one line


def print_plan(plan: Plan, settings: Settings, setup: ContainerSetup | None) -> None:
    """Print the plan on the standard output, in the form asked for."""
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


def command_of(
    plan: Plan, process: ProcessPlan, setup: ContainerSetup | None
) -> tuple[list[str], dict[str, str]]:
    """What runs one process: its words, and the variables that it is started with."""
    if setup is None:
        return process.argv, process.env
    from ..resolve.container import container_argv

    deployment = plan.deployment
    image = deployment.image or ""
    return container_argv(process, deployment.choice.hardware, image, setup), {}


def part_command(
    plan: Plan, part: Part, setup: ContainerSetup | None
) -> tuple[Sequence[str], Mapping[str, str], Sequence[int]]:
    """What runs one part: its words, its variables, and which words begin a line when shown."""
    if part.plan is None:
        return part.argv, dict(part.env), ()
    argv, variables = command_of(plan, part.plan, setup)
    return argv, variables, () if setup is None else (argv.index(plan.deployment.image or ""),)


def print_remarks(plan: Plan) -> None:
    """What was chosen, filled in and left open, and what to know, on the standard error."""
    from ..render.summary import summary

    remark(summary(plan.deployment))
    remark("".join(f"# {line}\n" for line in plan.remarks))
    if plan.unfilled:
        what, options = unfilled_words(plan.unfilled)
        remark(f"# not filled in: {what}{f': give {options}' if options else ''}\n")


def unfilled_words(left: Sequence[Unfilled]) -> tuple[str, str]:
    """Placeholders that are left with what each stands for, and the options that fill them."""
    shown = left if len(left) <= _SHOWN else left[: _SHOWN - 2]
    what = [f"${one.name} ({one.what})" if one.what else f"${one.name}" for one in shown]
    options = [f"--endpoint {one.name}=…" for one in shown if not one.by_itself]
    if len(left) > len(shown):
        what.append(f"and {len(left) - len(shown)} more")
        options.append("…")
    return ", ".join(what), " ".join(options)
