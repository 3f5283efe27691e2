"""Recipes for people and for programs."""

from __future__ import annotations

from .origin import origin_lines, origin_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..model.origin import Origin
    from ..model.recipe import Feature, Recipe

_WIDTH = 78


def show_text(recipe: Recipe, offload: Mapping[str, str], origin: Origin) -> str:
    """What an operator chooses among, then the notes and the guide."""
    lines = [recipe.id, *_paragraph(recipe.meta.description), ""]
    lines += _facts(recipe)
    lines += [f"{f'{name}:' if name else '':13} {value}" for name, value in origin_lines(origin)]
    lines += _section("Variants", _variants(recipe))
    lines += _section("Strategies", list(recipe.compatible_strategies))
    lines += _section("Features", [_feature(recipe, f) for f in recipe.features.values()])
    kv = [f"{name}: {about}" for name, about in offload.items()]
    lines += _section("KV offload (--kv-offload)", kv)
    lines += _section("Presets", _presets(recipe))
    lines += _section("Client", _settings(recipe.client))
    lines += _section("Benchmark", _settings(recipe.benchmark))
    for note in recipe.notes:
        lines += ["", f"Note: {note.title}"]
        lines += [f"  {line}" for line in note.body.splitlines()]
    if recipe.guide:
        lines += ["", recipe.guide.rstrip()]
    return "\n".join(lines) + "\n"


def _paragraph(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, _WIDTH)


def _section(title: str, entries: Sequence[str]) -> list[str]:
    if not entries:
        return []
    import textwrap

    lines = ["", title]
    for entry in entries:
        lines += textwrap.wrap(entry, _WIDTH, initial_indent="  ", subsequent_indent="      ")
    return lines


def _facts(recipe: Recipe) -> Iterator[str]:
    model = recipe.model
    version = model.min_vllm_version
    for name, value in (
        ("parameters", model.parameter_count),
        ("active", model.active_parameters),
        ("context", f"{model.context_length} tokens" if model.context_length else ""),
        ("vLLM", f"{version} or newer" if version else ""),
        ("verified on", ", ".join(k for k, v in recipe.meta.hardware.items() if v == "verified")),
        ("recipe", f"{recipe.where.file}"),
    ):
        if value:
            yield f"{name + ':':13} {value}"


def _variants(recipe: Recipe) -> list[str]:
    entries = []
    for variant in recipe.variants.values():
        needs = f"{variant.vram_minimum_gb:g} GB" if variant.vram_minimum_gb else "unknown memory"
        model = variant.model_id or recipe.model.model_id
        entries.append(
            f"{variant.id} ({variant.precision}, {needs}): {model}. {variant.description}"
        )
    return entries


def _feature(recipe: Recipe, feature: Feature) -> str:
    off = " (off unless asked for)" if feature.id in recipe.opt_in_features else ""
    modes = f" Modes: {', '.join(feature.modes)}." if feature.modes else ""
    return f"{feature.id}{off}: {feature.description}{modes}"


def _presets(recipe: Recipe) -> list[str]:
    return [
        f"{preset.id} ({preset.hardware}, {preset.strategy}): {preset.description} "
        f"Points: {', '.join(preset.points) or 'none'}. Evidence: {preset.source.href or 'none'}"
        for preset in recipe.presets.values()
    ]


def _settings(settings: Any) -> list[str]:
    import json

    if not isinstance(settings, dict):
        return []
    return [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in settings.items()
    ]


def show_record(recipe: Recipe, offload: Mapping[str, str], origin: Origin) -> dict[str, Any]:
    """A recipe for programs: what there is to choose."""
    record: dict[str, Any] = {
        "id": recipe.id,
        "title": recipe.meta.title,
        "provider": recipe.meta.provider,
        "tasks": list(recipe.meta.tasks),
        "parameter_count": recipe.model.parameter_count,
        "hardware": dict(recipe.meta.hardware),
        "description": recipe.meta.description,
    }
    record["min_vllm_version"] = recipe.model.min_vllm_version
    record["strategies"] = list(recipe.compatible_strategies)
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
        }
        for variant in recipe.variants.values()
    }
    record["kv_offload"] = dict(offload)
    record["presets"] = {
        preset.id: {
            "hardware": preset.hardware,
            "strategy": preset.strategy,
            "variants": list(preset.variants),
            "points": list(preset.points),
            "evidence": preset.source.href,
        }
        for preset in recipe.presets.values()
    }
    record["notes"] = [{"title": note.title, "body": note.body} for note in recipe.notes]
    record["client"] = recipe.client
    record["benchmark"] = recipe.benchmark
    record["file"] = recipe.where.file
    record["origin"] = origin_record(origin)
    return record
