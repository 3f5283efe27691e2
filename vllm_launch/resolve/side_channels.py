"""NIXL's side channels where both pools share a machine: each replica listens on a port."""

from __future__ import annotations

from ..model.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment, ProcessPlan

_PORT = "VLLM_NIXL_SIDE_CHANNEL_PORT"


def separate_ports(deployment: Deployment) -> Deployment:
    """A deployment whose pools on one machine have ports of their own, replica by replica.

    vLLM adds the replica's number to the port, and strategies name neighbours: with several
    replicas in a pool, decode moves behind prefill. What the operator set stays.
    """
    plans = {plan.role: plan for plan in deployment.processes}
    if not deployment.pools_shared or plans.keys() != {"prefill", "decode"}:
        return deployment
    prefill, decode = plans["prefill"], plans["decode"]
    first, second = _port(prefill), _port(decode)
    if first is None or second is None:
        return deployment
    behind = first + _replicas(prefill)
    if behind <= second or second + _replicas(decode) <= first:
        return deployment
    moved = _with_port(decode, behind, f"behind the {_replicas(prefill)} ports of prefill")
    return deployment.replace(
        processes=tuple(moved if plan is decode else plan for plan in deployment.processes)
    )


def _port(plan: ProcessPlan) -> int | None:
    text = plan.env.get(_PORT, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None


def _replicas(plan: ProcessPlan) -> int:
    return plan.number("--data-parallel-size-local") or plan.number("--data-parallel-size") or 1


def _with_port(plan: ProcessPlan, port: int, why: str) -> ProcessPlan:
    def moved(name: str, value: str, source: Source) -> tuple[str, str, Source]:
        if name != _PORT or source.layer == "operator":
            return name, value, source
        return name, str(port), source.replace(detail=why)

    return plan.replace(variables=tuple(moved(*variable) for variable in plan.variables))
