"""What holds for every test."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# No verdict on the speed of the machine, nothing written beside the sources, and the same examples
# each time: what a search finds by luck is found by who searches, with --hypothesis-profile=search.
_ANYWHERE = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("steady", _ANYWHERE, derandomize=True)
settings.register_profile("search", _ANYWHERE, derandomize=False)
settings.load_profile("steady")
