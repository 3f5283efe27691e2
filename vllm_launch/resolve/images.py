"""Which container image a plan runs in."""

from __future__ import annotations

from ..errors import RecipeError, UsageError
from ..model.image import is_image_reference, no_reference
from ..model.source import Source
from .hardware import IMAGE_BRANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.recipe import Images, Recipe, Variant
    from ..model.taxonomy import HardwareProfile

_BY_BRAND = {
    "NVIDIA": "vllm/vllm-openai",
    "AMD": "vllm/vllm-openai-rocm",
    "Google": "vllm/vllm-tpu",
}
_BY_GENERATION = {
    "cpu": "vllm/vllm-openai-cpu:latest-x86_64",
    "xpu": "vllm/vllm-openai-xpu:latest",
}


def image_for(
    recipe: Recipe, variant: Variant, hardware: HardwareProfile
) -> tuple[str | None, Source]:
    """The image and where it is named: exact hardware, variant, model, then the brand's default.

    Raises RecipeError for a value that is no image reference.
    """
    exact = variant.hardware_overrides.get(hardware.id)
    named = (exact.docker_image if exact else None, variant.docker_image, recipe.model.docker_image)
    for images in named:
        image = _of_brand(images, hardware)
        if images is not None and image is not None:
            return _checked(image, images.where), images.where
    default = _BY_GENERATION.get(hardware.generation)
    if default is None and hardware.brand in _BY_BRAND:
        tag = "nightly" if recipe.model.nightly_required else "latest"
        default = f"{_BY_BRAND[hardware.brand]}:{tag}"
    return default, Source(layer=f"default image for {hardware.brand}")


def _of_brand(images: Images | None, hardware: HardwareProfile) -> str | None:
    if images is None:
        return None
    return images.by_brand.get(IMAGE_BRANDS.get(hardware.brand, ""), images.by_brand.get("*"))


def _checked(image: str, where: Source) -> str:
    if is_image_reference(image):
        return image
    raise RecipeError(
        f"{where.file}:{where.line}: {where.layer}: {no_reference(image)}",
        hint="write NAME:TAG or NAME@sha256:…, without a command before it, or pass --image",
    )


def operators_image(image: str, setter: str) -> tuple[str, Source]:
    """The image that the operator named, or a file that Slurm's containers are made of.

    Raises UsageError for what is neither.
    """
    if image[:1] != "/" and not is_image_reference(image):
        raise UsageError(f"{setter}: {no_reference(image)}", hint="write NAME:TAG or NAME@sha256:…")
    return image, Source(layer="operator", detail=setter)
