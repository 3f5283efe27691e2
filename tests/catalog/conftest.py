"""Recipes directories to read: in a temporary place, with a cache of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.catalog import texts
from vllm_launch.catalog import files, shelf
from vllm_launch.catalog import library as libraries
from vllm_launch.catalog.library import Library
from vllm_launch.errors import RecipeError
from vllm_launch.model.recipe import Recipe

ReadRecipe = Callable[..., Recipe]
Faults = Callable[..., list[str]]
Opened = list[str]
Write = Callable[[dict[str, "str | bytes"]], Path]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the cache, which does not exist yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vllm-launch"


@pytest.fixture(scope="session")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The project's own library; what it has read is shared between tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        library = libraries.bundled()
        assert library.taxonomy.strategies
    return library


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write the files of a recipes directory; the directory."""

    def written(contents: dict[str, str | bytes]) -> Path:
        directory = tmp_path / "recipes"
        (directory / "models").mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return directory

    return written


@pytest.fixture
def read(write: Write, bundled: Library) -> ReadRecipe:
    """Read one text as the recipe org/repo, of this project's own directory or a foreign one."""

    def recipe(text: str | bytes, *, own: bool = True, suffix: str = ".yaml") -> Recipe:
        directory = write({f"models/org/repo{suffix}": text})
        library = Library(str(directory), own=own, fallback=bundled)
        return library.read_recipe(str(directory / f"models/org/repo{suffix}"), "org/repo")

    return recipe


@pytest.fixture
def faults(read: ReadRecipe) -> Faults:
    """What is wrong with a text as a recipe: each fault in full but for the file's name."""

    def found(text: str | bytes, suffix: str = ".yaml") -> list[str]:
        with pytest.raises(RecipeError) as caught:
            read(text, suffix=suffix)
        name = f"{texts.SHOWN}{suffix}"
        lines = [str(problem) for problem in caught.value.problems]
        assert lines
        assert all(line.startswith(f"{name}:") for line in lines)
        assert str(caught.value).startswith(f"{name} cannot be used: {len(lines)} error")
        return [line.removeprefix(f"{name}:") for line in lines]

    return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Opened:
    """The paths of the recipes, and of what stands beside them, that are read from now on."""
    paths: list[str] = []
    real = files.read_bytes

    def read_bytes(path: str, shown: str) -> bytes:
        paths.append(path)
        return real(path, shown)

    for module in (files, shelf):
        monkeypatch.setattr(module, "read_bytes", read_bytes)
    return paths
