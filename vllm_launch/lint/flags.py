"""Flags and their values, by the releases that a recipe allows."""

from __future__ import annotations

from ..model.flags import long
from ..preflight.arguments import begun, fault, forms_of, is_known, spelt, takes_value
from ..preflight.renames import DEPRECATED, FLAGS, SAME_VALUE
from ..preflight.switches import switch
from .fault import at
from .releases import nearest, of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.vllm import Option
    from ..preflight.plan import Given
    from .fault import Edit, Fault
    from .releases import Span
    from .written import Block, Written

_ANY = -1  # every release


def flags_known(block: Block, span: Span) -> Iterator[Fault]:
    """Each flag of a block."""
    for one in block.arguments:
        if one.given.flag in ("", "--") or _is_glued(one):
            continue
        found = _flag(one, span)
        if found is not None:
            yield found
        elif one.given.flag in DEPRECATED:
            since, text = DEPRECATED[one.given.flag]
            yield at(
                one.spot, "LINT_DEPRECATED", "note",
                f"{one.given.written} is deprecated since {since}: {text}",
            )  # fmt: skip
    for flag, spot in block.removed:
        if not span.foreign and not span.options.having_flag(long(flag).partition(".")[0]):
            yield at(
                spot, "LINT_UNKNOWN", "warning", f"{flag} is no flag, so nothing is removed",
                "Correct it, or take it away.",
            )  # fmt: skip


def _is_glued(one: Written) -> bool:
    """Whether one element holds a flag and its value."""
    return len(one.given.written.split()) > 1


def _flag(one: Written, span: Span) -> Fault | None:
    options, given = span.options, one.given
    having = options.having_flag(given.flag)
    if not having and is_known(options, given, _ANY):
        return None
    if not having:
        fuller = begun(options, given.flag, span.newest)
        if len(fuller) == 1 and not span.foreign:
            return at(
                one.spot, "LINT_SHORT", "note", f"{given.written} is short for {fuller[0]}",
                f"Write {fuller[0]}: a new option can make it ambiguous.",
            )  # fmt: skip
    instead = FLAGS.get(given.flag)
    near = "" if having or span.foreign else _near(span, given)
    found = of_name(span, one.spot, "the flag", given.written, having, instead=instead, near=near)
    if found is not None and found.code == "LINT_RENAMED" and given.flag in SAME_VALUE:
        return found.replace(edits=_renamed(one, str(instead)))
    return found


def _near(span: Span, given: Given) -> str:
    return nearest(given.flag, span.options.known("flags", span.newest))


def _renamed(one: Written, instead: str) -> tuple[Edit, ...]:
    """Another flag in its place; its value stays."""
    first = one.words[0]
    _, equals, value = first.text.partition("=")
    flag, *more = instead.split()
    return (first.replaced(f"{flag}{equals}{value}", *more),)


def values_right(block: Block, span: Span) -> Iterator[Fault]:
    """How many values each flag has, their kind, and the choices there are."""
    for one in block.arguments:
        if not one.given.flag:
            yield at(
                one.spot, "LINT_STRAY", "error",
                f"{one.given.text!r} stands alone, without a flag before it",
                "Put it behind its flag, or take it away.",
            )  # fmt: skip
        elif _is_glued(one):
            yield from _glued(one, span)
        elif not block.merged:
            yield from _value(one, span)


def _glued(one: Written, span: Span) -> Iterator[Fault]:
    """A flag and its value in one element: vLLM sees one long flag that it does not know."""
    first = one.words[0]
    flag, value = first.text.split(None, 1)
    many = any(form.nargs == "+" for form in span.options.forms(flag)) and value[0] != "{"
    values = value.split() if many else [value]
    shown = ", ".join(map(repr, (flag, *values)))
    yield at(
        one.spot, "LINT_ONE_ELEMENT", "error",
        f"{first.text!r} is one element, and vLLM takes it for one flag",
        f"Make two elements of it, {flag!r} and {value!r}." if len(values) == 1
        else f"Make an element of each word: {shown}.",
    ).replace(edits=(first.replaced(flag, *values),))  # fmt: skip
    having = span.options.having_flag(flag.partition("=")[0])
    found = of_name(span, one.spot, "the flag", flag, having, instead=FLAGS.get(flag))
    if found is not None:
        yield found


def _value(one: Written, span: Span) -> Iterator[Fault]:
    options, given = span.options, one.given
    instead = switch(options, given, span.newest)
    if instead is not None:
        yield _boolean(one, instead)
        return
    forms = forms_of(options, given, span.newest)
    faults = [fault(options, form, given, span.newest) for form in forms]
    wrong = bool(faults) and all(faults)
    choices = list(_choices(one, span, forms))
    yield from choices
    if wrong and not choices:
        yield _wrong(one, span, faults[-1])


def _wrong(one: Written, span: Span, text: str) -> Fault:
    ahead = bool(span.ahead or span.foreign)
    if one.given.text in span.unreleased:
        return at(
            one.spot, "LINT_UNRELEASED", "note",
            f"{one.given.written} {text}; model.unreleased says so",
        )  # fmt: skip
    return at(
        one.spot, "LINT_VALUE", "warning" if ahead else "error", f"{one.given.written} {text}",
        f"Correct it: the server {f'in {span.pinned} ' if span.pinned else ''}does not start.",
    )  # fmt: skip


def _choices(one: Written, span: Span, forms: list[Option]) -> Iterator[Fault]:
    """Values that only some releases offer among a flag's choices."""
    if not forms or one.given.key:
        return
    form = forms[-1]
    names = span.options.names.get(f"choices:{form.flags[0]}", {})
    offered = 0
    for bits in names.values():
        offered |= bits
    for value in one.given.values:
        having = names.get(spelt(form, value), 0)
        if not offered & span.newest:
            yield from _refused_before(one, span, value, offered & span.among & ~having)
        elif having:  # in releases without choices any value goes
            found = of_name(
                span, one.spot, f"the choice {one.given.written}", value, having | ~offered
            )
            if found is not None:
                yield found


def _refused_before(one: Written, span: Span, value: str, refusing: int) -> Iterator[Fault]:
    """A value that older releases refuse, where the newest no longer lists what it takes."""
    if refusing and value not in span.unreleased and "$" not in value:
        releases = span.options.releases
        last = refusing.bit_length() - 1
        yield at(
            one.spot, "LINT_VALUE", "note" if span.image or span.foreign else "warning",
            f"{one.given.written} does not take {value!r} up to {releases[last]}, "
            f"and {span.oldest}",
            f"Correct it, or raise min_vllm_version to {releases[last + 1]}, "
            "which does not say which values it takes.",
        )  # fmt: skip


def _boolean(one: Written, instead: str) -> Fault:
    """A switch with true or false behind it."""
    given, first = one.given, one.words[0]
    edits: list[Edit] = [first.replaced(*((instead,) if instead else ()))]
    edits += [word.replaced() for word in one.words[1:]]
    if edits[0].words == (first.text,):
        del edits[0]
    return at(
        one.spot, "LINT_BOOLEAN", "error", f"{given.written} takes no value, found {given.text!r}",
        f"Write {instead} alone." if instead else f"Leave {given.written} out.",
    ).replace(edits=tuple(edits))  # fmt: skip


def canonical_switch(flag: str) -> tuple[str, bool]:
    """What a switch is about, and whether this form of it switches that on."""
    flag, on = long(flag), True
    for prefix, positive in (("--no-", "--"), ("--disable-", "--enable-")):
        if flag.startswith(prefix):
            flag, on = f"{positive}{flag.removeprefix(prefix)}", not on
    return flag, on


__all__ = ["canonical_switch", "flags_known", "takes_value", "values_right"]
