"""What a block of a file has to do with: releases, builds, plugins."""

from __future__ import annotations

from itertools import pairwise

from ..model.record import Record
from ..preflight.target import OWN_BUILDS, of_image
from ..preflight.version import is_less, key
from .releases import Span, span_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from ..model.recipe import Recipe
    from ..model.taxonomy import Taxonomy
    from ..model.vllm import VllmOptions
    from .written import Block


class Scope(Record):
    """What is known beside a file's blocks."""

    options: VllmOptions
    taxonomy: Taxonomy
    recipe: Recipe | None = None  # None: no recipe, or one that cannot be read
    minimum: str = ""  # for a file that is no recipe
    # The variants and hardware that blocks count for, by their key paths.
    machines: Mapping[str, set[tuple[str, str]]] = {}
    images: Mapping[tuple[str, str], str] = {}  # the recipe's, by variant and hardware
    plugins: frozenset[str] = frozenset()  # flags that bring names of their own

    def span(self, path: str) -> Span:
        """The releases that the block at a key path may run under."""
        recipe = self.recipe
        if recipe is None:
            return span_of(self.options, self.minimum)
        image = self._image(path)
        version = of_image(image)
        span = span_of(self.options, self._minimum(path), version)
        custom = image if not version else ""
        pinned = image if version else ""
        nightly = "a nightly" if recipe.model.nightly_required else ""
        return span.replace(
            ahead=f"the image {custom}" if custom else span.ahead or nightly,
            image=custom,
            pinned=pinned,
            foreign=self._foreign(path),
            unreleased=recipe.model.unreleased,
        )

    def pinned(self, path: str) -> Iterator[Span]:
        """A span for each release that the recipe has an image of where the block counts."""
        first = self.options.releases[0]
        for image in sorted({self.images.get(one, "") for one in self.machines.get(path, ())}):
            version = of_image(image)
            if version and not is_less(version, first):
                yield span_of(self.options, "", version).replace(
                    pinned=image, foreign=self._foreign(path)
                )

    def _minimum(self, path: str) -> str:
        """The oldest vLLM among those of the variants that a block is for."""
        recipe = self.recipe
        assert recipe is not None
        names = self._variants(path.split("."))
        versions = [
            recipe.variants[name].min_vllm_version or recipe.model.min_vllm_version
            for name in names
            if name in recipe.variants
        ]
        return _oldest(versions or [recipe.model.min_vllm_version])

    def _variants(self, keys: list[str]) -> Collection[str]:
        recipe = self.recipe
        assert recipe is not None
        if keys[0] == "variants" and len(keys) > 1:
            return (keys[1],)
        if keys[0] == "features" and keys[2:3] == ["modes"] and keys[1] in recipe.features:
            mode = recipe.features[keys[1]].modes.get(keys[3])
            if mode is not None and mode.variants:
                return mode.variants
        if keys[0] == "presets" and keys[1] in recipe.presets:
            return recipe.presets[keys[1]].variants or recipe.variants
        return recipe.variants

    def _image(self, path: str) -> str:
        """The image that a block is pinned to: a preset's, or that of all machines it counts on."""
        assert self.recipe is not None
        keys = path.split(".")
        if keys[0] == "presets" and keys[1] in self.recipe.presets:
            preset = self.recipe.presets[keys[1]]
            point = preset.points.get(keys[3]) if keys[2:3] == ["points"] else None
            image = (point.image if point is not None else None) or preset.image
            return image.vllm if image is not None else ""
        images = {self._image_on(*machine) for machine in self.machines.get(path, ())}
        return images.pop() if len(images) == 1 else ""

    def _image_on(self, variant: str, hardware: str) -> str:
        """The image that a variant names for exactly this hardware."""
        assert self.recipe is not None
        override = self.recipe.variants[variant].hardware_overrides.get(hardware)
        images = override.docker_image if override is not None else None
        return next(iter(images.by_brand.values()), "") if images is not None else ""

    def _foreign(self, path: str) -> str:
        """Whose build runs a block, where that is not vLLM's own."""
        assert self.recipe is not None
        if self.recipe.omni is not None:
            return "vLLM-Omni"
        keys = path.split(".")
        if "dynamo" in keys:
            return "Dynamo"
        for before, name in pairwise(keys):
            if before == "hardware_overrides" and self._brand(name) in OWN_BUILDS:
                return f"{self._brand(name)}'s build"
        return ""

    def _brand(self, name: str) -> str:
        for profile in self.taxonomy.hardware_profiles.values():
            if name in (profile.id, profile.generation, profile.brand.lower()):
                return profile.brand
        return ""


def _oldest(versions: Iterable[str]) -> str:
    """The version that allows most; none at all allows everything."""
    found: str | None = None
    for version in versions:
        if found is None or not version or (found and _before(version, found)):
            found = version
    return found or ""


def _before(version: str, other: str) -> bool:
    if key(other) is None:  # "nightly": ahead of all
        return key(version) is not None
    return bool(is_less(version, other))


def scope_of(
    options: VllmOptions,
    taxonomy: Taxonomy,
    recipe: Recipe | None,
    blocks: Iterable[Block],
    minimum: str = "",
    machines: Mapping[str, set[tuple[str, str]]] | None = None,
    images: Mapping[tuple[str, str], str] | None = None,
) -> Scope:
    """The scope of a file with these blocks."""
    flags = {one.given.flag for block in blocks for one in block.arguments}
    return Scope(
        options=options,
        taxonomy=taxonomy,
        recipe=recipe,
        minimum=minimum,
        machines=machines or {},
        images=images or {},
        plugins=frozenset(flag for flag in flags if flag.endswith("-plugin")),
    )
