"""One list by itself: what stands in it twice, or against itself; and mandatory flags."""

from __future__ import annotations

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
    before: dict[str, Written] = {}
    for one in block.arguments:
        given = one.given
        if not given.flag or " " in given.written:
            continue
        name = f"{given.flag}.{given.key}" if given.key else given.flag
        stem, _ = canonical_switch(name)
        earlier = before.get(stem)
        before[stem] = one
        if earlier is not None:
            yield _again(earlier, one)


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
    needed = {flag.partition("=")[0]: tokens for flag, tokens, _ in recipe.model.mandatory_args}
    if block.path == "model.mandatory_args":
        return
    for one in block.arguments:
        words = needed.get(one.given.written)
        if words is not None and tuple(words[1:]) != one.given.values:
            yield at(
                one.spot, "LINT_MANDATORY", "error",
                f"{one.given.written} {one.given.text} replaces {' '.join(words)}, which is "
                "mandatory for this model",
                "Give it the mandatory value, or change model.mandatory_args.",
            )  # fmt: skip
    for flag, spot in block.removed:
        if flag in needed:
            yield at(
                spot, "LINT_MANDATORY", "error", f"{flag} is removed, and it is mandatory",
                "Keep it, or change model.mandatory_args.",
            )  # fmt: skip
