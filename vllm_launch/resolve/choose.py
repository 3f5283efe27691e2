"""Choose for the operator: hardware, variant, strategy, nodes and features, each with a reason.

This is planning for a profile, by the rules under "Choosing for the operator" in the
recipe format's documentation; what the operator names is never overridden.
"""

from __future__ import annotations

from ..model.choice import Choice
from .choosing import Choosing
from .features import settle_features
from .memo import Memo
from .pick_hardware import named_variant, pick_hardware, pick_variant
from .pick_layout import check_pools, pick_nodes, pick_strategy, settled_nodes
from .suitability import offered, why_not

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..model.choice import Request
    from ..model.recipe import Recipe, Variant
    from ..model.strategy import Strategy
    from ..model.taxonomy import HardwareProfile, Taxonomy
    from .features import Features


class Chooser:
    """One recipe with the words and strategies that it stands among.

    What depends only on variant, hardware and strategy is decided once, and kept.
    """

    def __init__(
        self, recipe: Recipe, taxonomy: Taxonomy, strategy: Callable[[str], Strategy]
    ) -> None:
        self.recipe = recipe
        self.profiles = taxonomy.hardware_profiles
        self.strategy = strategy
        self._memo = Memo()

    def choose(self, request: Request) -> Choice:
        """Decide what the request leaves open.

        Raises UsageError for what does not exist or contradicts itself, NothingFits for what
        cannot run on the hardware; both say what is possible instead.
        """
        choosing = Choosing(self, request)
        named = named_variant(choosing)
        hardware = pick_hardware(choosing, named)
        variant = named or pick_variant(choosing, hardware)
        nodes = pick_nodes(choosing, variant, hardware)
        strategy = self.strategy(pick_strategy(choosing, hardware, nodes))
        check_pools(choosing, strategy)
        nodes = settled_nodes(choosing, strategy, nodes, hardware)
        features, notes = self.features(request, variant, hardware, strategy.name)
        return Choice(
            hardware=hardware,
            variant=variant.id,
            strategy=strategy.name,
            nodes=nodes,
            features=features,
            kv_offload=choosing.kv_offload,
            pools=request.pools,
            preset=request.preset,
            point=request.point,
            devices=request.devices,
            request=request,
            reasons=tuple(choosing.reasons),
            notes=(*choosing.notes, *notes),
        )

    def hardware(self, request: Request) -> HardwareProfile:
        """The hardware alone, whether or not a variant fits it. Raises as ``choose`` does."""
        return pick_hardware(Choosing(self, request), None)

    def why_not(self, variant: Variant, hardware: HardwareProfile) -> str | None:
        """Why a variant cannot run on the hardware, or None where it can."""
        key = ("why_not", variant.id, hardware.id)
        return self._memo(key, lambda: why_not(self.recipe, variant, hardware))

    def runnable(self, hardware: HardwareProfile) -> list[Variant]:
        """The variants that can run on the hardware, whether or not they fit."""
        return [v for v in self.recipe.variants.values() if self.why_not(v, hardware) is None]

    def possible(self, variant: Variant) -> list[str]:
        """The hardware profiles that a variant can run on."""
        return [p.id for p in self.profiles.values() if self.why_not(variant, p) is None]

    def offered(self, hardware: HardwareProfile) -> tuple[str, ...]:
        """The strategies that the recipe offers on the hardware."""
        return self._memo(("offered", hardware.id), lambda: offered(self.recipe, hardware))

    def features(
        self, request: Request, variant: Variant, hardware: HardwareProfile, strategy: str
    ) -> tuple[Features, tuple[str, ...]]:
        """The features that are on, with their modes, and notes about those that are not."""
        key = (
            request.features, request.add_features, request.drop_features, request.preset,
            request.point, variant.id, hardware.id, strategy,
        )  # fmt: skip
        return self._memo(
            key, lambda: settle_features(self.recipe, request, variant, hardware, strategy)
        )
