"""What a vLLM said of itself, checked for its shape and put among the releases that are known.

The answer comes out of a child, or out of an image that may be anyone's: it is data, of limited
size, of which nothing is taken that does not look as it must.
"""

from __future__ import annotations

import json

from ..model.record import Record
from ..model.vllm import Option, VllmOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MOST_BYTES = 4 << 20  # some forty times what a vLLM answers
_LONGEST = 300  # of a name: choices can be long
_LONGEST_REFUSAL = 400
_KINDS = ("value", "bool", "flag")
_LISTS = {  # the kinds of names, and what the collector calls them
    "variables": "env",
    "attention_backends": "attention_backends",
    "kv_connectors": "kv_connectors",
    "tool_parsers": "tool_parsers",
    "reasoning_parsers": "reasoning_parsers",
}


class Answer(Record):
    """One build of vLLM in its own words."""

    version: str  # "0.32.0+cpu"
    names: Mapping[str, tuple[str, ...]]  # as in VllmOptions, without "flags"
    options: tuple[Option, ...]
    refusals: tuple[tuple[str, str] | None, ...]  # of each command: the exception's name, its text


def read(data: bytes, commands: int) -> Answer:
    """The answer in the collector's output. Raises ValueError with what is wrong with it."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("its answer is no JSON") from None
    if not isinstance(found, dict):
        raise ValueError("its answer is no mapping")
    version = _name(found.get("build"), "build")
    names = {kind: _names(found.get(name), name) for kind, name in _LISTS.items()}
    for name, fields in _mapping(found.get("config_fields"), "config_fields").items():
        names[f"fields:{_name(name, 'config_fields')}"] = _names(fields, "config_fields")
    options = []
    for each in _list(found.get("options"), "options"):
        option, choices = _option(_mapping(each, "options"))
        options.append(option)
        if choices:
            names[f"choices:{option.flags[0]}"] = choices
    if not options:
        raise ValueError("its answer has no options")
    refusals = tuple(_refusal(one) for one in _list(found.get("refusals"), "refusals"))
    if len(refusals) != commands:
        raise ValueError(f"its answer judges {len(refusals)} commands of {commands}")
    return Answer(version=version, names=names, options=tuple(options), refusals=refusals)


def among(options: VllmOptions, answer: Answer, place: int) -> VllmOptions:
    """The releases with one more among them, behind as many as are no newer: the build itself."""
    bit = 1 << place
    names = {
        kind: {name: _widened(bits, place) for name, bits in known.items()}
        for kind, known in options.names.items()
    }
    for kind, present in answer.names.items():
        _add(names, kind, present, bit)
    forms = {
        flag: tuple(
            form.replace(
                releases=_widened(form.releases, place), deprecated=_widened(form.deprecated, place)
            )
            for form in known
        )
        for flag, known in options.options.items()
    }
    for option in answer.options:
        _add(names, "flags", option.flags, bit)
        form = option.replace(releases=bit, deprecated=bit if option.deprecated else 0)
        for flag in option.flags:
            forms[flag] = (*forms.get(flag, ()), form)
    releases = (*options.releases[:place], answer.version, *options.releases[place:])
    return VllmOptions(releases=releases, names=names, options=forms, asked=place)


def flags(option: Mapping[str, Any]) -> list[str]:
    """A collected option's flags without the --no-… forms, which every boolean option has.

    A parser that pairs --enable-x with --disable-x takes --no-enable-x too, and lists it not.
    """
    listed: list[str] = option["flags"]
    if option["kind"] != "bool":
        return listed
    negations = {f"--no-{flag[2:]}" for flag in listed}
    return [flag for flag in listed if flag not in negations]


def nargs(option: Mapping[str, Any]) -> str:
    """How many words a collected option's value is; "" for one, or for a switch."""
    return "" if option["nargs"] in (None, "0") else str(option["nargs"])


def _widened(bits: int, place: int) -> int:
    """A set of releases, with room made for one more that is not in it."""
    below = bits & ((1 << place) - 1)
    return below | (bits >> place) << (place + 1)


def _add(names: dict[str, dict[str, int]], kind: str, present: tuple[str, ...], bit: int) -> None:
    known = names.setdefault(kind, {})
    for name in present:
        known[name] = known.get(name, 0) | bit


def _option(found: dict[str, Any]) -> tuple[Option, tuple[str, ...]]:
    """One option, and its choices."""
    given = _names(found.get("flags"), "flags")
    kind, wanted = found.get("kind"), found.get("nargs")
    if not given or kind not in _KINDS or any(not flag.startswith("-") for flag in given):
        raise ValueError("its answer has an option that is none")
    if wanted is not None:
        _name(wanted, "nargs")
    plain = {"flags": list(given), "kind": kind, "nargs": wanted}
    option = Option(
        flags=tuple(flags(plain)) or given,
        kind=str(kind),
        type="" if found.get("type") is None else _name(found["type"], "type"),
        nargs=nargs(plain),
        deprecated=int(found.get("deprecated") is True),
    )
    choices = found.get("choices")
    return option, () if choices is None else _names(choices, "choices")


def _refusal(found: Any) -> tuple[str, str] | None:
    if found is None:
        return None
    pair = _list(found, "refusals")
    if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise ValueError("its answer has no refusals as they must be")
    name, text = pair
    said = " ".join(line for line in text.splitlines() if "For further information" not in line)
    return _line(name)[:_LONGEST], _shortened(_line(said)) or "without a word"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_REFUSAL else text[: _LONGEST_REFUSAL - 1] + "…"


def _line(text: str) -> str:
    """Text on one line, fit for a terminal."""
    return "".join(char for char in " ".join(text.split()) if char.isprintable())


def _names(found: Any, what: str) -> tuple[str, ...]:
    return tuple(_name(each, what) for each in _list(found, what))


def _name(found: Any, what: str) -> str:
    if not isinstance(found, str) or len(found) > _LONGEST or not found.isprintable():
        raise ValueError(f"its answer has no {what} as they must be")
    return found


def _list(found: Any, what: str) -> list[Any]:
    if not isinstance(found, list):
        raise ValueError(f"its answer has no list of {what}")
    return found


def _mapping(found: Any, what: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"its answer has no mapping of {what}")
    return found
