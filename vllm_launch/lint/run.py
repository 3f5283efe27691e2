"""All of the faults of one file."""

from __future__ import annotations

from ..catalog.format import RECIPE
from ..model.recipe import Recipe
from ..model.record import Record
from ..model.strategy import KvStore
from ..resolve.resolver import Resolver
from . import flags, images, json_text, lists, memory, names, unreachable, words
from .combinations import Trial
from .fault import SEVERITIES, Fault, at
from .scope import scope_of
from .written import blocks as blocks_of
from .written import images as images_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..catalog.reading import Reader
    from ..catalog.tree import Node
    from ..model.problem import Problem
    from ..model.taxonomy import Taxonomy
    from ..model.vllm import VllmOptions
    from ..resolve.resolver import Words
    from .releases import Span
    from .scope import Scope
    from .written import Block


# Arguments of programs that are not vLLM.
_OTHER_PROGRAMS = (".dynamo.frontend_args", ".dynamo.frontend_env")


def of_problems(problems: Iterable[Problem]) -> Iterator[Fault]:
    """What the catalog found in reading a file."""
    for one in problems:
        yield Fault(
            code="LINT_FORMAT",
            severity="warning" if one.warning else "error",
            file=one.file,
            line=one.line,
            column=one.column,
            path=one.path,
            what=one.message,
            remedy=one.hint,
        )


def faults_of_file(
    root: Node,
    reader: Reader,
    file: str,
    taxonomy: Taxonomy,
    options: VllmOptions,
    value: object,
    problems: Iterable[Problem],
) -> list[Fault]:
    """What else is wrong in a taxonomy, a strategy, a KV store, or a recipe with faults.

    Where its oldest release cannot be read, it is held against the newest alone.
    """
    recipe, minimum = value if isinstance(value, Recipe) else None, ""
    if isinstance(value, KvStore):
        minimum = value.min_vllm_version
    lost = any(one.path.endswith("min_vllm_version") for one in problems)
    if lost or not isinstance(value, Record):
        recipe, minimum = None, options.releases[-1]
    blocks = list(blocks_of(root, reader, file))
    scope = scope_of(options, taxonomy, recipe, blocks, minimum)
    found = [fault for block in blocks for fault in _of_block(block, scope)]
    return [*found, *images.named(images_of(root, reader, file))]


def faults_of_recipe(
    root: Node,
    recipe: Recipe,
    file: str,
    library: Words,
    stores: tuple[str, ...],
    options: VllmOptions,
) -> tuple[list[Fault], int]:
    """What is wrong in a recipe, and how many combinations were tried."""
    blocks = list(blocks_of(root, RECIPE, file))
    trial = Trial(Resolver(recipe, library), stores, options)
    found = trial.run()
    written, used = list(images_of(root, RECIPE, file)), images.used(trial)
    by_machine = {(one.variant, one.hardware): one.image for one in used if one.hardware}
    scope = scope_of(
        options, library.taxonomy, recipe, blocks, machines=trial.machines, images=by_machine
    )
    found += [fault for block in blocks for fault in _of_block(block, scope)]
    found += images.named(written)
    found += images.new_enough(recipe, used, written)
    found += memory.figures(recipe)
    found += words.meant(root, file)
    found += _not_used(trial, blocks)
    return [*found, *_declared(recipe, found)], trial.tried


def _not_used(trial: Trial, blocks: list[Block]) -> Iterator[Fault]:
    offered = trial.resolver.chooser.offered
    if not any(map(offered, trial.resolver.taxonomy.hardware_profiles.values())):
        yield _without_strategy(trial.recipe)
    elif not trial.complete:
        yield _too_many(trial)
    else:
        yield from unreachable.unused(trial, blocks)
        yield from trial.shadows.faults()


def _of_block(block: Block, scope: Scope) -> Iterator[Fault]:
    if block.path.endswith(_OTHER_PROGRAMS):
        return
    found = list(_by_releases(block, scope.span(block.path), scope))
    yield from found
    told = {(one.code, one.line, one.column) for one in found if one.severity == "error"}
    for span in scope.pinned(block.path):
        for one in _by_releases(block, span, scope):
            if one.severity == "error" and (one.code, one.line, one.column) not in told:
                yield one
    yield from lists.consistent(block)
    if scope.recipe is not None:
        yield from lists.mandatory_kept(block, scope.recipe)


def _by_releases(block: Block, span: Span, scope: Scope) -> Iterator[Fault]:
    """What the releases of a span make of a block."""
    yield from flags.flags_known(block, span)
    yield from flags.values_right(block, span)
    yield from json_text.readable(block, span)
    yield from json_text.keys_known(block, span)
    yield from names.parts_known(block, span, scope.plugins)
    yield from names.variables_known(block, span)


def _too_many(trial: Trial) -> Fault:
    return at(
        trial.recipe.where, "LINT_TOO_MANY", "warning",
        f"there are over {trial.tried} combinations, and no more were tried",
        "Split the recipe: nobody could try out that many.",
    )  # fmt: skip


def _without_strategy(recipe: Recipe) -> Fault:
    # vLLM-Omni splits a model by stages of its own.
    severity = "note" if recipe.omni is not None else "warning"
    return at(
        recipe.where.replace(layer="compatible_strategies"), "LINT_NO_STRATEGY", severity,
        "no strategy is offered on any hardware, so nothing resolves",
        "Name one under compatible_strategies.",
    )  # fmt: skip


def _declared(recipe: Recipe, found: list[Fault]) -> Iterator[Fault]:
    """Names under model.unreleased that are in a release, or nowhere in the recipe."""
    used = [fault.what for fault in found if fault.code == "LINT_UNRELEASED"]
    for name in recipe.model.unreleased:
        if not any(name in text for text in used):
            yield at(
                recipe.where.replace(layer="model.unreleased"), "LINT_UNRELEASED", "warning",
                f"{name} is in a release, or not used in this recipe",
                "Take it off the list.",
            )  # fmt: skip


def settled(faults: Iterable[Fault]) -> list[Fault]:
    """Each fault once, by file and place; the worst first where places are the same."""
    once: dict[tuple[str, str, int, int, str], Fault] = {}
    for fault in map(_shown, faults):
        key = (fault.file, fault.code, fault.line, fault.column, fault.what)
        once.setdefault(key, fault)
    return sorted(
        once.values(),
        key=lambda one: (one.file, one.line, one.column, SEVERITIES.index(one.severity), one.code),
    )


def _shown(fault: Fault) -> Fault:
    """A fault without characters that a terminal obeys: a file that was refused may hold some."""
    texts = {name: getattr(fault, name) for name in ("what", "remedy", "path")}
    if all(text.isprintable() for text in texts.values()):
        return fault
    return fault.replace(**{name: _printable(text) for name, text in texts.items()})


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
