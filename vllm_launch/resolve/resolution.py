"""What every deployment is put together from, and the order in which layers are merged."""

from __future__ import annotations

from ..errors import UsageError
from ..model.deployment import Deployment, ProcessPlan
from ..model.source import Source
from .arguments import first_place_last_value, last_wins
from .features import flags_of
from .images import operators_image
from .presets import find, tuned, tunings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.choice import Choice
    from ..model.deployment import KvStorePlan
    from ..model.recipe import Tuning, Variant
    from ..model.source import Arguments, Variables
    from .layers import Layers
    from .offload import Offload
    from .resolver import Resolver


class Resolution:
    """One choice on its way to a deployment."""

    def __init__(self, resolver: Resolver, choice: Choice) -> None:
        self.resolver = resolver
        self.choice = choice
        self.recipe = resolver.recipe
        self.strategy = resolver.strategy(choice.strategy)
        self.variant: Variant = self.recipe.variants[choice.variant]
        self.blocks: tuple[Tuning, ...] = ()
        if choice.preset is not None:
            self.blocks = tunings(*find(self.recipe, choice.preset, choice.point))
        self.offload = self._offload()
        self.feature_args, self.feature_env = resolver.feature_layers(
            choice.features, choice.hardware
        )
        self.notes = (*choice.notes, *self._overridden())

    def _overridden(self) -> tuple[str, ...]:
        """Notes on mandatory arguments that the operator's own ones replace."""
        own = {
            flag.partition("=")[0]: " ".join(tokens) for flag, tokens, _ in self.choice.request.args
        }
        return tuple(
            f"{own[flag]} replaces {' '.join(tokens)}, which this model needs"
            for flag, tokens, _ in self.recipe.model.mandatory_args
            if own.get(flag) not in (None, " ".join(tokens))
        )

    def _offload(self) -> Offload | None:
        """Where KV cache goes; None where nothing but the GPUs' memory is asked for."""
        if self.choice.kv_offload is None and self.choice.request.instances is None:
            return None
        from .offload import offload_of

        return offload_of(self.choice, self.recipe, self.strategy, self.resolver.words)

    def check_tp(self) -> None:
        """Raise UsageError for --tp under a layout that has no such size."""
        if self.strategy.name.endswith("_dep") or self.strategy.deploy_type == "pd_cluster":
            raise UsageError(
                f"--tp does not apply to the strategy {self.strategy.name}",
                hint="leave it out, or pick a strategy that splits tensors",
            )

    def process_plan(
        self,
        *,
        role: str,
        rank: int,
        layer: Layers,
        parallel: Arguments,
        pool: str | None = None,
        placed: Variables,
    ) -> ProcessPlan:
        """Put one process's layers in the merge order and let the last ones win.

        ``pool`` is the role of a pool's process. Raises RecipeError for JSON that cannot be merged.
        """
        request = self.choice.request
        arguments, layers = self._arguments(role, layer, parallel, pool)
        variables = layer.env_before + (self.offload.env if self.offload else ())
        variables += placed + layer.env_after + self.feature_env
        for block in self.blocks:
            variables += block.env
        variables += request.env
        return ProcessPlan(
            role=role,
            rank=rank,
            model=request.model_path or self.variant.model_id or self.recipe.model.model_id,
            arguments=arguments,
            layers=layers,
            variables=first_place_last_value(variables),
            variable_layers=variables,
        )

    def _arguments(
        self, role: str, layer: Layers, parallel: Arguments, pool: str | None
    ) -> tuple[Arguments, Arguments]:
        """The arguments that hold, and all that were put forward."""
        request = self.choice.request
        layers = layer.before + parallel + layer.after + self.feature_args
        layers += self.offload.args(pool) if self.offload else ()
        arguments = last_wins(layers)
        if self.blocks:
            arguments = tuned(arguments, self.blocks, self._flags_off())
            layers += tuple(argument for block in self.blocks for argument in block.args)
        own = dict(request.pool_args).get(role, ()) if request.pool_args else ()
        if request.args_role in (None, role):
            own += request.args
        if own:
            arguments = last_wins((*arguments, *own))
            layers += own
        return arguments, layers

    def _flags_off(self) -> set[str]:
        """The flags of the features that the operator switched off."""
        dropped = self.choice.request.drop_features
        return {flag for name in dropped for flag in flags_of(self.recipe.features[name])}

    def assembled(
        self,
        *,
        deploy_type: str,
        processes: tuple[ProcessPlan, ...],
        router: str | None = None,
        router_port: int | None = None,
        router_source: Source | None = None,
        pools_shared: bool = False,
        store: KvStorePlan | None = None,
    ) -> Deployment:
        """The deployment of these processes, with the image and what the choice says of it."""
        image, source = self._image()
        companion = self.offload.companion if self.offload else None
        return Deployment(
            recipe=self.recipe,
            choice=self.choice,
            deploy_type=deploy_type,
            image=image,
            image_source=source,
            processes=processes,
            router=router,
            router_port=router_port,
            router_source=router_source,
            pools_shared=pools_shared,
            companions=(companion,) if companion is not None else (),
            store=store,
            notes=self.notes,
        )

    def _image(self) -> tuple[str | None, Source]:
        """The image and its place: the operator's, the point's, the preset's or the recipe's."""
        if self.choice.request.image is not None:
            setter = self.choice.request.setter("image", "--image")
            return operators_image(self.choice.request.image, setter)
        for block in reversed(self.blocks):
            if block.image is not None:
                return block.image.vllm, block.image.where
        return self.resolver.image(self.choice)
