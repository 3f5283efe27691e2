"""What an operator should be told about a plan that can be launched all the same."""

from __future__ import annotations

from ..resolve.footprint import shortfall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..catalog.shelf import Found
    from ..model.deployment import Deployment

# Variables that decide which code a process runs.
_POWERFUL = ("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "BASH_ENV", "ENV")


def remarks(deployment: Deployment, found: Found) -> Iterator[str]:
    """Notes on memory and on what a foreign recipe reaches for."""
    short = shortfall(deployment)
    if short is not None:
        yield f"{short}; see vllm-launch fit {deployment.recipe.id}"
    yield from _layers(found)
    if not found.library.own or found.overlays:
        yield from _reaches(deployment)


def _layers(found: Found) -> Iterator[str]:
    """Which sources besides the recipe's own have a say, or would have had."""
    if found.shadowed:
        hidden = " and ".join(found.shadowed)
        yield f"the recipe is from {found.library.source}, and hides that of {hidden}"
    for path in found.overlays:
        yield f"the overlay {path} changes the recipe"


def _reaches(deployment: Deployment) -> Iterator[str]:
    """What a recipe of somebody else's sets that decides what code runs or what is mounted."""
    seen: set[str] = set()
    for plan in deployment.processes:
        for name, value, source in plan.variables:
            if source.layer == "operator" or name in seen:
                continue
            seen.add(name)
            if name in _POWERFUL or name.startswith("LD_"):
                yield f"the recipe sets {name}={value}, which decides what code runs"
            elif name.endswith("_CONFIG_PATH") and not value.startswith("$"):
                yield f"the recipe names the file {value} ({name}), which a container is given"
