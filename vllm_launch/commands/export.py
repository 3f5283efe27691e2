"""export: write a deployment as the files of an engine that runs it."""

from __future__ import annotations

import os

from .. import __version__
from ..errors import UsageError
from ..export import Brief
from ..model.part import Part
from ..model.secrets import concealed
from ..options import TARGETS
from ..render.shell import quote
from ..resolve.parts import parts as parts_of
from ..streams import answer, remark
from .container import container_setup
from .endpoints import endpoints_of
from .plan import make_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ..commandline import Invocation
    from ..export import ExportFile
    from ..settings import Settings
    from .plan import Plan

_LONGEST = 43  # characters: of a DNS label's 63 some are left for suffixes
# Of a name that nobody asked for: what every target takes, and a DisaggregatedSet.
_LONGEST_OWN = {False: 36, True: 28}


def run(invocation: Invocation, settings: Settings) -> int:
    """Print the files, or write them into a directory."""
    target = settings["to"]
    if target is None:
        raise UsageError("export needs a target", hint="give --to, as in --to slurm")
    _refuse_options_of_others(target, invocation, settings)
    exporter = _exporter(target)
    plan = make_plan(invocation, settings)
    brief = _brief(plan, invocation, settings)
    files = exporter(brief)
    if settings["submit"] and target == "slurm":
        from .submit import submit

        submit(files[0], settings["out"])
    elif settings["out"]:
        from .written import write_all

        kept = write_all(settings["out"], files)
        done = [("kept" if file.name in kept else "wrote", file.name) for file in files]
        remark("".join(f"# {verb} {settings['out']}/{name}\n" for verb, name in done))
    else:
        answer(_printed(files))
    from ..render.summary import summary

    remark(_left_out(brief) + summary(plan.deployment))
    return 0


def _left_out(brief: Brief) -> str:
    """What the files do not start."""
    titles = ", ".join(part.title for part in brief.parts if not part.argv)
    if not titles:
        return ""
    return f"# to be started by hand, for it needs a shell: {titles}; see the comments\n"


def _refuse_options_of_others(target: str, invocation: Invocation, settings: Settings) -> None:
    """Raise UsageError for an option given for this run whose help begins with other targets."""
    for option in invocation.command.options:
        targets = option.help.partition(": ")[0].split(", ")
        source = settings.source(option.name)
        own = target in targets or not set(TARGETS).issuperset(targets)
        if source.startswith("-") and not own:
            raise UsageError(f"{source} is for --to {' and '.join(targets)}", hint="leave it out")


def _exporter(target: str) -> Callable[[Brief], Sequence[ExportFile]]:
    """The target's own function; only its module is loaded."""
    if target == "compose":
        from ..export.compose import files

        return files
    if target == "kubernetes":
        from ..export.kubernetes import files

        return files
    if target == "systemd":
        from ..export.systemd import files

        return files
    if target == "vllm-config":
        from ..export.vllm_config import files

        return files
    if target == "slurm":
        from ..export.slurm import files

        return files
    raise UsageError(f"no such target: {target}")


def _printed(files: Sequence[ExportFile]) -> str:
    """One file as it is; several with their names between them."""
    if len(files) == 1:
        return files[0].text
    return "\n".join(f"# file: {file.name}\n{file.text}" for file in files)


def _brief(plan: Plan, invocation: Invocation, settings: Settings) -> Brief:
    shown = {option.name for option in invocation.command.options}
    return Brief(
        name=_name(plan, settings),
        deployment=plan.deployment,
        parts=_parts(plan),
        header=tuple(_header(plan, invocation)),
        setup=container_setup(plan, settings, "docker" if settings["to"] == "compose" else None),
        endpoints=endpoints_of(settings),
        passed_by_name=plan.passed_by_name,
        options={
            **{name: value for name, value, _ in settings if name in shown},
            **_of_this_machine(plan, settings),
        },
    )


def _of_this_machine(plan: Plan, settings: Settings) -> dict[str, Any]:
    """Where files and programs are and who runs them, for a target that has to say so."""
    if settings["to"] == "vllm-config" and settings["out"]:
        return {"directory": os.path.abspath(settings["out"])}
    if settings["to"] != "systemd":
        return {}
    from .programs import programs_of, service_user

    return {
        "programs": programs_of(_parts(plan), settings),
        "service_user": service_user(settings),
    }


def _parts(plan: Plan) -> tuple[Part, ...]:
    """The parts asked for, of a server alone its only one."""
    return plan.parts or parts_of(plan.deployment)


def _name(plan: Plan, settings: Settings) -> str:
    """The name of the whole, as DNS takes it. Raises UsageError for one that it does not."""
    asked = settings["name"]
    if asked is not None:
        if asked != _label(asked):
            raise UsageError(
                f"{settings.source('name')}: found {asked!r}; expected lower case letters, digits "
                f"and dashes, {_LONGEST} at most",
                hint=f"for example {_label(asked) or 'minimax-m3'}",
            )
        return str(asked)
    longest = _LONGEST_OWN[bool(settings["disaggregated_set"])]
    return _cut(_label(plan.deployment.recipe.id.rpartition("/")[2]), longest) or "vllm"


def _label(text: str) -> str:
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return "-".join(filter(None, kept.split("-")))[:_LONGEST].strip("-")


def _cut(label: str, longest: int) -> str:
    """As many of a label's words as there is room for."""
    if len(label) <= longest:
        return label
    return label[: longest + 1].rpartition("-")[0] or label[:longest]


def _header(plan: Plan, invocation: Invocation) -> Iterator[str]:
    """The recipe and its revision, the choice, and the command that made the file."""
    choice = plan.deployment.choice
    yield f"{plan.deployment.recipe.id}, by vllm-launch {__version__}"
    yield f"recipe: {_revision(plan)}"
    nodes = f" × {choice.nodes} nodes" if choice.nodes > 1 else ""
    features = ", ".join(
        name if mode is None else f"{name}={mode}" for name, mode in choice.features
    )
    yield (
        f"choice: {choice.hardware.id}{nodes}, {choice.strategy}, variant {choice.variant}, "
        f"features {features or 'none'}"
        + (f", preset {choice.preset}" if choice.preset else "")
        + (f":{choice.point}" if choice.point else "")
        + (f", KV {choice.kv_offload}" if choice.kv_offload else "")
    )
    line = (quote(concealed(word)) for word in ("vllm-launch", *invocation.line))
    yield f"command: {' '.join(line)}"


def _revision(plan: Plan) -> str:
    """The recipe's source, its revision and the hash of what was read."""
    origin = plan.found.origin
    where = plan.found.recipe.where.file
    parts = [where, f"from {origin.source}", origin.revision, origin.digest]
    return ", ".join(part for part in parts if part)
