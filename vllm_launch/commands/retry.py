"""The command to try next, out of the one that failed and what is to be changed of it."""

from __future__ import annotations

from ..commandline import parse, split
from ..diagnose.started import STARTED_AS
from ..diagnose.symptom import NEXT_PORT
from ..model.flags import is_flag, long
from ..options import COMMANDS, GLOBAL
from ..render.shell import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from ..diagnose import Diagnosis, Try
    from ..options import Command

# Options, and vLLM's flags for them.
_SETS = {
    "tp": "--tensor-parallel-size",
    "port": "--port",
    "prefill_port": "--port",
    "decode_port": "--port",
}
_OPPOSITE = {"feature": "no_feature", "no_feature": "feature"}
_HIDDEN = "…"  # what stands for a secret
# What the next command does not keep: --skip would have check see nothing, and a lock holds the
# very launch that failed.
_LEFT_OUT = {"check": ("skip",), "serve": ("locked",)}


def started_as(line: Sequence[str]) -> str:
    """The line by which ``started_by`` knows the launcher's command, out of its words."""
    return f"{STARTED_AS}{' '.join(quote(word) for word in ('vllm-launch', *line))}\n"


def next_command(diagnosis: Diagnosis, started: Sequence[str]) -> str:
    """The command to try, as shell text; "" where there is none."""
    if diagnosis.next.instead:
        return diagnosis.next.instead
    words = retried(started, diagnosis.next)
    return " ".join(quote(word) for word in ("vllm-launch", *words)) if words else ""


def retried(started: Sequence[str], step: Try) -> tuple[str, ...]:
    """The launcher's command that takes a step.

    None where the step is another's, or would be the very command that failed.
    """
    if step.instead or not (step.options or step.flags or step.subcommand != "serve"):
        return ()
    own, behind = split(started or ("serve", "MODEL"))
    failed, passed = parse(own), behind or []
    if failed is None:
        return ()
    target = next(command for command in COMMANDS if command.name == step.subcommand)
    changed = _step(target, step.options)
    if changed.get("port") == NEXT_PORT:
        changed["port"] = str(_port(failed.given, passed) + 1)
    if "port" in changed:
        changed[_port_option(failed.given)] = changed.pop("port")
    given = _changed(_taken(failed.given, target), changed)
    flags = [*(_SETS[name] for name in changed if name in _SETS), *filter(is_flag, step.flags)]
    after = [*_without(passed, flags), *step.flags] if target.passes_on else []
    if (target, given, sorted(after)) == (failed.command, failed.given, sorted(passed)):
        return ()
    return (
        *_words(GLOBAL, given),
        target.name,
        *((failed.argument,) if failed.argument and target.argument else ()),
        *_words(target.options, given),
        *(("--", *after) if after else ()),
    )


def _port_option(given: Mapping[str, Any]) -> str:
    """The option for the server's port: a pool's is known to whatever asks it as well."""
    role = given.get("role")
    pool = role in ("prefill", "decode") and "port" not in given
    return f"{role}_port" if pool else "port"


def _port(given: Mapping[str, Any], passed: Sequence[str]) -> int:
    """The HTTP port of the launch that failed; vLLM's own where nothing sets it."""
    said = [given.get("port", ""), given.get(_port_option(given), "")]
    for word, follower in zip(passed, (*passed[1:], ""), strict=False):
        flag, _, joined = long(word).partition("=")
        if flag == "--port":
            said.append(joined or follower)
    ports = [int(text) for text in said if text.isdecimal() and int(text[:6]) < 65535]
    return ports[-1] if ports else 8000


def _step(target: Command, options: Sequence[str]) -> dict[str, Any]:
    """The options of a step, by their names."""
    read = parse((target.name, *(("MODEL",) if target.argument else ()), *options))
    assert read is not None  # a test holds every step to it
    return read.given


def _taken(given: Mapping[str, Any], target: Command) -> dict[str, Any]:
    """What another command takes of the options that were given."""
    options = {option.name: option for option in (*GLOBAL, *target.options)}
    left_out = _LEFT_OUT.get(target.name, ())
    return {
        name: [_without_secret(each) for each in value] if name == "env" else value
        for name, value in given.items()
        if name in options and name not in left_out
        if not options[name].choices or value in options[name].choices
    }


def _without_secret(variable: str) -> str:
    """A variable whose value is not known any more is passed on by its name."""
    name, _, value = variable.partition("=")
    return name if value == _HIDDEN else variable


def _changed(given: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Options, with those of a step in the place of what they replace."""
    after = dict(given)
    for name, value in changes.items():
        if isinstance(value, list):
            names = {each.partition("=")[0] for each in value}
            for one in {name, _OPPOSITE.get(name, name)} & after.keys():
                after[one] = [each for each in after[one] if each.partition("=")[0] not in names]
            after[name] = [*after.pop(name, ()), *value]
        elif (name, after.get(name)) != ("runtime", "podman"):  # it is a container as well
            after.pop(name, None)
            after[name] = value
    return {name: value for name, value in after.items() if value != []}


def _without(words: Sequence[str], flags: Iterable[str]) -> Iterator[str]:
    """vLLM's arguments without some flags, however they are spelt or cut short."""
    dropping = False
    for word in words:
        if is_flag(word):
            name = long(word).partition("=")[0]
            dropping = name in flags or (
                len(name) > len("--x") and any(flag.startswith(name) for flag in flags)
            )
        if not dropping:
            yield word


def _words(options: Sequence[Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Options as they are typed, in the order in which they were given."""
    flags = {
        option.name: next(flag for flag in option.flags if flag.startswith("--"))
        for option in options
    }
    for name, value in given.items():
        if name not in flags:
            continue
        for each in value if isinstance(value, list) else (value,):
            if each is True:
                yield flags[name]
            elif each.startswith("-") and each != "-":
                yield f"{flags[name]}={each}"
            else:
                yield from (flags[name], each)
