"""The bash functions that run each part, and the one that says which node runs which."""

from __future__ import annotations

from ...model.flags import is_flag
from .groups import NODE
from .words import in_document, quoted, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .commands import Command, Wait
    from .groups import Group


def function_name(group: Group) -> str:
    """A name that no program and no builtin has."""
    return "run_" + group.command.name.replace("-", "_")


def function(group: Group) -> str:
    """What runs a group's command; a comment where only a shell could run it."""
    command = group.command
    if not command.words:
        lines = [f"# {group.title}, by hand:", *(f"#   {t}" for t in command.text.splitlines())]
        return "\n".join(line.rstrip() for line in lines) + "\n"
    body = [*map(_wait, command.waits), *_files(command), *_place(command), *_exec(command)]
    return f"# {group.title}, on {_where(group)}\n{function_name(group)}() {{\n" + "".join(
        f"{line}\n" for line in (*body, "}")
    )


def _where(group: Group) -> str:
    if group.first == group.last:
        return f"node {group.first}"
    return f"nodes {group.first} to {group.last}"


def _wait(wait: Wait) -> str:
    host = quoted(wait.host) if wait.host else f'"${{addresses[{wait.node}]}}"'
    check = "healthy" if wait.health else "open"
    return f"  await {check} {wait.name} {host} {wait.port}"


def _files(command: Command) -> list[str]:
    """The files that a command reads, in the job's own directory and new at every start."""
    import json

    lines = []
    for file in command.files:
        lines.append(f"  local {file.placeholder}=$logs/$1.{quoted(file.name)}")
        content = in_document(json.dumps(file.content, indent=2))
        lines.append(f'  cat >"${file.placeholder}" <<END\n{content}\nEND')
    return lines


def _place(command: Command) -> list[str]:
    """A new directory for a registry that keeps its data in the one where it is started."""
    return ['  cd "$(mktemp -d)"'] if command.role == "etcd" else []


def _exec(command: Command) -> list[str]:
    """The command itself, one flag a line: env takes names that bash keeps for itself."""
    lines = ["exec env"] if command.env else ["exec"]
    lines += [f"{quoted(name)}={written(value)}" for name, value in command.env]
    program = written(command.words[0])
    if command.finds_program:
        program = f'"$(type -P -- {program})"'
    if command.env:
        lines.append(program)
    else:
        lines[-1] += f" {program}"
    for word in command.words[1:]:
        if word and word[0][0] == "text" and is_flag(word[0][1]):
            lines.append(written(word))
        else:
            lines[-1] += f" {written(word)}"
    return ["  " + " \\\n    ".join(lines)]


def settings(values: Mapping[str, str]) -> str:
    """The function that gives variables their values on a node; they are bash text."""
    lines = ["settle() {", '  logs=$1 addresses=("${@:2}")']
    lines += [f"  {name}={value}" for name, value in values.items()]
    return "\n".join([*lines, "}"]) + "\n"


def table(name: str, groups: Sequence[Group], nodes: int) -> str:
    """A function that starts what belongs on the node that it runs on."""
    rows: list[tuple[int, list[str]]] = []
    for node in range(nodes):
        calls = list(_calls(groups, node))
        if rows and rows[-1][1] == calls:
            rows[-1] = (node, calls)
        else:
            rows.append((node, calls))
    if len(rows) == 1:
        return "\n".join([f"{name}() {{", *(f"  {call}" for call in rows[0][1]), "}"]) + "\n"
    lines = [f"{name}() {{"]
    for index, (_, calls) in enumerate(rows):
        lines.append(_condition(rows, index))
        lines += [f"    {call}" for call in calls or ["exec sleep infinity"]]
    return "\n".join([*lines, "  fi", "}"]) + "\n"


def _condition(rows: Sequence[tuple[int, list[str]]], index: int) -> str:
    """The beginning of a row, which ends with its last node; the last one takes the rest."""
    if index == len(rows) - 1:
        return "  else"
    last, before = rows[index][0], rows[index - 1][0] if index else -1
    test = "==" if last == before + 1 else "<="
    return f"  {'elif' if index else 'if'} (({NODE} {test} {last})); then"


def _calls(groups: Iterable[Group], node: int) -> Iterable[str]:
    for group in groups:
        if group.command.words and group.first <= node <= group.last:
            yield f"start {group.name} {function_name(group)}"
