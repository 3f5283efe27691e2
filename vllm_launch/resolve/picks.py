"""What a recipe offers beside variant, hardware and strategy: each feature, mode and KV offload."""

from __future__ import annotations

from ..errors import LaunchError
from .features import modes_for
from .hardware import is_unsupported
from .stores import check_offload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..model.recipe import Variant
    from ..model.taxonomy import HardwareProfile
    from .resolver import Resolver

    Pick = tuple[str, str | None]  # a feature and its mode


def picks(
    resolver: Resolver, variant: Variant, hardware: HardwareProfile, strategy: str
) -> Iterator[Pick]:
    """Each feature that may be on here, and each of its modes."""
    for feature in resolver.recipe.features.values():
        if feature.strategies and strategy not in feature.strategies:
            continue
        if is_unsupported(feature.hardware, hardware):
            continue
        modes: tuple[str | None, ...] = tuple(modes_for(feature, variant, hardware))
        for mode in modes if feature.modes else (None,):
            yield feature.id, mode


def against(resolver: Resolver, pick: Pick) -> tuple[str, ...]:
    """The features that exclude a picked one, either way."""
    features = resolver.recipe.features
    return tuple(
        other.id
        for other in features.values()
        if other.id in features[pick[0]].excludes or pick[0] in other.excludes
    )


def offloads(
    resolver: Resolver, stores: Sequence[str], hardware: HardwareProfile, strategy: str
) -> Iterator[str]:
    """Each KV offload option that may be used here, and each KV store."""
    for option in resolver.taxonomy.kv_offload.values():
        try:
            check_offload(option, resolver.recipe, resolver.strategy(strategy), hardware)
        except LaunchError:
            continue
        yield option.id
    yield from stores
