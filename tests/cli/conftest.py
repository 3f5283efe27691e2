"""An operator for each test, and what is dear to make and can be shared."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.launcher import Host, Operator
from tests.host import nvml_stub
from tests.running.player import Play, playing


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache directory: the recipes are parsed once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def operator(tmp_path: Path, cache: Path) -> Operator:
    return Operator(tmp_path, cache)


@pytest.fixture(scope="session")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built stub of NVIDIA's driver library."""
    return nvml_stub.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    """The launcher collects no garbage; where it runs inside of a test, that ends with it."""
    yield
    gc.enable()


@pytest.fixture
def host(nvml: Path) -> Host:
    return Host(nvml)


@pytest.fixture
def play() -> Iterator[Callable[..., Play]]:
    """Start a server that plays vLLM, and does what it is told."""
    with playing() as start:
        yield start
