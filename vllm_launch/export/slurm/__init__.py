"""One sbatch script that runs a whole deployment; the nodes need no launcher."""

from __future__ import annotations

from ...errors import UsageError
from ...resolve.container import files_read, own_hub_cache
from ...resolve.endpoints import names_in
from ...resolve.parts import parts
from ...resolve.placeholders import address_parts, fill_part, meaning
from .. import ExportFile, commented
from ..filling import recipe_names
from .commands import Given, commands
from .functions import function, settings, table
from .groups import NODE, OWN, groups
from .job import directives, main
from .runtime import ADDRESSES, INTERFACE, PROCESSES, WAITING
from .words import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...model.part import Part
    from .. import Brief
    from .commands import Command
    from .groups import Group

# The whole script is handed to each node as one argument, and Linux takes no longer one.
_LONGEST = 128 << 10


def files(brief: Brief) -> tuple[ExportFile, ...]:
    """The job's script. Raises UsageError for what Slurm could not run."""
    _refuse(brief)
    text = _script(brief)
    size = len(text.encode("utf-8", "surrogateescape"))
    if size >= _LONGEST:
        raise UsageError(
            f"the script has {size} bytes, and a node can be handed {_LONGEST - 1}",
            hint="put long values into files that all nodes share",
        )
    return (ExportFile(name=f"{brief.name}.sbatch", text=text, mode=0o755),)


def _refuse(brief: Brief) -> None:
    if brief.setup is not None:
        raise UsageError(
            f"--runtime {brief.setup.engine}: Slurm cannot end a container of its daemon",
            hint="leave it out, or run the image by enroot with --pyxis",
        )
    if [p.name for p in brief.parts] != [p.name for p in parts(brief.deployment)]:
        raise UsageError(
            "a Slurm job runs the whole deployment", hint="leave out --role and --node-rank"
        )


def _script(brief: Brief) -> str:
    brief = _with_hosts(brief)
    nodes_of, values, interface = _meanings(brief)
    given = _given(brief)
    made = commands(brief.parts, given)
    nodes = 1 + max(command.node for command in made)
    grouped = groups(made, nodes_of)
    inside = [g for g in grouped if not brief.options.get("pyxis") or g.command.in_image]
    outside = [g for g in grouped if g not in inside]
    beside = any(group.command.words for group in outside)
    used = _used(grouped)
    known = {
        **{name: f"${{addresses[{node}]}}" for name, node in nodes_of.items()},
        **{name: quoted(value) for name, value in values.items()},
        OWN: f"${{addresses[{NODE}]}}",
        "IFACE_NAME": f"$(interface_to {_head_address(given, interface)})",
    }
    waited = {wait.node for command in made for wait in command.waits if not wait.host}
    asked = {0} if interface and not _is_ipv4(given.nodes.get(0, "")) else set()
    addressed = sorted({*nodes_of.values(), *waited, *asked})
    return "\n".join(
        (
            _head(brief, nodes),
            *map(function, grouped),
            table("on_node_all", inside, nodes),
            *([table("on_node_beside", outside, nodes)] if beside else []),
            settings({name: text for name, text in known.items() if name in used})
            + (WAITING if any(command.waits for command in made) else "")
            + (INTERFACE if interface else "")
            + PROCESSES
            + (ADDRESSES if addressed else ""),
            main(brief, addressed, _caches(brief.parts), _files(brief.parts), beside),
        )
    )


def _head(brief: Brief, nodes: int) -> str:
    name = brief.name
    handed_on = ", ".join(brief.passed_by_name)
    lines = [
        "#",
        "# Submit it from a directory that all nodes share; options of sbatch win over these:",
        f"#   sbatch {name}.sbatch",
        f"# Its log is {name}-JOBID.log, and each process has one in {name}-JOBID/.",
        "# scancel JOBID ends all of it.",
        *([f"# Handed on from where it is submitted: {handed_on}."] if handed_on else []),
    ]
    return "\n".join(
        (
            "#!/bin/bash",
            commented(brief) + "\n".join((*lines, *directives(brief, nodes))),
            "",
            "set -euo pipefail",
            "",
        )
    )


def _meanings(brief: Brief) -> tuple[dict[str, int], dict[str, str], bool]:
    """Whose node's address each placeholder is, the values of others, and if one is an interface.

    Raises UsageError for those that nothing here can find.
    """
    whole = parts(brief.deployment)
    node = {part.name: part.node for part in whole}
    nodes_of: dict[str, int] = {}
    values: dict[str, str] = {}
    unknown: list[str] = []
    interface = False
    for name in dict.fromkeys(
        n for command in brief.parts for n in recipe_names(command) if command.argv
    ):
        found = meaning(name, brief.deployment, whole)
        if found.kind == "node" and found.part in node:
            nodes_of[name] = node[found.part]
        elif found.kind == "interface":
            interface = True
        elif found.default is not None:
            values[name] = found.default
        elif found.kind != "file":
            unknown.append(name)
    if unknown:
        raise UsageError(
            f"not filled in: {', '.join('$' + name for name in unknown)}",
            hint="give " + " ".join(f"--endpoint {name}=…" for name in unknown),
        )
    return nodes_of, values, interface


def _with_hosts(brief: Brief) -> Brief:
    """On one node a server that listens on one address is found at it."""
    whole = parts(brief.deployment)
    if len({part.node for part in whole}) > 1:
        return brief
    machines = address_parts(whole).items()
    values = {n: part.plan.address for n, part in machines if part.plan and part.plan.address}
    return brief.replace(parts=tuple(fill_part(part, values) for part in brief.parts))


def _given(brief: Brief) -> Given:
    """The addresses that the operator gave: a node's own is that of its first part."""
    found: dict[str, str] = {}
    nodes: dict[int, str] = {}
    for name, part in address_parts(parts(brief.deployment)).items():
        if name in brief.endpoints:
            found.setdefault(part.name, brief.endpoints[name])
            nodes.setdefault(part.node, brief.endpoints[name])
    return Given(parts=found, nodes=nodes)


def _head_address(given: Given, interface: bool) -> str:
    """The first node's address as bash has it, to which a route is looked for.

    Raises UsageError for one whose route a script could not find.
    """
    head = given.nodes.get(0)
    if head is None:
        return '"${addresses[0]}"'
    if interface and ":" in head:
        raise UsageError(
            f"no interface can be found by the route to {head}: it is no IPv4 address",
            hint="give --endpoint IFACE_NAME=…",
        )
    return quoted(head) if _is_ipv4(head) else '"${addresses[0]}"'


def _is_ipv4(host: str) -> bool:
    numbers = host.split(".")
    return len(numbers) == 4 and all(n.isascii() and n.isdecimal() for n in numbers)


def _used(grouped: Sequence[Group]) -> set[str]:
    """The variables of the script that its commands still name."""
    found: set[str] = set()
    for group in grouped:
        command = group.command
        words = (*command.words, *(value for _, value in command.env))
        found.update(text for word in words for kind, text in word if kind == "name")
        found.update(_in_files(command))
    return found


def _in_files(command: Command) -> Iterable[str]:
    import json

    return [name for file in command.files for name in names_in(json.dumps(file.content))]


def _caches(all_parts: Sequence[Part]) -> tuple[str, ...]:
    """Where the servers' own variables have the hub cache, which a container has to see."""
    return _mountable(own_hub_cache(part.plan) for part in all_parts if part.plan is not None)


def _files(all_parts: Sequence[Part]) -> tuple[str, ...]:
    """What a container has to see: local checkpoints, files that variables name."""
    plans = (part.plan for part in all_parts if part.plan is not None)
    return _mountable(path for plan in plans for path in files_read(plan))


def _mountable(paths: Iterable[str]) -> tuple[str, ...]:
    """The whole paths, each once; a file with a placeholder's name is written for the job.

    Raises UsageError for what pyxis would take apart.
    """
    found = tuple(p for p in dict.fromkeys(paths) if p.startswith("/") and not names_in(p))
    for path in found:
        if any(character in ":," or character.isspace() for character in path):
            raise UsageError(
                f"enroot cannot mount {path}: there is a colon, comma or space in it",
                hint="make a link to it under another name",
            )
    return found
