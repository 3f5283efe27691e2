"""Recipes to lint: in a temporary place, with a cache of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_launch.catalog.library import Library, bundled
from vllm_launch.commands.lint import faults_in
from vllm_launch.lint import Fault, settled
from vllm_launch.model.vllm import VllmOptions
from vllm_launch.vllm_options import load

Lint = Callable[..., list[Fault]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def options() -> VllmOptions:
    return load()


@pytest.fixture
def recipe_file(tmp_path: Path) -> Callable[[str], Path]:
    """Write one text as the recipe org/repo of a directory of someone's own."""

    def write(text: str) -> Path:
        path = tmp_path / "recipes" / "models" / "org" / "repo.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    return write


@pytest.fixture
def lint(recipe_file: Callable[[str], Path], options: VllmOptions) -> Lint:
    """What is wrong with one text as a recipe."""

    def faults(text: str) -> list[Fault]:
        path = recipe_file(text)
        library = Library(str(path.parents[2]), own=False, fallback=bundled())
        found, _ = faults_in((library, str(path), "recipe", ""), options)
        return settled(found)

    return faults


def told(faults: list[Fault]) -> list[str]:
    """Each fault in one line, without the file."""
    return [f"{f.line}:{f.column} {f.severity} {f.code} {f.what}" for f in faults]
