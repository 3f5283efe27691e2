"""One recipe for people: a page of what there is to choose among, and the rest when asked for."""

from __future__ import annotations

from ..model.record import Record
from ..resolve.benchmark import BENCH, options_of
from .origin import origin_lines
from .shell import command
from .summary import choice_line, notes_that_apply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from ..model.deployment import Deployment
    from ..model.origin import Origin
    from ..model.recipe import Feature, Note, Point, Preset, Recipe
    from .paper import Paper

_LABELS = 13


class Shown(Record):
    """A recipe with what its directory adds to it, and what options make of it."""

    recipe: Recipe
    origin: Origin
    offload: Mapping[str, str]  # KV offload options and stores, with what they are
    deployment: Deployment | None = None  # None: nothing was chosen


def benchmark_command(shown: Shown) -> list[str]:
    """``vllm bench serve`` with the recipe's settings, for the model of the variant."""
    deployment, recipe = shown.deployment, shown.recipe
    model = deployment.processes[0].model if deployment else recipe.model.model_id
    return [*BENCH, "--model", model, *(w for words in options_of(recipe.benchmark) for w in words)]


class Asked(Record):
    """Which parts are wanted; none of them: the page."""

    presets: bool = False
    notes: bool = False
    guide: bool = False
    everything: bool = False


def show_text(shown: Shown, asked: Asked, paper: Paper) -> str:
    """The page, or the parts that are asked for."""
    recipe = shown.recipe
    parts = []
    if asked.everything or not (asked.presets or asked.notes or asked.guide):
        parts.append(_page(shown, asked, paper))
    if (asked.presets or asked.everything) and recipe.presets:
        parts.append(_presets(recipe, paper))
    if (asked.notes or asked.everything) and recipe.notes:
        parts.append(_notes(_applying(shown), paper))
    if (asked.guide or asked.everything) and recipe.guide:
        parts.append(paper.markdown(recipe.guide))
    return "\n".join(parts) or f"{recipe.id} has none of that\n"


def _page(shown: Shown, asked: Asked, paper: Paper) -> str:
    recipe = shown.recipe
    lines = [paper.heading(recipe.id), *paper.wrapped(recipe.meta.description, "", ""), ""]
    lines += [_labelled(name, value, paper) for name, value in _facts(shown) if value]
    sections = [
        ("Chosen", _chosen(shown)),
        ("Prerequisites", _prerequisites(recipe)),
        ("Variants", _variants(recipe)),
        ("Strategies", [", ".join(recipe.compatible_strategies)]),
        ("Features", [_feature(recipe, each, asked) for each in recipe.features.values()]),
        ("KV offload (--kv-offload)", _offload(shown, asked)),
        ("Presets", [_preset_line(each) for each in recipe.presets.values()]),
        ("Client", _settings(recipe.client)),
    ]
    for title, entries in sections:
        lines += _section(title, entries, paper)
    if recipe.benchmark:
        lines += ["", paper.heading("Benchmark"), *_indented(command(benchmark_command(shown), ()))]
    if shown.deployment is not None and not asked.everything:
        lines += [line for note in _applying(shown) for line in ("", *_note(note, paper))]
    elif not asked.everything:
        lines += _section("Notes", [note.title for note in recipe.notes], paper)
    more = "" if asked.everything else _more(recipe)
    return "\n".join([*lines, *(["", more] if more else [])]) + "\n"


def _section(title: str, entries: Sequence[str], paper: Paper) -> list[str]:
    entries = [entry for entry in entries if entry]
    if not entries:
        return []
    return ["", paper.heading(title), *(line for entry in entries for line in paper.wrapped(entry))]


def _labelled(name: str, value: str, paper: Paper) -> str:
    label = f"{f'{name}:' if name else '':{_LABELS}} "
    return "\n".join(paper.wrapped(value, label, " " * len(label)))


def _facts(shown: Shown) -> Iterator[tuple[str, str]]:
    meta, model = shown.recipe.meta, shown.recipe.model
    active = f", {model.active_parameters} active" if model.active_parameters else ""
    version = model.min_vllm_version
    nightly = ", a nightly until it is released" if model.nightly_required else ""
    yield "provider", meta.provider
    yield "tasks", ", ".join(meta.tasks)
    yield "parameters", f"{model.parameter_count}{active}" if model.parameter_count else ""
    yield "context", f"{model.context_length} tokens" if model.context_length else ""
    yield "vLLM", f"{version} or newer{nightly}" if version else ""
    yield "verified on", ", ".join(k for k, word in meta.hardware.items() if word == "verified")
    yield "recipe", shown.recipe.where.file
    yield from origin_lines(shown.origin)


def _chosen(shown: Shown) -> list[str]:
    return [choice_line(shown.deployment.choice)] if shown.deployment is not None else []


def _prerequisites(recipe: Recipe) -> list[str]:
    """What the host must have, then what is to be installed beside vLLM."""
    lines = []
    wanted = recipe.model.prerequisites
    for name, value in wanted.items() if isinstance(wanted, dict) else ():
        if isinstance(value, list):
            lines += [str(each) for each in value]
        else:
            lines.append(f"{name.replace('_', ' ')}: {value}")
    for each in recipe.dependencies:
        about = f"{each.note}{' (optional)' if each.optional else ''}: " if each.note else ""
        lines.append(f"{about}{' '.join(each.command.split())}")
    return lines


def _variants(recipe: Recipe) -> list[str]:
    entries = []
    for variant in recipe.variants.values():
        needs = f"{variant.vram_minimum_gb:g} GB" if variant.vram_minimum_gb else "unknown memory"
        facts = ", ".join(filter(None, (variant.precision, needs)))
        model = variant.model_id or recipe.model.model_id
        entries.append(f"{variant.id} ({facts}): {model}. {variant.description}".rstrip())
    return entries


def _feature(recipe: Recipe, feature: Feature, asked: Asked) -> str:
    off = " (off unless asked for)" if feature.id in recipe.opt_in_features else ""
    modes = f" Modes: {', '.join(feature.modes)}." if feature.modes else ""
    about = feature.description if asked.everything else _sentence(feature.description)
    return f"{feature.id}{off}: {about}{modes}"


def _offload(shown: Shown, asked: Asked) -> list[str]:
    if asked.everything:
        return [f"{name}: {text}" for name, text in shown.offload.items()]
    return [", ".join(shown.offload)]


def _sentence(text: str) -> str:
    """The first sentence of a description."""
    first, end, _ = text.partition(". ")
    return f"{first}." if end else text


def _preset_line(preset: Preset) -> str:
    count = len(preset.points)
    points = f", {count} point{'s' * (count != 1)}" if count else ""
    about = preset.label or _sentence(preset.description)
    return f"{preset.id} ({preset.hardware}, {preset.strategy}{points}): {about}"


def _more(recipe: Recipe) -> str:
    """The options that show the rest."""
    there = {"--presets": recipe.presets, "--notes": recipe.notes, "--guide": recipe.guide}
    names = [name for name, part in there.items() if part]
    return f"More: {', '.join(names)}, or --all" if names else ""


def _presets(recipe: Recipe, paper: Paper) -> str:
    lines: list[str] = []
    for preset in recipe.presets.values():
        lines += [*([""] if lines else []), paper.heading(f"Preset {preset.id}")]
        lines += [_labelled(name, value, paper) for name, value in _preset_facts(preset) if value]
        lines += paper.wrapped(preset.description, "", "")
        for point in preset.points.values():
            lines += paper.wrapped(_point(preset, point))
    return "\n".join(lines) + "\n"


def _preset_facts(preset: Preset) -> Iterator[tuple[str, str]]:
    yield "hardware", preset.hardware
    yield "strategy", preset.strategy
    yield "variant", " or ".join(preset.variants)
    yield "workload", preset.workload
    source = preset.source
    yield "evidence", " ".join(filter(None, (source.label, source.href, source.revision)))


def _point(preset: Preset, point: Point) -> str:
    at = f" (concurrency {point.concurrency})" if point.concurrency is not None else ""
    about = ": ".join(filter(None, (point.label, point.description)))
    return f"{preset.id}:{point.id}{at}" + (f": {about}" if about else "")


def _applying(shown: Shown) -> Sequence[Note]:
    """The notes: those of the choice where there is one."""
    return notes_that_apply(shown.deployment) if shown.deployment else shown.recipe.notes


def _notes(notes: Sequence[Note], paper: Paper) -> str:
    return "\n".join("\n".join(_note(note, paper)) + "\n" for note in notes)


def _note(note: Note, paper: Paper) -> list[str]:
    when = [
        f"{subject} {' or '.join(words)}"
        for subject in type(note.when)._fields
        if (words := getattr(note.when, subject))
    ]
    where = f" ({', '.join(when)})" if when else ""
    return [
        *map(paper.heading, paper.wrapped(f"Note: {note.title}{where}", "", "  ")),
        *_indented(paper.narrowed(2).markdown(note.body)),
    ]


def _indented(text: str) -> list[str]:
    return [f"  {line}".rstrip() for line in text.strip("\n").splitlines()]


def _settings(settings: Any) -> list[str]:
    import json

    if not isinstance(settings, dict):
        return []
    return [
        f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in settings.items()
    ]
