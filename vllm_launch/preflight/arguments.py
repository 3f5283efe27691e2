"""Flags and their values, as the target vLLM's parser takes them."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .plan import arguments
from .renames import FLAGS
from .target import target
from .unknown import unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.vllm import Option, VllmOptions
    from .plan import Given
    from .situation import Situation
    from .target import Target

BOOLEAN_WORDS = ("true", "false", "1", "0", "yes", "no", "on", "off")
_STOPS = "The server does not start."


def flags_known(situation: Situation) -> Iterable[Finding] | None:
    """Each flag, by the target's options."""
    options, at = situation.options, target(situation)
    if options is None or at is None:
        return None
    return [
        _unknown(situation, options, at, given)
        for given in arguments(situation.process)
        if given.flag not in ("", "--") and not is_known(options, given, at.among)
    ]


def is_known(options: VllmOptions, given: Given, among: int) -> bool:
    """Whether any of these releases takes a flag, in a long, a short or a joined form."""
    if options.having_flag(given.flag) & among:
        return True
    if given.flag.startswith("-O"):  # -O2 and -O=2 are a level; -O.KEY is nothing
        return not given.key
    short = given.flag[:2]  # -n2 is -n 2
    return (
        not given.flag.startswith("--")
        and len(given.flag) > 2
        and takes_value(options, short, among)
    )


def takes_value(options: VllmOptions, flag: str, among: int) -> bool:
    return any(form.kind == "value" and form.releases & among for form in options.forms(flag))


def _unknown(situation: Situation, options: VllmOptions, at: Target, given: Given) -> Finding:
    fuller = begun(options, given.flag, at.among)
    if len(fuller) == 1:
        return Finding(
            severity="note",
            what=f"{given.written} is short for {fuller[0]}",
            why="vLLM's parser completes what is unique, until a new option makes it ambiguous.",
            remedy=f"Write {fuller[0]}.",
            cause=given.flag,
            source=given.source,
        )
    return unknown(
        situation,
        at,
        given.written,
        given.flag,
        having=options.having_flag(given.flag),
        among=options.known("flags", at.among),
        consequence=_STOPS.lower(),
        instead=FLAGS.get(given.flag),
        cause=given.flag,
        source=given.source,
    )


def begun(options: VllmOptions, flag: str, among: int) -> list[str]:
    """The known options that a shortened flag may stand for."""
    if not flag.startswith("--") or len(flag) < 4:
        return []
    names = [name for name in options.known("flags", among) if name.startswith(flag)]
    return list(dict.fromkeys(options.forms(name)[0].flags[0] for name in names))


def values_right(situation: Situation) -> Iterable[Finding] | None:
    """How many values each flag has, their kind, and the choices there are."""
    options, at = situation.options, target(situation)
    if options is None or at is None:
        return None
    found = []
    for given in arguments(situation.process):
        if not given.flag:
            found.append(_stray(given))
            continue
        forms = forms_of(options, given, at.among)
        faults = [fault(options, form, given, at.among) for form in forms]
        if faults and all(faults):
            found.append(_wrong(given, faults[-1], at))
    return found


def forms_of(options: VllmOptions, given: Given, among: int) -> list[Option]:
    """The forms of an argument's option, also where its flag is shortened."""
    forms = [form for form in options.forms(given.flag) if form.releases & among]
    if not forms:
        fuller = begun(options, given.flag, among)
        if len(fuller) == 1:
            forms = [form for form in options.forms(fuller[0]) if form.releases & among]
    return forms


def _stray(given: Given) -> Finding:
    return Finding(
        severity="fail",
        what=f"{given.text!r} stands alone, without a flag before it",
        why=_STOPS,
        remedy="Put it behind its flag, or take it away.",
        source=given.source,
    )


def _wrong(given: Given, fault: str, at: Target) -> Finding:
    return Finding(
        severity="fail" if at.sure else "warn",
        what=f"{given.written} {fault}",
        why=_STOPS,
        remedy="Change it, or take it away.",
        cause=given.flag,
        source=given.source,
    )


def fault(options: VllmOptions, form: Option, given: Given, among: int) -> str:
    """What is wrong with a flag's values in one form of the option; "" for nothing."""
    count = len(given.values)
    if given.key:
        plain = form.kind != "value" or form.type in ("int", "float")
        return f"has no keys, found .{given.key}" if plain else ""
    if form.kind != "value":
        boolean = count == 1 and given.text.lower() in BOOLEAN_WORDS
        return "" if boolean or not count else f"takes no value, found {given.text!r}"
    if "$" in given.text:
        return ""
    if form.nargs == "+":
        if not count:
            return "takes values, none found"
    elif form.nargs == "?":
        if count > 1:
            return f"takes one value at most, found {given.text!r}"
    elif count != 1:
        return f"takes one value, found {given.text!r}" if count else "takes a value, none found"
    return next((f for value in given.values if (f := _mismatch(options, form, value, among))), "")


def _mismatch(options: VllmOptions, form: Option, value: str, among: int) -> str:
    """Whether a value is none of the choices, or not the number that it must be."""
    choices = options.known(f"choices:{form.flags[0]}", among & form.releases)
    if not choices:
        return _no_number(form.type, value)
    if spelt(form, value) in choices or (value == "" and "None" in choices):
        return ""
    return f"does not take {value!r}; it takes {_shown(choices, value)}"


def spelt(form: Option, value: str) -> str:
    """A choice as the option's parser reads it."""
    return value.lower().replace("-", "_") if form.type == "<lambda>" else value


def _shown(choices: list[str], value: str) -> str:
    """All choices where they are few, else the nearest ones."""
    if len(choices) <= 8:
        return ", ".join(choices)
    from difflib import get_close_matches

    near = get_close_matches(value, choices, n=3, cutoff=0.4)
    return ", ".join([*near, "…"]) if near else f"one of {len(choices)} others"


def _no_number(kind: str, value: str) -> str:
    number = value
    if kind in ("human_readable_int", "human_readable_int_or_auto"):
        if kind.endswith("auto") and value.lower() in ("auto", "-1"):
            return ""
        number = value[:-1] if value[-1:] in tuple("kKmMgGtT") and value[:-1] else value
        kind = "float"
    if kind not in ("int", "float"):
        return ""
    try:
        int(number) if kind == "int" else float(number)
    except ValueError:
        return f"takes a number, found {value!r}"
    return ""


CHECKS = (
    Check(
        code="FLAG_UNKNOWN",
        subject="arguments",
        about="flags against the options of the target vLLM",
        run=flags_known,
    ),
    Check(
        code="FLAG_VALUE",
        subject="arguments",
        about="values: how many, of which kind, among the choices",
        run=values_right,
    ),
)
