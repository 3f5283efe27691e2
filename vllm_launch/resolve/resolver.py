"""Resolve a choice into a deployment."""

from __future__ import annotations

from .choose import Chooser
from .features import feature_layer
from .images import image_for
from .layers import layers
from .memo import Memo
from .parallelism import Layout, parallel_arguments, tensor_parallel_size
from .serving import Serving

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ..model.choice import Choice, Request
    from ..model.deployment import Deployment
    from ..model.recipe import Recipe, Variant
    from ..model.source import Arguments, Source, Variables
    from ..model.strategy import KvStore, Strategy
    from ..model.taxonomy import HardwareProfile, Taxonomy
    from .features import Features
    from .layers import Layers

    class Words(Protocol):
        """What a recipe names and does not hold: its recipes directory has it."""

        @property
        def taxonomy(self) -> Taxonomy:
            """The hardware profiles, KV offload options and tasks."""

        def strategy(self, name: str) -> Strategy:
            """One strategy. Raises UsageError or RecipeError."""

        def kv_store(self, name: str) -> KvStore:
            """One KV store. Raises UsageError or RecipeError."""

        def kv_stores(self) -> tuple[str, ...]:
            """The names of the KV stores there are."""


_USUAL_NODES = 64  # a batch may ask for any number: flags for more nodes are not kept


class Resolver:
    """One recipe with the words, strategies and stores that it stands among.

    Layers are put together once for each variant, hardware, strategy and role, and kept.
    """

    def __init__(self, recipe: Recipe, words: Words) -> None:
        self.recipe = recipe
        self.words = words
        self.taxonomy = words.taxonomy
        self.strategy = words.strategy
        self.chooser = Chooser(recipe, self.taxonomy, self.strategy)
        self._memo = Memo()

    def choose(self, request: Request) -> Choice:
        """Decide what the request leaves open. Raises UsageError or NothingFits."""
        return self.chooser.choose(request)

    def resolve(self, choice: Choice) -> Deployment:
        """The deployment of a choice.

        Raises UsageError, NothingFits or RecipeError where the choice cannot be run.
        """
        if self.strategy(choice.strategy).deploy_type == "pd_cluster":
            from .disaggregated import Disaggregated

            return Disaggregated(self, choice).deployment()
        return Serving(self, choice).deployment()

    def layers(self, choice: Choice, role: str | None) -> Layers:
        """The layers that do not depend on nodes, features or presets."""
        hardware = choice.hardware

        def work() -> Layers:
            variant, strategy = self._named(choice)
            return layers(self.recipe, variant, strategy, hardware, role)

        key = ("layers", choice.variant, hardware.id, hardware.gpu_count, choice.strategy, role)
        return self._memo(key, work)

    def feature_layers(
        self, features: Features, hardware: HardwareProfile
    ) -> tuple[Arguments, Variables]:
        """What features add, each in its mode."""

        def work() -> tuple[Arguments, Variables]:
            on = ((self.recipe.features[name], mode) for name, mode in features)
            added = [
                feature_layer(one, one.modes[mode] if mode else None, hardware) for one, mode in on
            ]
            return (
                tuple(argument for args, _ in added for argument in args),
                tuple(variable for _, env in added for variable in env),
            )

        return self._memo(("features", features, hardware.id), work)

    def image(self, choice: Choice) -> tuple[str | None, Source]:
        """The recipe's image for a variant on its hardware."""
        key = ("image", choice.variant, choice.hardware.id)
        return self._memo(
            key, lambda: image_for(self.recipe, self._named(choice)[0], choice.hardware)
        )

    def tensor_parallel(
        self, choice: Choice, forced: tuple[int, Source] | None
    ) -> tuple[int, Source]:
        """The TP size on one node and its place. Raises NothingFits for a forced one too large."""
        hardware, measured = choice.hardware, choice.request.profile is not None

        def work() -> tuple[int, Source]:
            variant, strategy = self._named(choice)
            return tensor_parallel_size(
                self.recipe, variant, strategy, hardware, forced, measured=measured
            )

        if forced is not None:
            return work()
        size = hardware.gpu_count, hardware.vram_gb
        return self._memo(
            ("tp", choice.variant, hardware.id, size, measured, choice.strategy), work
        )

    def parallel(
        self, strategy: Strategy, choice: Choice, rank: int, tp: int, source: Source,
        head: str, local: int,
    ) -> Arguments:  # fmt: skip
        """The parallelism flags of one node; the other parameters are those of Layout."""
        gpus, nodes = choice.hardware.gpu_count, choice.nodes

        def work() -> tuple[Source, Arguments]:
            layout = Layout(
                gpus=gpus, tp=tp, nodes=nodes, rank=rank, head=head, source=source, local=local
            )
            return source, parallel_arguments(strategy, layout)

        if nodes > _USUAL_NODES:
            return work()[1]
        # The source is kept too: as long as it lives, no other one has its identity.
        key = ("parallel", strategy.name, gpus, tp, nodes, rank, head, local, id(source))
        return self._memo(key, work)[1]

    def _named(self, choice: Choice) -> tuple[Variant, Strategy]:
        """A choice's variant and strategy."""
        return self.recipe.variants[choice.variant], self.strategy(choice.strategy)
