"""recipes lint: what is wrong in recipe files, and what mends it."""

from __future__ import annotations

import os
from functools import partial

from ..catalog.shelf import Shelf
from ..errors import CheckFailed, LaunchError, RecipeError, UsageError
from ..lint import CODES, Fault, faults_of_file, faults_of_recipe, settled
from ..lint.run import of_problems
from ..streams import answer, remark, shows_progress
from ..vllm_options import load
from .codes import answer_codes
from .lint_files import chosen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..catalog.library import Library
    from ..commandline import Invocation
    from ..model.vllm import VllmOptions
    from ..settings import Settings
    from .lint_files import Job


def run(invocation: Invocation, settings: Settings) -> int:
    """Print what is wrong; exit status 4 where an error was found."""
    if settings["list"]:
        answer_codes(tuple(CODES.items()), settings)
        return 0
    if settings["dry_run"] and not settings["fix"]:
        raise UsageError("--dry-run goes with --fix", hint="lint changes nothing without --fix")
    shelf = Shelf(settings.listed("recipes_dir"), settings.listed("sources"))
    paths = () if invocation.argument is None else (invocation.argument, *invocation.more)
    jobs, passed_over = chosen(shelf, paths)
    found, tried = _lint(jobs, passed_over)
    if settings["fix"]:
        from .lint_fix import fix_files

        alone = settings["output"] in (None, "text")  # else the answer is one document
        tell = answer if alone else partial(remark, as_it_is=True)
        fix_files(jobs, found, tell, only_print=bool(settings["dry_run"]))
        if settings["dry_run"] and alone:
            return _status(found, settings)
        if not settings["dry_run"]:
            found, tried = _lint(jobs, passed_over)
    _print(found, len(jobs), tried, settings)
    return _status(found, settings)


def _status(found: list[Fault], settings: Settings) -> int:
    counts = ("error", "warning") if settings["strict"] else ("error",)
    return CheckFailed.exit_status if any(one.severity in counts for one in found) else 0


def _print(found: list[Fault], files: int, tried: int, settings: Settings) -> None:
    from ..render import lint

    if settings["output"] == "sarif":
        answer(lint.sarif(found))
    elif settings["output"] == "json":
        from ..render.envelope import envelope

        answer(envelope("lint", lint.record(found, files, tried)))
    else:
        answer(lint.text(found, files, tried))


def _lint(jobs: list[Job], passed_over: Iterable[Fault]) -> tuple[list[Fault], int]:
    """The faults of all files, and how many combinations were tried."""
    options = load()
    found: list[Fault] = list(passed_over)
    tried = 0
    for job in _told(jobs):
        more, combinations = faults_in(job, options)
        found += more
        tried += combinations
    return settled(found), tried


def _told(jobs: list[Job]) -> Iterable[Job]:
    """The jobs, with a line on a terminal that says how far this is."""
    shown = shows_progress()
    for number, job in enumerate(jobs, 1):
        if shown:
            remark(f"{number}/{len(jobs)} {os.path.basename(job[1])}", over=True)
        yield job
    if shown:
        remark("", over=True)


def faults_in(job: Job, options: VllmOptions) -> tuple[list[Fault], int]:
    """One file's faults, and the combinations tried; what cannot be read is a fault too."""
    library, path, kind, recipe_id = job
    try:
        if kind == "recipe":
            return _of_recipe(library, path, recipe_id, options)
        return _of_words(library, path, kind, options), 0
    except RecipeError as error:
        return list(_unreadable(error, library.shown(path))), 0


def _of_recipe(
    library: Library, path: str, recipe_id: str, options: VllmOptions
) -> tuple[list[Fault], int]:
    from ..catalog.format import RECIPE

    shown, taxonomy = library.shown(path), library.taxonomy
    root, recipe, reading = library.examine(path, recipe_id)
    found = list(of_problems(reading.problems))
    if any(not problem.warning for problem in reading.problems):
        more = faults_of_file(root, RECIPE, shown, taxonomy, options, recipe, reading.problems)
        return [*found, *more], 0
    recipe = recipe.replace(id=recipe.model.model_id)
    more, tried = faults_of_recipe(root, recipe, shown, library, library.kv_stores(), options)
    return [*found, *more], tried


def _of_words(library: Library, path: str, kind: str, options: VllmOptions) -> list[Fault]:
    from ..catalog.files import read_past
    from ..catalog.format import KV_STORE, STRATEGY, TAXONOMY
    from ..catalog.reading import Reading

    reader = {"taxonomy": TAXONOMY, "strategy": STRATEGY, "kv_store": KV_STORE}[kind]
    shown = library.shown(path)
    root, problems, _ = read_past(path, shown)
    reading = Reading(shown, library.own)
    reading.key = os.path.splitext(os.path.basename(path))[0]
    reading.problems += problems
    value = reader(root, "", reading)
    more = faults_of_file(root, reader, shown, library.taxonomy, options, value, reading.problems)
    return [*of_problems(reading.problems), *more]


def _unreadable(error: LaunchError, shown: str) -> Iterator[Fault]:
    problems = getattr(error, "problems", ())
    yield from of_problems(problems)
    if not problems:
        yield Fault(
            code="LINT_FORMAT", severity="error", file=shown, what=error.message, remedy=error.hint
        )
