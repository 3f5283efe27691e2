"""What a preset and its point change, after every other layer."""

from __future__ import annotations

from ..errors import RecipeError, UsageError, instead
from .arguments import last_wins, merge_json, without
from .parallelism import size_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from ..model.choice import Request
    from ..model.recipe import Point, Preset, Recipe, Tuning
    from ..model.source import Arguments, Source
    from ..model.taxonomy import HardwareProfile


def asked_preset(recipe: Recipe, request: Request) -> tuple[Preset | None, tuple[Tuning, ...]]:
    """The preset asked for, with the blocks that change a plan; nothing where none is.

    Raises UsageError where there is no such, or where more is asked for that contradicts it.
    """
    if request.preset is None:
        if request.point is None:
            return None, ()
        raise UsageError(
            f"the point {request.point!r} belongs to no preset", hint="give --preset NAME:POINT"
        )
    preset, point = find(recipe, request.preset, request.point)
    _refuse_contradictions(recipe, preset, request)
    return preset, tunings(preset, point)


def _refuse_contradictions(recipe: Recipe, preset: Preset, request: Request) -> None:
    """A preset sets hardware, strategy and variant; naming others beside it is an error."""
    name = preset.id
    if request.hardware not in (None, preset.hardware):
        there = [p.id for p in recipe.presets.values() if p.hardware == request.hardware]
        raise UsageError(
            f"the preset {name} is for {preset.hardware}, not {request.hardware}",
            hint="drop --hardware, or pick a preset for it: "
            + (", ".join(there) or "there is none"),
        )
    if request.strategy not in (None, preset.strategy):
        raise UsageError(
            f"the preset {name} is for the strategy {preset.strategy}, not {request.strategy}",
            hint="drop --strategy",
        )
    if preset.variants and request.variant not in (None, *preset.variants):
        raise UsageError(
            f"the preset {name} is for variant {' or '.join(preset.variants)}, "
            f"not {request.variant}",
            hint="drop --variant",
        )


def find(recipe: Recipe, name: str, point: str | None) -> tuple[Preset, Point | None]:
    """A preset and the point asked for. Raises UsageError where there is no such."""
    preset = recipe.presets.get(name)
    if preset is None:
        raise UsageError(
            f"{recipe.id} has no preset {name!r}",
            hint=instead(name, "presets", recipe.presets),
        )
    if point is None:
        return preset, None
    if point not in preset.points:
        raise UsageError(
            f"the preset {name} has no point {point!r}",
            hint=instead(point, "points", preset.points),
        )
    return preset, preset.points[point]


def tunings(preset: Preset, point: Point | None) -> tuple[Tuning, ...]:
    """The blocks that change a plan, in order."""
    return (preset,) if point is None else (preset, point)


def forced_tp(blocks: tuple[Tuning, ...], hardware: HardwareProfile) -> tuple[int, Source] | None:
    """The TP size that a preset or its point sets, the point's first."""
    for block in reversed(blocks):
        size = size_on(block.tp, hardware)
        if block.tp is not None and size is not None:
            return size, block.tp.where
    return None


def tuned(arguments: Arguments, blocks: tuple[Tuning, ...], off: Collection[str] = ()) -> Arguments:
    """Arguments with each block's removals, additions and JSON merges, last occurrence kept.

    A flag in ``off`` belongs to a feature that is switched off: merging does not bring it back.

    Raises RecipeError where JSON is to be merged into something that is no JSON mapping.
    """
    arguments = last_wins(arguments)
    for block in blocks:
        arguments = without(arguments, {flag for flag, _ in block.remove_args})
        arguments = last_wins((*arguments, *block.args))
        for flag, values, source in block.json_args:
            if flag in off and all(argument[0] != flag for argument in arguments):
                continue
            try:
                arguments = merge_json(arguments, flag, values, source)
            except ValueError as error:
                raise RecipeError(f"{source.file}:{source.line}: {source.layer}: {error}") from None
    return arguments
