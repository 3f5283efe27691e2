"""Which vLLM releases a part of a recipe has to do with, and what they make of a name."""

from __future__ import annotations

from ..model.record import Record
from ..preflight.version import is_less, key
from .fault import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.source import Source
    from ..model.vllm import VllmOptions
    from .fault import Fault

_OURS = "vllm/"  # the repository of vLLM's own images


class Span(Record):
    """The releases from the oldest that may run a block to the newest, by their numbers."""

    options: VllmOptions
    first: int
    last: int
    allowed: str  # the oldest as the recipe names it; "" where it names none
    ahead: str = ""  # the build ahead of the releases that is asked for: "a nightly"
    image: str = ""  # a custom image for this very block
    pinned: str = ""  # the recipe's image of a release, which alone is meant
    foreign: str = ""  # whose build runs it, where that knows more than vLLM: "vLLM-Omni"
    unreleased: tuple[str, ...] = ()  # names that the recipe knows to be in no release

    @property
    def among(self) -> int:
        """A bit for each release."""
        return (2 << self.last) - (1 << self.first)

    @property
    def oldest(self) -> str:
        """What says which release is the oldest."""
        if self.pinned:
            return f"the image {self.pinned} has {self.allowed}"
        allows = f"allows {self.allowed}" if self.allowed else "names no oldest release"
        return f"the recipe {allows}"

    @property
    def newest(self) -> int:
        """The bit of the newest."""
        return 1 << self.last


def span_of(options: VllmOptions, minimum: str, pinned: str = "") -> Span:
    """The releases from a minimum on; of a pinned version, those around it alone."""
    last = len(options.releases) - 1
    wanted = pinned or minimum
    older = [n for n, name in enumerate(options.releases) if is_less(wanted, name) is False]
    first = older[-1] if older else 0
    # A minimum between two releases is met by the next one.
    if key(wanted) is not None and is_less(options.releases[first], wanted):
        first = min(first + 1, last)
    if pinned:
        last = first
    if key(wanted) is None:  # "nightly", or none
        first = last if wanted else 0
    return Span(
        options=options,
        first=first,
        last=last,
        allowed=wanted,
        ahead="a nightly" if wanted == "nightly" else "",
    )


def of_name(
    span: Span,
    source: Source,
    noun: str,
    name: str,
    having: int,
    *,
    instead: str | None = None,
    fatal: bool = True,
    near: str = "",
    shown: str = "",
) -> Fault | None:
    """What is wrong with a name by the releases that have it; None where nothing is.

    ``instead`` is what does the same now, "" for nothing, None where no such thing is known;
    ``shown`` is the name with what it belongs to.
    """
    what = f"{noun} {shown or name}"
    if not having and instead is None:
        return _never(span, source, what, name, fatal=fatal, near=near)
    if having & span.newest:
        missing = span.among & ~having
        since = having & -(1 << missing.bit_length())
        return _not_yet(span, source, what, since, instead, fatal=fatal) if missing else None
    if having >> span.last:
        return _not_yet(span, source, what, having & -(1 << span.last), instead, fatal=fatal)
    return _dead(span, source, what, having, instead, fatal=fatal)


def _never(
    span: Span, source: Source, what: str, name: str, *, fatal: bool, near: str
) -> Fault | None:
    if span.foreign:
        return None
    releases = span.options.releases
    known = f"no release from {releases[0]} to {releases[-1]} has it"
    if name in span.unreleased:
        return at(
            source, "LINT_UNRELEASED", "note", f"{what}: {known}, as model.unreleased says",
            "Take it off that list once a release has it.",
        )  # fmt: skip
    severity = "error" if fatal and not span.ahead else "warning"
    if span.image and not span.image.startswith(_OURS):
        severity = "note"  # somebody's own build, made to have more
    remedy = f"Did you mean {near}? " if near else "Correct it, or take it away. "
    if span.ahead:
        remedy += f"Where {span.ahead} has it, list it under model.unreleased."
    return at(source, "LINT_UNKNOWN", severity, f"{what} is unknown: {known}", remedy.strip())


def _dead(
    span: Span, source: Source, what: str, having: int, instead: str | None, *, fatal: bool
) -> Fault:
    releases = span.options.releases
    newest = having.bit_length() - 1
    severity = "error" if fatal else "warning"
    if having:
        text = f"{what} is dead since {releases[newest + 1]}: {releases[newest]} had it last"
    else:
        text = f"{what} was dead before {releases[0]}"
    if span.foreign:
        severity, text = "note", f"{text}, unless {span.foreign} has it"
    if instead:
        return at(source, "LINT_RENAMED", severity, text, f"Use {instead} instead.")
    remedy = "Take it away: nothing takes its place." if instead == "" else "Take it away."
    return at(source, "LINT_DEAD", severity, text, remedy)


def _not_yet(
    span: Span, source: Source, what: str, having: int, instead: str | None, *, fatal: bool
) -> Fault:
    since = span.options.releases[(having & -having).bit_length() - 1]
    text = f"{what} is not known before {since}, and {span.oldest}"
    severity = "error" if span.pinned and fatal else "warning"
    if instead:
        return at(source, "LINT_RENAMED", severity, text, f"Use {instead} instead.")
    if span.pinned:
        return at(source, "LINT_NOT_YET", severity, text, f"Name an image of {since} or newer.")
    # An image that is named for this very block may well have it.
    severity = "note" if span.image else severity
    return at(source, "LINT_NOT_YET", severity, text, f"Raise min_vllm_version to {since}.")


def nearest(name: str, names: list[str]) -> str:
    """The known name that may have been meant."""
    from difflib import get_close_matches

    found = get_close_matches(name, names, n=1, cutoff=0.75)
    return found[0] if found else ""
