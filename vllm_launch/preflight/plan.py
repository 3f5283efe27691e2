"""Read a process plan as vLLM's own parser would."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.deployment import ProcessPlan
    from ..model.source import Arguments, Source

_NEGATIVE = {"--enable-": "--disable-", "--disable-": "--enable-"}


class Given(Record):
    """One argument as given."""

    flag: str  # its long name, without a dotted key
    key: str  # what stands behind the first dot: "moe" of --quantization-config.moe
    written: str  # the flag as written, without a value
    values: tuple[str, ...]
    source: Source

    @property
    def text(self) -> str:
        """Its value as one text."""
        return " ".join(self.values)


# The arguments read last, and what they were read as: a hundred questions are asked of one plan.
_READ: list[tuple[Arguments, tuple[Given, ...]]] = [((), ())]


def arguments(process: ProcessPlan) -> tuple[Given, ...]:
    """The process's arguments."""
    known, given = _READ[0]
    if known is not process.arguments:
        given = tuple(_given(process))
        _READ[0] = (process.arguments, given)
    return given


def _given(process: ProcessPlan) -> list[Given]:
    found: list[Given] = []
    for flag, tokens, source in process.arguments:
        if flag in process.own_options:
            continue
        bare, equals, joined = flag.partition("=")
        name, _, key = bare.partition(".")
        values = tokens[1:] if flag else tokens
        found.append(
            Given(
                flag=name,
                key=key.removesuffix("+"),
                written=tokens[0].partition("=")[0] if flag else "",
                values=(joined, *values) if equals else values,
                source=source,
            )
        )
    return found


def last(process: ProcessPlan, flag: str) -> Given | None:
    """The last argument of a flag, which is the one that counts."""
    same = [one for one in arguments(process) if one.flag == flag and not one.key]
    return same[-1] if same else None


def value(process: ProcessPlan, flag: str) -> str | None:
    """A flag's value, or None where it is absent or has none."""
    one = last(process, flag)
    return one.values[0] if one and one.values else None


def number(process: ProcessPlan, flag: str, default: int = 1) -> int:
    """A flag's value as a number; the default where it is none."""
    text = value(process, flag)
    return int(text) if text is not None and _is_integer(text) else default


def _is_integer(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdecimal()


def is_on(process: ProcessPlan, flag: str) -> bool:
    """Whether a boolean flag is on: the last of its forms says."""
    off = {f"--no-{flag[2:]}"}
    off |= {other + flag[len(p) :] for p, other in _NEGATIVE.items() if flag.startswith(p)}
    state = False
    for one in arguments(process):
        if one.flag == flag:
            state = True
        elif one.flag in off:
            state = False
    return state


def loads(text: str, *, suffixes: bool = True) -> Any:
    """A JSON value, with ``suffixes`` as vLLM reads it: 80G is a number. Raises ValueError."""
    import json

    try:
        return json.loads(text)
    except ValueError:
        plain = _expanded(text) if suffixes else text
        if plain == text:
            raise
        return json.loads(plain)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _expanded(text: str) -> str:
    """JSON text with 1k, 2M and the like written out, outside of strings."""
    import re

    parts = re.split(r'("(?:[^"\\]|\\.)*")', text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b", _written_out, parts[i])
    return "".join(parts)


def _written_out(match: Any) -> str:
    text: str = match.group()
    power = "kmgt".index(text[-1].lower()) + 1
    base = 1000 if text[-1].islower() else 1024
    return str(int(float(text[:-1]) * base**power))


def config(process: ProcessPlan, flag: str) -> dict[str, Any]:
    """A flag's JSON mapping; keys given one by one replace the whole. Broken JSON is empty."""
    dotted = [one for one in arguments(process) if one.flag == flag and one.key and one.values]
    if dotted:
        merged: dict[str, Any] = {}
        for one in dotted:
            _put(merged, one.key.split("."), one.values[0])
        return merged
    text = value(process, flag)
    try:
        found = loads(text) if text is not None else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _put(mapping: dict[str, Any], keys: list[str], text: str) -> None:
    for key in keys[:-1]:
        below = mapping.setdefault(key, {})
        if not isinstance(below, dict):
            return
        mapping = below
    try:
        mapping[keys[-1]] = loads(text)
    except ValueError:
        mapping[keys[-1]] = text


def placeholders(text: str) -> list[str]:
    """The names of placeholders such as $HEAD_IP in a text."""
    if "$" not in text:
        return []
    import re

    return [a or b for a, b in re.findall(r"\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*))", text)]


def place(process: ProcessPlan, flag: str) -> Source | None:
    """Where the argument of a flag that counts comes from, dotted forms included."""
    return next((one.source for one in reversed(arguments(process)) if one.flag == flag), None)


def source_of(process: ProcessPlan, name: str) -> Source | None:
    """Where a variable of the plan comes from."""
    return next((source for key, _, source in process.variables if key == name), None)
