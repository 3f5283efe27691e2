"""Container images: whether a reference is one, stays what it is, and is new enough."""

from __future__ import annotations

from ..errors import RecipeError
from ..model.image import is_image_reference, no_reference
from ..model.record import Record
from ..preflight.target import of_image
from ..preflight.version import is_less
from ..resolve.images import image_for
from .fault import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.recipe import Recipe
    from ..model.source import Source
    from .combinations import Trial
    from .fault import Fault, Spot


class Used(Record):
    """An image of the recipe's, and what runs in it."""

    image: str
    where: Source
    variant: str
    hardware: str = ""  # "": a preset's


def named(images: Iterable[tuple[str, Spot]]) -> Iterator[Fault]:
    """Every image that a file names."""
    for image, spot in images:
        if not is_image_reference(image):
            yield at(
                spot, "LINT_IMAGE", "error", no_reference(image),
                "Write NAME:TAG or NAME@sha256:…, without a command before it.",
            )  # fmt: skip
        elif "@sha256:" not in image and not _stays(image):
            yield at(
                spot, "LINT_IMAGE_TAG", "note", f"{image} may be another image tomorrow",
                "Name a release's tag, or the digest: NAME@sha256:…",
            )  # fmt: skip


def _stays(image: str) -> bool:
    """Whether a tag is one that is not moved: a release's, or a commit's."""
    import re

    tag = image.rpartition("/")[2].partition(":")[2]
    return bool(re.search(r"\d+\.\d+\.\d+", tag) or re.search(r"[0-9a-f]{12,}$", tag))


def used(trial: Trial) -> list[Used]:
    """Every variant's image on all hardware that it is offered on, and those of presets."""
    return [*_on_hardware(trial), *_of_presets(trial.recipe)]


def _on_hardware(trial: Trial) -> Iterator[Used]:
    for variant, hardware in trial.offered():
        try:
            image, where = image_for(trial.recipe, variant, hardware)
        except RecipeError:  # no reference, which is told by itself
            continue
        if image is not None:
            yield Used(image=image, where=where, variant=variant.id, hardware=hardware.id)


def _of_presets(recipe: Recipe) -> Iterator[Used]:
    for preset in recipe.presets.values():
        for tuning in (preset, *preset.points.values()):
            image = tuning.image
            if image is not None:
                for variant in preset.variants or recipe.variants:
                    yield Used(image=image.vllm, where=image.where, variant=variant)


def new_enough(
    recipe: Recipe, used: Iterable[Used], written: Iterable[tuple[str, Spot]]
) -> Iterator[Fault]:
    """An image of a release that is older than what runs in it needs."""
    spots = list(written)
    for one in used:
        needed = recipe.variants[one.variant].min_vllm_version or recipe.model.min_vllm_version
        version = of_image(one.image)
        if is_less(version, needed):
            yield at(
                _spot(one, spots), "LINT_IMAGE", "error",
                f"{one.image} has vLLM {version}, and min_vllm_version is {needed}",
                "Name an image of that release or a newer one.",
            )  # fmt: skip


def _spot(used: Used, spots: list[tuple[str, Spot]]) -> Source:
    """The place of the very word, where the images are named by brand."""
    below = f"{used.where.layer}."
    for image, spot in spots:
        if image == used.image and f"{spot.layer}.".startswith(below):
            return spot
    return used.where
