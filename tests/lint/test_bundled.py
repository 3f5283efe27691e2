"""The recipes of this project are clean: notes alone are left."""

from __future__ import annotations

import pytest

from vllm_launch.catalog.library import bundled
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.commands.lint import faults_in
from vllm_launch.commands.lint_files import files_of
from vllm_launch.lint import settled
from vllm_launch.model.vllm import VllmOptions

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("XDG_CACHE_HOME", "/dev/null")  # collecting tests leaves nothing behind
    JOBS = list(files_of(bundled()))


@pytest.mark.parametrize(
    "number", range(len(JOBS)), ids=[path.rpartition("recipes/")[2] for _, path, *_ in JOBS]
)
def test_no_error_and_no_warning(options: VllmOptions, number: int) -> None:
    found, tried = faults_in(JOBS[number], options)
    wrong = [f for f in settled(found) if f.severity != "note"]
    assert [(f.place, f.code, f.what) for f in wrong] == []
    assert bool(tried) is (JOBS[number][2] == "recipe")


def test_every_recipe_is_looked_at() -> None:
    recipes = [path for _, path, kind, _ in JOBS if kind == "recipe"]
    assert len(recipes) == len(list(Shelf().ids()))
