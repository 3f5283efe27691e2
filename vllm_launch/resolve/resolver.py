"""Resolve a choice into a deployment."""

from __future__ import annotations

from ..errors import UsageError
from ..model.deployment import Deployment, KvStorePlan, ProcessPlan
from ..model.source import Source
from .arguments import first_place_last_value, last_wins
from .choose import Chooser
from .features import feature_layer
from .images import image_for
from .layers import Layers, layers
from .parallelism import (
    LOCAL_RANKS,
    Layout,
    local_ranks,
    parallel_arguments,
    tensor_parallel_size,
)
from .pools import (
    NVLINK_DOMAIN_HARDWARE,
    NVLINK_DOMAIN_VARIABLES,
    ROLES,
    PoolPlan,
    on_own_node,
    placement,
    pool_arguments,
    pool_plan,
    router_command,
)
from .presets import find, forced_tp, tuned, tunings
from .stores import check_offload, instance_router, store_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..model.choice import Choice, Request
    from ..model.recipe import Recipe, Tuning, Variant
    from ..model.source import Arguments, Variables
    from ..model.strategy import KvStore, Strategy
    from ..model.taxonomy import HardwareProfile, KvOffloadOption, Taxonomy

_CUDA_MASK = "CUDA_VISIBLE_DEVICES"
_USUAL_NODES = 64  # what more of them are told is not remembered: there is no end to their number


class Resolver:
    """One recipe with the words, strategies and stores that it stands among.

    Layers are put together once for each variant, hardware, strategy and role, and kept.
    """

    def __init__(
        self,
        recipe: Recipe,
        taxonomy: Taxonomy,
        strategy: Callable[[str], Strategy],
        kv_store: Callable[[str], KvStore],
    ) -> None:
        self.recipe = recipe
        self.taxonomy = taxonomy
        self.strategy = strategy
        self.kv_store = kv_store
        self.chooser = Chooser(recipe, taxonomy, strategy)
        self._memo: dict[Any, Any] = {}

    def choose(self, request: Request) -> Choice:
        """Decide what the request leaves open. Raises UsageError or NothingFits."""
        return self.chooser.choose(request)

    def resolve(self, choice: Choice) -> Deployment:
        """The deployment of a choice.

        Raises UsageError, NothingFits or RecipeError where the choice cannot be run.
        """
        return _Resolution(self, choice).deployment()

    def layers(self, choice: Choice, role: str | None) -> Layers:
        """The layers that do not depend on nodes, features or presets."""
        hardware = choice.hardware
        key = (choice.variant, hardware.id, hardware.gpu_count, choice.strategy, role)
        found: Layers | None = self._memo.get(key)
        if found is None:
            variant = self.recipe.variants[choice.variant]
            strategy = self.strategy(choice.strategy)
            found = layers(self.recipe, variant, strategy, hardware, role)
            self._memo[key] = found
        return found

    def feature_layer(
        self, name: str, mode: str | None, hardware: HardwareProfile
    ) -> tuple[Arguments, Variables]:
        """What one feature adds in a mode."""
        key = (name, mode, hardware.id)
        found: tuple[Arguments, Variables] | None = self._memo.get(key)
        if found is None:
            feature = self.recipe.features[name]
            found = feature_layer(feature, feature.modes[mode] if mode else None, hardware)
            self._memo[key] = found
        return found

    def image(self, choice: Choice) -> tuple[str | None, Source]:
        """The recipe's image for a variant on its hardware."""
        key = ("image", choice.variant, choice.hardware.id)
        found: tuple[str | None, Source] | None = self._memo.get(key)
        if found is None:
            variant = self.recipe.variants[choice.variant]
            found = self._memo[key] = image_for(self.recipe, variant, choice.hardware)
        return found

    def tensor_parallel(
        self, choice: Choice, forced: tuple[int, Source] | None
    ) -> tuple[int, Source]:
        """The TP size on one node and its place."""
        if forced is not None:
            return self._tensor_parallel(choice, forced)
        hardware = choice.hardware
        size = hardware.gpu_count, hardware.vram_gb
        key = ("tp", choice.variant, hardware.id, size, choice.strategy)
        found: tuple[int, Source] | None = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._tensor_parallel(choice, None)
        return found

    def parallel(
        self,
        strategy: Strategy,
        choice: Choice,
        rank: int,
        tp: int,
        source: Source,
        head: str,
        local: int,
    ) -> Arguments:
        """The parallelism flags of one node."""
        gpus = choice.hardware.gpu_count
        key = (strategy.name, gpus, choice.nodes, rank, tp, id(source), head, local)
        found: tuple[Source, Arguments] | None = self._memo.get(key)
        if found is None:
            layout = Layout(
                gpus=gpus,
                tp=tp,
                nodes=choice.nodes,
                rank=rank,
                head=head,
                source=source,
                local=local,
            )
            found = (source, parallel_arguments(strategy, layout))
            if choice.nodes <= _USUAL_NODES:
                self._memo[key] = found
        return found[1]

    def _tensor_parallel(
        self, choice: Choice, forced: tuple[int, Source] | None
    ) -> tuple[int, Source]:
        variant = self.recipe.variants[choice.variant]
        strategy = self.strategy(choice.strategy)
        return tensor_parallel_size(self.recipe, variant, strategy, choice.hardware, forced)


class _Resolution:
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
        self.store: KvStore | None = None
        self.option: KvOffloadOption | None = None
        self._pick_offload()
        self.feature_args, self.feature_env = self._features()
        self.notes = (*choice.notes, *self._overridden())

    def deployment(self) -> Deployment:
        if self.strategy.deploy_type == "pd_cluster":
            return self._disaggregated()
        return self._serving()

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

    def _pick_offload(self) -> None:
        """Look up the KV offload option, or the store that it names instead."""
        name = self.choice.kv_offload
        self.option = self.resolver.taxonomy.kv_offload.get(name) if name else None
        if self.option is not None:
            check_offload(self.option, self.recipe, self.strategy, self.choice.hardware)
        elif name is not None:
            self.store = self._store(name)
        instances = self.choice.request.instances
        if self.store is None and instances is not None:
            raise UsageError(
                "instances share a KV store, and none is asked for",
                hint="give --kv-offload kv_store_…, or leave --instances out",
            )
        if self.strategy.deploy_type == "pd_cluster" and (instances or 1) > 1:
            raise UsageError(
                "several instances of a pd_cluster are not one deployment",
                hint="leave --instances out, and size the pools with --prefill and --decode",
            )

    def _instances(self) -> int:
        """How many instances share the store: as asked for, else the store's usual number."""
        asked = self.choice.request.instances
        return asked or (self.store.default_instances if self.store is not None else 1)

    def _store(self, name: str) -> KvStore:
        """The store of that name. Raises UsageError with what there is instead."""
        try:
            return self.resolver.kv_store(name)
        except UsageError as error:
            options = ", ".join(self.resolver.taxonomy.kv_offload)
            raise UsageError(
                f"{name!r} is no KV offload option and no KV store",
                hint=f"options: {options}; stores: {error.hint.removeprefix('there are: ')}",
            ) from None

    def _features(self) -> tuple[Arguments, Variables]:
        args: list[Any] = []
        env: list[Any] = []
        for name, mode in self.choice.features:
            more, more_env = self.resolver.feature_layer(name, mode, self.choice.hardware)
            args += more
            env += more_env
        return tuple(args), tuple(env)

    def _serving(self) -> Deployment:
        """A single- or multi-node engine, behind a store where one wraps it."""
        choice, store = self.choice, self.store
        forced = forced_tp(self.blocks, choice.hardware) if self.blocks else None
        if choice.request.tp is not None:
            self._check_tp()
            setter = choice.request.setter("tp", "--tp")
            forced = (choice.request.tp, Source(layer="operator", detail=setter))
        tp, source = self.resolver.tensor_parallel(choice, forced)
        head = "$VLLM_INSTANCE_1" if store and self._instances() > 1 else "$HEAD_IP"
        processes = tuple(self._engine(rank, tp, source, head) for rank in range(choice.nodes))
        return self._deployment(
            deploy_type=store.deploy_type if store else self.strategy.deploy_type,
            processes=processes,
            router=instance_router(store, self._instances(), processes[0]) if store else None,
            router_port=store.router.port if store else None,
            router_source=store.router.where if store else None,
            store=store_plan(store, self._instances()) if store else None,
        )

    def _check_tp(self) -> None:
        """Raise UsageError for --tp under a layout that has no such size."""
        if self.strategy.name.endswith("_dep") or self.strategy.deploy_type == "pd_cluster":
            raise UsageError(
                f"--tp does not apply to the strategy {self.strategy.name}",
                hint="leave it out, or pick a strategy that splits tensors",
            )

    def _engine(self, rank: int, tp: int, source: Source, head: str) -> ProcessPlan:
        local = local_ranks(self.strategy, self.choice.hardware.gpu_count)
        plan = self._node(rank, tp, source, head, local)
        said = plan.number(LOCAL_RANKS) if rank and local else None
        if said in (None, local):
            return plan
        return self._node(rank, tp, source, head, said or local)

    def _node(self, rank: int, tp: int, source: Source, head: str, local: int) -> ProcessPlan:
        choice = self.choice
        multi_node = self.strategy.deploy_type == "multi_node"
        first = "instance" if self.store else "head" if multi_node else "server"
        layer = self.resolver.layers(choice, None)
        return self._plan(
            role=first if rank == 0 else "worker",
            rank=rank,
            layer=layer,
            parallel=self.resolver.parallel(self.strategy, choice, rank, tp, source, head, local),
            kv_args=self._kv_args(None),
            placed=self._device_mask(),
        )

    def _device_mask(self) -> Variables:
        """The devices to be used, as the variables that limit a process to them."""
        request, devices = self.choice.request, self.choice.devices
        if devices is None:
            return ()
        source = Source(layer="operator", detail=request.mask_because)
        if request.mask is not None:
            return tuple((name, value, source) for name, value in request.mask)
        name = "HIP_VISIBLE_DEVICES" if self.choice.hardware.brand == "AMD" else _CUDA_MASK
        return ((name, ",".join(devices), source),)

    def _disaggregated(self) -> Deployment:
        """A prefill and a decode pool, and the router."""
        choice = self.choice
        if choice.request.tp is not None:
            self._check_tp()
        plans = [
            pool_plan(self.recipe, self.strategy, choice.hardware, role, choice.pools)
            for role in ROLES
        ]
        processes = tuple(self._member(plan, rank) for plan in plans for rank in plan.ranks)
        ports = {p.role: p.value("--port") for p in processes}
        override = self.recipe.strategy_overrides.get(self.strategy.name)
        router = (override.router if override else None) or self.strategy.router
        return self._deployment(
            deploy_type=self.strategy.deploy_type,
            processes=processes,
            router=router_command(
                router.policy,
                router.intra_node_data_parallel_size,
                plans,
                {role: port for role, port in ports.items() if port},
            ),
            router_port=router.port,
            router_source=router.where if router.where.file else self.strategy.where,
            pools_shared=plans[0].shared,
            store=store_plan(self.store, 1) if self.store else None,
        )

    def _member(self, pool: PoolPlan, rank: int) -> ProcessPlan:
        layer = self.resolver.layers(self.choice, pool.role)
        plan = self._plan(
            role=pool.role,
            rank=rank,
            layer=layer,
            parallel=pool_arguments(pool, rank),
            kv_args=self._kv_args(pool.role),
            placed=placement(pool, self.choice.devices),
        )
        variables = on_own_node(plan.variables, pool, rank)
        if self.choice.hardware.id not in NVLINK_DOMAIN_HARDWARE:
            variables = tuple(v for v in variables if v[0] not in NVLINK_DOMAIN_VARIABLES)
        return plan.replace(variables=variables) if variables != plan.variables else plan

    def _kv_args(self, role: str | None) -> Arguments:
        if self.option is not None:
            return self.option.args
        if self.store is None:
            return ()
        if role is None:
            return self.store.vllm.vllm_args
        return self.store.pd.prefill.args if role == "prefill" else self.store.pd.decode.args

    def _kv_env(self) -> Variables:
        if self.option is not None:
            return self.option.env
        return self.store.vllm.env if self.store is not None else ()

    def _plan(
        self,
        *,
        role: str,
        rank: int,
        layer: Layers,
        parallel: Arguments,
        kv_args: Arguments,
        placed: Variables,
    ) -> ProcessPlan:
        """Put one process's layers in the merge order and let the last ones win."""
        request = self.choice.request
        layers = layer.before + parallel + layer.after + self.feature_args + kv_args
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
        variables = layer.env_before + self._kv_env() + placed + layer.env_after
        variables += self.feature_env
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

    def _flags_off(self) -> set[str]:
        """The flags of the features that the operator switched off."""
        flags: set[str] = set()
        for name in self.choice.request.drop_features:
            feature = self.recipe.features[name]
            lists = [feature.args, *(mode.args for mode in feature.modes.values())]
            lists += [each.args or () for each in feature.hardware_overrides.values()]
            for mode in feature.modes.values():
                lists += [each.args or () for each in mode.hardware_overrides.values()]
            flags.update(flag for args in lists for flag, _, _ in args)
        return flags

    def _deployment(
        self,
        *,
        deploy_type: str,
        processes: tuple[ProcessPlan, ...],
        router: str | None,
        router_port: int | None,
        router_source: Source | None,
        pools_shared: bool = False,
        store: KvStorePlan | None,
    ) -> Deployment:
        image, source = self._image()
        companion = self.option.companion if self.option is not None else None
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
        if self.choice.request.image is not None:
            setter = self.choice.request.setter("image", "--image")
            return self.choice.request.image, Source(layer="operator", detail=setter)
        for block in reversed(self.blocks):
            if block.image is not None:
                return block.image.vllm, block.image.where
        return self.resolver.image(self.choice)
