"""What no combination ever uses."""

from __future__ import annotations

from .fault import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .combinations import Trial
    from .fault import Fault
    from .written import Block

_READ_BY_OTHERS = ("model.mandatory_args",)


def unused(trial: Trial, blocks: Iterable[Block]) -> Iterator[Fault]:
    """Variants, modes and blocks that counted in no combination."""
    never_run = dict(_never_run(trial))
    yield from never_run.values()
    # A preset that does not resolve is told about as such.
    covered = (*never_run, "presets.")
    reached = trial.machines
    for block in blocks:
        if ".dynamo." in block.path:  # only where Dynamo is asked for
            continue
        empty = not block.arguments and not block.variables
        if empty or block.path in reached or block.path in _READ_BY_OTHERS:
            continue
        if not block.path.startswith(covered):
            yield at(
                block.spot, "LINT_UNREACHABLE", "warning",
                f"{block.path} counts in no combination of variant, hardware and strategy",
                "Put it under a key that counts (see the order of layers), or take it away.",
            )  # fmt: skip


def _never_run(trial: Trial) -> Iterator[tuple[str, Fault]]:
    """Variants and modes that no combination runs, by the beginning of the key paths in them."""
    for variant in trial.recipe.variants.values():
        if variant.id not in trial.variants:
            yield f"{variant.where.layer}.", at(
                variant.where, "LINT_UNREACHABLE", "warning",
                f"no combination of hardware and strategy runs the variant {variant.id}",
                "Correct supported_hardware or the precision, or take it away.",
            )  # fmt: skip
    for feature in trial.recipe.features.values():
        for mode in feature.modes.values():
            if (feature.id, mode.id) not in trial.modes:
                yield f"{mode.where.layer}.", at(
                    mode.where, "LINT_UNREACHABLE", "warning",
                    f"no combination runs the mode {mode.id} of the feature {feature.id}",
                    "Correct its variants or its hardware, or take it away.",
                )  # fmt: skip
