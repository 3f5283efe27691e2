"""The toy proxy of vLLM's tests, which may stand where the router does for a quick test."""

from __future__ import annotations

from ..errors import UsageError
from ..model.part import SERVERS, Part
from ..model.source import Source
from .placeholders import address_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.deployment import Deployment


def proxy(deployment: Deployment, all_parts: Sequence[Part], port: int, host: str = "") -> Part:
    """The proxy before the very servers that the router would ask.

    Raises UsageError where there are no pools, or none that it could ask.
    """
    if deployment.deploy_type != "pd_cluster":
        raise UsageError(
            "the toy proxy stands between prefill and decode, and this deployment has no pools",
            hint="give --strategy pd_cluster",
        )
    if any(plan.encrypted for plan in deployment.processes):
        raise UsageError(
            "the toy proxy asks over http:// alone, and the servers answer over TLS",
            hint="leave --ssl-certfile and --ssl-keyfile out, or use the router",
        )
    argv = ["python3", "$TOY_PROXY", "--port", str(port), *(("--host", host) if host else ())]
    for pool, role in (("prefiller", "prefill"), ("decoder", "decode")):
        asked = [part for part in all_parts if part.role == role and part.port is not None]
        argv += [f"--{pool}-host", *(f"${address_name(part)}" for part in asked)]
        argv += [f"--{pool}-port", *(str(part.port) for part in asked)]
    return Part(
        name="proxy",
        role="proxy",
        argv=tuple(argv),
        port=port,
        after=tuple(part.name for part in all_parts if part.role in SERVERS),
        source=Source(layer="proxy", detail="tests/v1/kv_connector/nixl_integration of vLLM"),
    )
