"""One list by itself: what stands in it twice, or against itself; and mandatory flags."""

from __future__ import annotations

from ..model.flags import long
from .fault import at
from .flags import canonical_switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.recipe import Recipe
    from .fault import Fault
    from .written import Block, Written


def consistent(block: Block) -> Iterator[Fault]:
    """Flags that a list has twice, and switches that it turns on and off."""
    before: dict[str, tuple[Written, bool]] = {}
    for one in block.arguments:
        given = one.given
        if not given.flag or len(given.written.split()) > 1:
            continue
        name = f"{given.flag}.{given.key}" if given.key else given.flag
        stem, on = canonical_switch(name)
        earlier = before.get(stem)
        before[stem] = one, on
        if earlier is not None and (earlier[0].given.flag == given.flag or earlier[1] is not on):
            yield _again(earlier[0], one)


def _again(earlier: Written, one: Written) -> Fault:
    line = f"line {earlier.spot.line}"
    if earlier.given.flag != one.given.flag:
        return at(
            one.spot, "LINT_CONTRADICTION", "error",
            f"{one.given.written} contradicts {earlier.given.written} on {line}",
            "Keep one of them: the last one counts.",
        )  # fmt: skip
    if earlier.given.values == one.given.values:
        return at(
            earlier.spot, "LINT_REPEATED", "warning",
            f"{earlier.given.written} stands again on line {one.spot.line}, with the same value",
            "Keep one of them.",
        ).replace(edits=tuple(word.replaced() for word in earlier.words))  # fmt: skip
    return at(
        one.spot, "LINT_TWICE", "error",
        f"{one.given.written} is {one.given.text!r} here, and {earlier.given.text!r} on {line}",
        "Keep one of them: the last one counts.",
    )  # fmt: skip


def mandatory_kept(block: Block, recipe: Recipe) -> Iterator[Fault]:
    """Mandatory flags that a list gives other values."""
    needed = {_subject(flag): tokens for flag, tokens, _ in recipe.model.mandatory_args}
    if block.path == "model.mandatory_args":
        return
    for one in block.arguments:
        given = one.given
        words = needed.get(_subject(given.written))
        if words is not None and (_form(given.written), *given.values) != (
            _form(words[0]), *words[1:],
        ):  # fmt: skip
            yield at(
                one.spot, "LINT_MANDATORY", "error",
                f"{f'{given.written} {given.text}'.rstrip()} replaces {' '.join(words)}, which is "
                "mandatory for this model",
                "Give it the mandatory value, or change model.mandatory_args.",
            )  # fmt: skip
    for flag, spot in block.removed:
        if _subject(flag) in needed:
            yield at(
                spot, "LINT_MANDATORY", "error", f"{flag} is removed, and it is mandatory",
                "Keep it, or change model.mandatory_args.",
            )  # fmt: skip


def _form(flag: str) -> str:
    """A flag as all of its spellings are read."""
    return long(flag).partition("=")[0].removesuffix("+")


def _subject(flag: str) -> str:
    """What a flag is about, whichever way a switch of it is thrown."""
    return canonical_switch(_form(flag))[0]
