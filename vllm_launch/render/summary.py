"""What was chosen, in a few lines for a person."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..model.choice import Choice
    from ..model.deployment import Deployment
    from ..model.recipe import Note, Recipe

_USUAL = ("asked for", "the recipe's default", "the only one")


def summary(deployment: Deployment) -> str:
    """The choice on one line, then what to know before the command is run."""
    choice, recipe = deployment.choice, deployment.recipe
    lines = [f"# {recipe.id}: {choice_line(choice)}"]
    lines += [f"# {text}" for text in _surprises(choice)]
    lines += [f"# note: {text}" for text in (*_needs(recipe, deployment), *deployment.notes)]
    titles = [note.title for note in notes_that_apply(deployment)]
    if titles:
        see = f"vllm-launch recipes show {recipe.id} --notes"
        lines.append(f"# see '{see}': {'; '.join(titles)}")
    return "\n".join(lines) + "\n"


def choice_line(choice: Choice) -> str:
    """Hardware, strategy, variant, preset and features on one line."""
    nodes = f" × {choice.nodes} nodes" if choice.nodes > 1 else ""
    parts = [
        f"{choice.hardware.id}{nodes}",
        f"{choice.strategy}",
        f"variant {choice.variant}",
    ]
    if choice.preset:
        parts.append(f"preset {choice.preset}" + (f":{choice.point}" if choice.point else ""))
    if choice.kv_offload:
        parts.append(f"KV {choice.kv_offload}")
    on = [name if mode is None else f"{name}={mode}" for name, mode in choice.features]
    parts.append("features " + (", ".join(on) or "none"))
    return " · ".join(parts)


def _surprises(choice: Choice) -> Iterator[str]:
    """What was found on the host, and why a variant other than the usual one was taken."""
    for subject, picked, why in choice.reasons:
        found = subject == "hardware" and choice.request.profile is not None
        other = subject == "variant" and choice.preset is None and why not in _USUAL
        if found or other:
            yield f"{subject} {picked}: {why}"


def _needs(recipe: Recipe, deployment: Deployment) -> Iterator[str]:
    """The vLLM version that the plan is for."""
    variant = recipe.variants[deployment.choice.variant]
    version = variant.min_vllm_version or recipe.model.min_vllm_version
    nightly = " (a nightly wheel until it is released)" if recipe.model.nightly_required else ""
    if version:
        yield f"needs vLLM {version} or newer{nightly}; image {deployment.image or 'not known'}"


def notes_that_apply(deployment: Deployment) -> list[Note]:
    """The recipe's notes for this choice."""
    choice = deployment.choice
    have = {
        "hardware": {choice.hardware.id, choice.hardware.generation, choice.hardware.brand.lower()},
        "strategy": {choice.strategy},
        "variant": {choice.variant},
        "role": {plan.role for plan in deployment.processes},
        "preset": {choice.preset or ""},
        "feature": {name for name, _ in choice.features},
    }
    return [
        note
        for note in deployment.recipe.notes
        if all(
            not getattr(note.when, subject) or not names.isdisjoint(getattr(note.when, subject))
            for subject, names in have.items()
        )
    ]


def settings_text(settings: Iterable[tuple[str, Any, str]]) -> str:
    """Each option that was set, and the option, variable or line that set it."""
    lines = []
    for name, value, source in settings:
        shown = ", ".join(value) if isinstance(value, tuple) else value
        lines.append(f"  {name.replace('_', '-')} {shown}: {source}\n")
    return "\nSettings\n" + "".join(lines) if lines else ""
