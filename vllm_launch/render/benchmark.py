"""The command that measures a server as a recipe says."""

from __future__ import annotations

from ..resolve.benchmark import BENCH, options_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .recipe_page import Shown


def benchmark_command(shown: Shown) -> list[str]:
    """``vllm bench serve`` with the recipe's settings, for the model of the variant."""
    deployment, recipe = shown.deployment, shown.recipe
    model = deployment.processes[0].model if deployment else recipe.model.model_id
    return [*BENCH, "--model", model, *(w for words in options_of(recipe.benchmark) for w in words)]
