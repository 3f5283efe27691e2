"""How long servers take to start and to stop, and where they answer."""

from __future__ import annotations

from ..resolve.placeholders import local_address

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.part import Part

_READY = "VLLM_ENGINE_READY_TIMEOUT_S"
_READY_DEFAULT = 600  # seconds that vLLM itself waits for its engine
_LEAST = 3600  # weights that are there already, compiled and captured for the first time
_SPARE = 600  # what comes before the engine and after it
DOWNLOAD = 250  # MB/s, of a hub cache that is still empty
_GRACE = 120  # seconds to answer what was asked before


def ready_timeout(plan: ProcessPlan) -> int:
    """Seconds that vLLM itself waits for its engine."""
    text = plan.env.get(_READY, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else _READY_DEFAULT


def download_seconds(deployment: Deployment) -> int:
    """How long the weights take into an empty hub cache; the recipe's memory figure is theirs."""
    gigabytes = deployment.recipe.variants[deployment.choice.variant].vram_minimum_gb or 0
    return int(gigabytes * 1000 / DOWNLOAD)


def startup_seconds(deployment: Deployment, plan: ProcessPlan) -> int:
    """How long a cold start may take, in whole minutes: download, engine, and some to spare."""
    needed = download_seconds(deployment) + ready_timeout(plan) + _SPARE
    return -(-max(_LEAST, needed) // 60) * 60


def health_url(part: Part) -> str | None:
    """Where a server says on its own machine that it is ready; None for what never does."""
    if part.port is None or part.plan is None or part.plan.value("--uds"):
        return None
    scheme = "https" if part.plan.encrypted else "http"
    host = local_address(part)
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{part.port}/health"


def stop_seconds(part: Part) -> int:
    """Seconds until a stop is forced: longer than the server's own time for what it answers."""
    own = part.plan.number("--shutdown-timeout") if part.plan is not None else None
    return max(_GRACE, (own or 0) + 30)
