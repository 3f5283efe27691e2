"""What holds for every test."""

from __future__ import annotations

import os
import signal

import pytest
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

# Whoever runs the tests may ignore signals, as nohup and a shell's background do, and programs
# would inherit that. A handler ends with the process that has it.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many run at once with -n auto: one more than can compute, for tests wait as well."""
    return len(os.sched_getaffinity(0)) + 1
