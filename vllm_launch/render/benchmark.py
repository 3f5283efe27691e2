"""The command that measures a server as a recipe says."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .recipe_page import Shown


def benchmark_command(shown: Shown) -> list[str]:
    """``vllm bench serve`` with the recipe's settings, for the model of the variant."""
    deployment, recipe = shown.deployment, shown.recipe
    model = deployment.processes[0].model if deployment else recipe.model.model_id
    argv = ["vllm", "bench", "serve", "--model", model]
    settings = recipe.benchmark
    for name, value in settings.items() if isinstance(settings, dict) else ():
        argv += _option(f"--{name.replace('_', '-')}", value)
    return argv


def _option(flag: str, value: Any) -> Iterator[str]:
    """An option's words; none for one that is off."""
    if value is None or value is False:
        return
    yield flag
    if isinstance(value, list):
        yield from map(_word, value)
    elif value is not True:
        yield _word(value)


def _word(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)
