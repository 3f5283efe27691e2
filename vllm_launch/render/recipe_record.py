"""One recipe for programs."""

from __future__ import annotations

from .origin import origin_record
from .recipe_page import benchmark_command
from .summary import notes_that_apply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.deployment import Deployment
    from ..model.recipe import Note, Preset
    from .recipe_page import Shown


def show_record(shown: Shown) -> dict[str, Any]:
    """What there is to choose, and what was chosen where something was."""
    recipe = shown.recipe
    record: dict[str, Any] = {
        "id": recipe.id,
        "title": recipe.meta.title,
        "provider": recipe.meta.provider,
        "tasks": list(recipe.meta.tasks),
        "parameter_count": recipe.model.parameter_count,
        "active_parameters": recipe.model.active_parameters or None,
        "context_length": recipe.model.context_length,
        "hardware": dict(recipe.meta.hardware),
        "description": recipe.meta.description,
        "min_vllm_version": recipe.model.min_vllm_version,
        "prerequisites": recipe.model.prerequisites,
        "strategies": list(recipe.compatible_strategies),
    }
    record["features"] = {
        feature.id: {
            "description": feature.description,
            "modes": list(feature.modes),
            "opt_in": feature.id in recipe.opt_in_features,
        }
        for feature in recipe.features.values()
    }
    record["variants"] = {
        variant.id: {
            "model_id": variant.model_id or recipe.model.model_id,
            "precision": variant.precision,
            "vram_minimum_gb": variant.vram_minimum_gb,
            "description": variant.description,
        }
        for variant in recipe.variants.values()
    }
    record["kv_offload"] = dict(shown.offload)
    record["presets"] = {preset.id: _preset(preset) for preset in recipe.presets.values()}
    record["notes"] = [_note(note, shown.deployment) for note in recipe.notes]
    record["client"] = recipe.client
    record["benchmark"] = recipe.benchmark
    record["benchmark_command"] = benchmark_command(shown) if recipe.benchmark else None
    record["guide"] = recipe.guide
    record["file"] = recipe.where.file
    record["origin"] = origin_record(shown.origin)
    if shown.deployment is not None:
        record["choice"] = _choice(shown.deployment)
    return record


def _preset(preset: Preset) -> dict[str, Any]:
    return {
        "hardware": preset.hardware,
        "strategy": preset.strategy,
        "variants": list(preset.variants),
        "description": preset.description,
        "workload": preset.workload,
        "points": list(preset.points),
        "concurrency": {point.id: point.concurrency for point in preset.points.values()},
        "evidence": preset.source.href,
    }


def _note(note: Note, deployment: Deployment | None) -> dict[str, Any]:
    fields = type(note.when)._fields
    when = {name: list(words) for name in fields if (words := getattr(note.when, name))}
    record: dict[str, Any] = {"title": note.title, "body": note.body, "when": when}
    if deployment is not None:
        record["applies"] = note in notes_that_apply(deployment)
    return record


def _choice(deployment: Deployment) -> dict[str, Any]:
    choice = deployment.choice
    return {
        "hardware": choice.hardware.id,
        "variant": choice.variant,
        "strategy": choice.strategy,
        "nodes": choice.nodes,
        "features": dict(choice.features),
        "kv_offload": choice.kv_offload,
        "preset": choice.preset,
        "point": choice.point,
    }
