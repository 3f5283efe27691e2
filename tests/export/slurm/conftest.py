"""A cluster for all tests of a run, and a user of it for each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.export.slurm.cluster import Cluster, missing
from tests.export.slurm.user import User


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache directory: the recipes are parsed once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    absent = missing()
    if absent:
        reason = (
            f"not installed: {', '.join(absent)}; apt-get install slurmctld slurmd slurm-client"
        )
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    cluster = Cluster(tmp_path_factory.mktemp("slurm"), nodes=4)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def user(tmp_path: Path, cache: Path, cluster: Cluster) -> Iterator[User]:
    user = User(tmp_path, cache, cluster)
    yield user
    user.leave()
