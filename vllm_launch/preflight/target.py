"""Which vLLM the plan is for, and which of the known releases stand for it."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.record import Record
from .version import is_development, is_less, key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.vllm import VllmOptions
    from .situation import Situation

_UNTAGGED = (0, 1)
OWN_BUILDS = ("Google", "Huawei")  # brands with builds of vLLM that know more than vLLM does


class Target(Record):
    """A vLLM version and the releases whose names count for it."""

    version: str  # "" where it has none: a nightly, a custom image
    origin: str  # "the installed vLLM", "the image …", "the recipe's minimum"
    among: int  # a bit for each such release
    shown: str  # those releases: "0.33.0", "0.28.0 and 0.29.0"
    sure: bool  # whether a name that none of them has is certain to be unknown
    exact: bool  # whether the version itself is one of them


def target(situation: Situation) -> Target | None:
    """The target of a plan; None where no table of releases is at hand."""
    options = situation.options
    if options is None:
        return None
    plain = situation.deployment.recipe.omni is None and situation.brand not in OWN_BUILDS
    if options.asked is not None:
        return _itself(options, options.asked, plain)
    version, origin = _version(situation)
    first, end = _around(options, version)
    shown = dict.fromkeys((options.releases[first], options.releases[end]))
    exact = first == end and key(version) == key(options.releases[first])
    between = (
        is_less(version, options.releases[0]) is is_less(options.releases[-1], version) is False
    )
    from_recipe = origin == _MINIMUM
    if from_recipe:
        end = len(options.releases) - 1
        shown = dict.fromkeys((options.releases[first], options.releases[end]))
    return Target(
        version=version,
        origin=origin,
        among=(2 << end) - (1 << first),
        shown=(" to " if from_recipe else " and ").join(shown),
        sure=bool(version) and between and plain and not from_recipe
        and not is_development(version),
        exact=exact,
    )  # fmt: skip


def _itself(options: VllmOptions, place: int, plain: bool) -> Target:
    """The build whose own parser was asked: nothing stands for it but itself."""
    version = options.releases[place]
    return Target(
        version=version,
        origin="its own parser",
        among=1 << place,
        shown=f"{version} itself (its parser was asked)",
        sure=plain,
        exact=True,
    )


def place_of(options: VllmOptions, version: str) -> int:
    """How many of the releases are no newer than a version; all, where it cannot be read."""
    return sum(not is_less(version, release) for release in options.releases)


_MINIMUM = "the recipe's minimum"


def _version(situation: Situation) -> tuple[str, str]:
    if situation.native:
        vllm = situation.system.vllm
        if vllm is not None and vllm.version:
            return vllm.version.partition("+")[0], "the installed vLLM"
    elif situation.deployment.image is not None:
        image = situation.deployment.image
        return of_image(image), f"the image {image}"
    return minimum(situation), _MINIMUM


def minimum(situation: Situation) -> str:
    """The oldest vLLM that the recipe allows: the variant's word before the model's."""
    model = situation.deployment.recipe.model
    return situation.variant.min_vllm_version or model.min_vllm_version


def of_image(reference: str) -> str:
    """The vLLM version that an image's tag names, "v0.33.0-cu130"; "" where it names none."""
    import re

    name, _, tag = reference.partition("@")[0].rpartition("/")[2].partition(":")
    if name.startswith("vllm-openai"):
        found = re.match(r"v?(\d+\.\d+\.\d+(?:\.?(?:rc|post|dev)\d+)*)", tag)
    else:
        found = re.search(r"vllm[_-]v?(\d+\.\d+\.\d+)", tag)
    return found[1] if found else ""


def _around(options: VllmOptions, version: str) -> tuple[int, int]:
    """The releases on both sides of a version; twice the same where it is one, or beyond.

    Built without the repository's tags, vLLM calls itself 0.1.dev1: no number, more likely new.
    """
    last, wanted = len(options.releases) - 1, key(version)
    if wanted is None or (is_development(version) and wanted[1] <= _UNTAGGED):
        return last, last
    keys = [key(release) or wanted for release in options.releases]
    first = max((place for place, one in enumerate(keys) if one <= wanted), default=0)
    end = min((place for place, one in enumerate(keys) if one >= wanted), default=last)
    return first, end


def listed(situation: Situation) -> Iterable[Finding] | None:
    """Whether the target is one of the releases that are known."""
    found = target(situation)
    if found is None:
        return None
    if found.exact and found.origin != _MINIMUM:
        return []
    what = f"vLLM {found.version} is no release that is listed"
    if found.origin == _MINIMUM:
        what = f"the vLLM that will run is not known (the recipe needs {found.version or 'any'})"
    elif not found.version:
        what = f"which vLLM is in {found.origin} is not known"
    return [
        Finding(
            severity="note",
            what=f"{what}: arguments were checked against {found.shown}",
            why="Names that are unknown there may be known to the one that runs.",
        )
    ]


CHECKS = (
    Check(
        code="VERSION_UNLISTED",
        subject="vLLM",
        about="the vLLM that will run is a release whose options are known",
        run=listed,
    ),
)
