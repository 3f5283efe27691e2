"""An operator with a vLLM whose interpreter is a script; and, where one is named, a real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.launcher import Operator
from tests.deep.stand_in import StandIn

REAL = os.environ.get("VLLM_LAUNCH_E2E_PYTHON", "")  # the Python of an environment that has vLLM
collect_ignore = [] if REAL else ["test_real.py"]


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    """Each with a cache of its own: what is kept is what is tested."""
    return Operator(tmp_path, tmp_path / "cache")


@pytest.fixture
def stand_in(operator: Operator) -> StandIn:
    return StandIn(operator)
