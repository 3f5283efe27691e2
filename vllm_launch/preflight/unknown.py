"""Say that the target vLLM does not know a name: since when, and what to use instead."""

from __future__ import annotations

from ..model.finding import Finding
from .target import of_image
from .units import quoted
from .version import is_less

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.source import Source
    from ..model.vllm import VllmOptions
    from .situation import Situation
    from .target import Target

_IF_SO = "Where the vLLM that runs lacks it too, "


def unknown(
    situation: Situation,
    target: Target,
    what: str,
    name: str,
    *,
    having: int,
    among: Iterable[str],
    consequence: str,
    instead: str | None = None,
    fatal: bool = True,
    cause: str = "",
    source: Source | None = None,
) -> Finding:
    """The finding about a name that no release of the target has.

    ``having`` are the releases that have it, ``among`` the names that the target has, and
    ``instead`` what does the same now, "" for nothing, None where no such thing is known.
    """
    options = situation.options
    assert options is not None
    own = source is None or source.layer == "operator"
    gone = bool(having) and having.bit_length() <= _lowest(target.among)
    severity = "warn" if own or gone else "note"
    if target.sure:
        severity = "fail" if fatal else "warn"
    near = _nearest(name, among) if own else ""
    return Finding(
        severity=severity,
        what=f"{what} is unknown to vLLM {target.shown}",
        why=f"{_history(options, target, having)} "
        + (consequence[0].upper() + consequence[1:] if target.sure else _IF_SO + consequence),
        remedy=" ".join(_ways(situation, options, target, having, instead, near, own)),
        command="" if gone or own else _command(situation, options, having),
        cause=cause,
        source=source,
    )


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _history(options: VllmOptions, target: Target, having: int) -> str:
    """When the name was known."""
    releases = options.releases
    if not having:
        return f"No release from {releases[0]} to {releases[-1]} has it."
    newest, oldest = having.bit_length() - 1, _lowest(having)
    if newest < _lowest(target.among):
        return f"It is gone since {releases[newest + 1]}, {releases[newest]} had it last."
    if oldest >= target.among.bit_length():
        return f"It comes with {releases[oldest]}."
    return f"{releases[oldest]} has it."


def _nearest(name: str, among: Iterable[str]) -> str:
    from difflib import get_close_matches

    found = get_close_matches(name, list(among), n=1, cutoff=0.6)
    return found[0] if found else ""


def _ways(
    situation: Situation,
    options: VllmOptions,
    target: Target,
    having: int,
    instead: str | None,
    near: str,
    own: bool,
) -> Iterable[str]:
    """What to do about it, the surest first."""
    oldest = _lowest(having) if having else -1
    if instead:
        yield f"Use {instead} instead."
    elif instead == "":
        yield "Leave it out: nothing takes its place."
    elif oldest >= target.among.bit_length():
        yield f"Use vLLM {options.releases[oldest]} or newer."
    elif not having and not own:
        yield ahead(situation)
    elif near:
        yield f"Did you mean {near}?"
    else:
        yield "Leave it out."


def ahead(situation: Situation) -> str:
    """What to use where a recipe is ahead of the releases."""
    image = situation.deployment.image
    if image is None:
        return "Use a nightly build of vLLM."
    if situation.deployment.image_source.layer == "operator":
        return "Leave --image out, so that the recipe's image is used, or take a nightly one."
    if of_image(image):  # a release, as those that lack it
        return "Use a nightly build of vLLM." if situation.native else "Take a nightly image."
    if situation.native:
        return f"Use the recipe's image {image} (--runtime docker), or a nightly build of vLLM."
    return f"The recipe's image {image} should have it; else take a nightly one."


def _command(situation: Situation, options: VllmOptions, having: int) -> str:
    image = situation.deployment.image
    if image is None or situation.deployment.image_source.layer == "operator":
        return ""
    version = of_image(image)
    lacks = not having or is_less(version, options.releases[_lowest(having)])
    if not situation.native or (version and lacks):
        return ""
    return f"docker pull {quoted(image)}"
