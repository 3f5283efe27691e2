"""vLLM's own configuration file: a process's options as YAML, its variables, and the command.

vLLM puts what the file says behind the model's name, in the file's order, and the command's own
words behind that. Of a key it makes an option with two dashes: true is the option alone, a list
one with several values, and anything else its text.
"""

from __future__ import annotations

from ..errors import UsageError
from ..render.shell import command, quote
from . import ExportFile, commented
from .filling import by_hand, file_text, filled_parts, has_foreign_path
from .yamltext import writable, yaml_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ..model.deployment import ProcessPlan
    from ..model.part import Part
    from ..model.source import Argument
    from . import Brief

# Options that name the model, or end before the file is read: they are the command's.
_OF_THE_COMMAND = ("--model", "--config", "--help")


def files(brief: Brief) -> tuple[ExportFile, ...]:
    """For each process its YAML, its variables and the command that uses both.

    ``brief.options["directory"]`` is where they will be; without it, where the command is run.
    Raises UsageError for a placeholder that nobody filled in, and for another server than vLLM's.
    """
    if brief.setup is not None:
        raise UsageError("vllm-config is for vLLM as it is installed", hint="leave --runtime out")
    if brief.deployment.dynamo is not None:
        raise UsageError(
            "Dynamo's worker reads no configuration file of vLLM's",
            hint="serve with vLLM alone: --frontend vllm",
        )
    directory = str(brief.options.get("directory") or ".")
    parts = filled_parts(brief, directory)
    found = {}
    for part in parts:
        name = f"{brief.name}-{part.name}" if len(brief.parts) > 1 else brief.name
        found.update({file.name: file for file in _of(part, name, directory, brief)})
    for part in parts:
        for file in part.files:
            found[file.name] = ExportFile(name=file.name, text=file_text(file))
    return tuple(found.values())


def _of(part: Part, name: str, directory: str, brief: Brief) -> Iterator[ExportFile]:
    """The files of one process; what is no server has no YAML."""
    argv = part.argv
    if part.plan is not None:
        data, rest = split(part.plan)
        text = f"{commented(brief)}\n{yaml_text(data)}"
        yield ExportFile(name=f"{name}.yaml", text=text)
        config = ("--config", f"{directory}/{name}.yaml")
        argv = (*part.plan.program, part.plan.model, *config, *rest)
    if part.env or brief.passed_by_name:
        mode = 0o600 if brief.passed_by_name else 0o644
        yield ExportFile(name=f"{name}.env", text=_variables(part, brief), mode=mode)
    yield _script(part, name, argv, directory, brief)


def split(plan: ProcessPlan) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A server's options for the file, and the words that stay in the command.

    An option that the file cannot have stays there with all that follow it: of two that mean the
    same the last holds, so none may come to stand behind one that it stood before.
    """
    data: dict[str, Any] = {}
    for number, argument in enumerate(plan.arguments):
        pair = _entry(argument)
        if pair is None or pair[0] in data:
            rest = plan.arguments[number:]
            return data, tuple(token for _, tokens, _ in rest for token in tokens)
        data[pair[0]] = pair[1]
    return data, ()


def _entry(argument: Argument) -> tuple[str, Any] | None:
    """A key and its value; None for what vLLM would read otherwise out of a file."""
    _, tokens, _ = argument
    flag, equals, value = tokens[0].partition("=")
    values = (value, *tokens[1:]) if equals else tokens[1:]
    if not flag.startswith("--") or flag == "--" or flag in _OF_THE_COMMAND:
        return None
    if equals and (len(values) > 1 or value.startswith("-")):
        return None
    if not values:
        return flag[2:], True
    if len(values) > 1:
        return flag[2:], [_value(each) for each in values]
    return flag[2:], _value(values[0])


def _value(text: str) -> str | int | float:
    """A number where its text is just the same again, and text otherwise."""
    whole, point, fraction = text.partition(".")
    if not (whole.isascii() and whole.isdecimal() and len(whole) < 16):
        return text
    if not point:
        return int(text) if str(int(text)) == text else text
    plain = fraction.isascii() and fraction.isdecimal() and repr(float(text)) == text
    return float(text) if plain else text


def _variables(part: Part, brief: Brief) -> str:
    """The variables as a shell reads them; of secrets the names."""
    lines = [f"{_name(name)}={quote(writable(value))}\n" for name, value in part.env]
    named = "".join(f"#{name}=\n" for name in brief.passed_by_name)
    secrets = f"# Taken from the environment, or from here:\n{named}" if named else ""
    return f"{commented(brief)}\n{''.join(lines)}{secrets}"


def _name(name: str) -> str:
    plain = name.replace("_", "a")
    if plain.isascii() and plain.isalnum() and not name[0].isdigit():
        return name
    raise UsageError(f"{name!r} is no name that a shell takes for a variable")


def _script(part: Part, name: str, argv: Sequence[str], directory: str, brief: Brief) -> ExportFile:
    """The command, behind the variables. A recipe's PATH does not choose the program."""
    where = "" if directory.startswith("/") else " It is run where these files are."
    notes = ("", f"Starts the {part.title}.{where}", *by_hand(brief))
    lines = ["#!/bin/sh\n", commented(brief.replace(header=(*brief.header, *notes)))]
    if part.env or brief.passed_by_name:
        lines.append(f"set -a\n. {quote(f'{directory}/{name}.env')}\nset +a\n")
    starts = [i for i, word in enumerate(argv) if word == "--config"][:1]
    words = [writable(word) for word in argv]
    line = command(words, starts)
    if has_foreign_path(part):
        lines.insert(2, f'set -- "$(command -v {quote(words[0])})"\n')
        line = '"$1"' + line.removeprefix(quote(words[0]))
    lines.append(f"exec {line}\n")
    return ExportFile(name=f"{name}.sh", text="".join(lines), mode=0o755)
