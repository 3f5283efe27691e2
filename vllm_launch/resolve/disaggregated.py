"""Prefill/decode disaggregation: the processes of both pools, and the router in front."""

from __future__ import annotations

from .pools import (
    NVLINK_DOMAIN_HARDWARE,
    NVLINK_DOMAIN_VARIABLES,
    ROLES,
    on_own_node,
    placement,
    pool_arguments,
    pool_plan,
    router_command,
)
from .resolution import Resolution
from .stores import store_plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment, ProcessPlan
    from .pools import PoolPlan


class Disaggregated(Resolution):
    """One choice of pd_cluster on its way to a deployment."""

    def deployment(self) -> Deployment:
        """A prefill and a decode pool, and the router. Raises UsageError or NothingFits."""
        choice, store = self.choice, self.offload.store if self.offload else None
        if choice.request.tp is not None:
            self.check_tp()
        plans = [
            pool_plan(self.recipe, self.strategy, choice.hardware, role, choice.pools)
            for role in ROLES
        ]
        processes = tuple(self._member(plan, rank) for plan in plans for rank in plan.ranks)
        override = self.recipe.strategy_overrides.get(self.strategy.name)
        router = (override.router if override else None) or self.strategy.router
        return self.assembled(
            deploy_type=self.strategy.deploy_type,
            processes=processes,
            router=router_command(
                router.policy,
                router.intra_node_data_parallel_size,
                plans,
                processes,
            ),
            router_port=router.port,
            router_source=router.where if router.where.file else self.strategy.where,
            pools_shared=plans[0].shared,
            store=store_plan(store, 1) if store else None,
        )

    def _member(self, pool: PoolPlan, rank: int) -> ProcessPlan:
        plan = self.process_plan(
            role=pool.role,
            rank=rank,
            layer=self.resolver.layers(self.choice, pool.role),
            parallel=pool_arguments(pool, rank),
            pool=pool.role,
            placed=placement(pool, self.choice.devices),
        )
        variables = on_own_node(plan.variables, pool, rank)
        if self.choice.hardware.id not in NVLINK_DOMAIN_HARDWARE:
            variables = tuple(v for v in variables if v[0] not in NVLINK_DOMAIN_VARIABLES)
        return plan.replace(variables=variables) if variables != plan.variables else plan
