"""Nothing that these tests read is kept in the home of whoever runs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# No verdict on the speed of the machine, and nothing written beside the sources.
settings.register_profile(
    "resolve", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("resolve")


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of this run's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
