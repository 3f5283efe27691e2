"""One engine on one node or several, behind a shared store where one wraps it."""

from __future__ import annotations

from ..model.source import Source
from .parallelism import LOCAL_RANKS, local_ranks
from .presets import forced_tp
from .resolution import Resolution

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.source import Variables


class Serving(Resolution):
    """One choice of a single- or multi-node strategy on its way to a deployment."""

    def deployment(self) -> Deployment:
        """The engine's processes, rank by rank. Raises UsageError or NothingFits."""
        choice, store = self.choice, self.offload.store if self.offload else None
        forced = forced_tp(self.blocks, choice.hardware) if self.blocks else None
        if choice.request.tp is not None:
            self.check_tp()
            setter = choice.request.setter("tp", "--tp")
            forced = (choice.request.tp, Source(layer="operator", detail=setter))
        tp, source = self.resolver.tensor_parallel(choice, forced)
        instances = self.offload.instances if self.offload else 1
        head = "$VLLM_INSTANCE_1" if instances > 1 else "$HEAD_IP"
        processes = tuple(self._engine(rank, tp, source, head) for rank in range(choice.nodes))
        if store is None:
            return self.assembled(deploy_type=self.strategy.deploy_type, processes=processes)
        from .stores import instance_router, store_plan

        return self.assembled(
            deploy_type=store.deploy_type,
            processes=processes,
            router=instance_router(store, instances, processes[0]),
            router_port=store.router.port,
            router_source=store.router.where,
            store=store_plan(store, instances),
        )

    def _engine(self, rank: int, tp: int, source: Source, head: str) -> ProcessPlan:
        """One node's process; where its arguments say another number of local ranks, by that."""
        local = local_ranks(self.strategy, self.choice.hardware.gpu_count)
        plan = self._node(rank, tp, source, head, local)
        given = plan.number(LOCAL_RANKS) if rank and local else None
        if given in (None, local):
            return plan
        return self._node(rank, tp, source, head, given or local)

    def _node(self, rank: int, tp: int, source: Source, head: str, local: int) -> ProcessPlan:
        choice = self.choice
        return self.process_plan(
            role=self._first_role() if rank == 0 else "worker",
            rank=rank,
            layer=self.resolver.layers(choice, None),
            parallel=self.resolver.parallel(self.strategy, choice, rank, tp, source, head, local),
            placed=self._device_mask(),
        )

    def _first_role(self) -> str:
        """What the process of rank 0 is called."""
        if self.offload is not None and self.offload.store is not None:
            return "instance"
        return "head" if self.strategy.deploy_type == "multi_node" else "server"

    def _device_mask(self) -> Variables:
        """The devices to be used, as the variables that limit a process to them."""
        request, devices = self.choice.request, self.choice.devices
        if devices is None:
            return ()
        source = Source(layer="operator", detail=request.mask_because)
        if request.mask is not None:
            return tuple((name, value, source) for name, value in request.mask)
        name = (
            "HIP_VISIBLE_DEVICES" if self.choice.hardware.brand == "AMD" else "CUDA_VISIBLE_DEVICES"
        )
        return ((name, ",".join(devices), source),)
