"""How long servers take to start and to stop, and where they answer."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.part import Part

_START = 3600  # seconds: weights may be downloaded and kernels compiled
_GRACE = 120  # seconds to answer what was asked before


def health_url(part: Part) -> str | None:
    """Where a server says on its own machine that it is ready; None for what never does."""
    if part.port is None or part.plan is None:
        return None
    return f"http://{_own_address(part)}:{part.port}/health"


def _own_address(part: Part) -> str:
    host = (part.plan.value("--host") if part.plan else None) or ""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - compared with, not listened on
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def start_seconds(part: Part) -> int:
    """Seconds that a cold start may take: at least as long as vLLM itself waits."""
    waits = dict(part.env).get("VLLM_ENGINE_READY_TIMEOUT_S", "")
    own = int(waits) if waits.isascii() and waits.isdecimal() and len(waits) < 7 else 0
    return max(_START, own)


def stop_seconds(part: Part) -> int:
    """Seconds until a stop is forced: longer than the server's own time for what it answers."""
    own = part.plan.number("--shutdown-timeout") if part.plan is not None else None
    return max(_GRACE, (own or 0) + 30)
