"""How Kubernetes finds out that a server has started, and that it lives."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ...model.deployment import ProcessPlan

_PERIOD = 10


def server_probes(plan: ProcessPlan, port: int, startup: int) -> dict[str, Any]:
    """The probes of a server: none but the first may end it before it has started."""
    check = _health(port, plan.encrypted)
    return {
        "startupProbe": _startup(check, startup),
        "readinessProbe": {**check, "periodSeconds": 10, "timeoutSeconds": 5},
        # Slack for a busy server: a restart costs a whole start.
        "livenessProbe": {**check, "periodSeconds": 30, "timeoutSeconds": 10,
                          "failureThreshold": 4},
    }  # fmt: skip


def router_probes(port: int, startup: int) -> dict[str, Any]:
    """A router's: it may listen only when the servers behind it answer."""
    listening = {"tcpSocket": {"port": port}}
    return {
        "startupProbe": _startup(listening, startup),
        "readinessProbe": {**_health(port), "periodSeconds": 10, "timeoutSeconds": 5},
        "livenessProbe": {**listening, "periodSeconds": 30},
    }


def listening_probes(port: int) -> dict[str, Any]:
    """Those of a process that speaks no HTTP."""
    listening = {"tcpSocket": {"port": port}}
    return {"readinessProbe": {**listening, "periodSeconds": 5}}


def sidecar_probe(port: int) -> dict[str, Any]:
    """What the server's own start waits for."""
    return {"startupProbe": _startup({"tcpSocket": {"port": port}}, 600)}


def _startup(check: Mapping[str, Any], seconds: int) -> dict[str, Any]:
    return {
        **check,
        "periodSeconds": _PERIOD,
        "timeoutSeconds": 5,
        "failureThreshold": -(-seconds // _PERIOD),
    }


def _health(port: int, tls: bool = False) -> dict[str, Any]:
    scheme = {"scheme": "HTTPS"} if tls else {}
    return {"httpGet": {"path": "/health", "port": port, **scheme}}
