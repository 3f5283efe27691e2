"""What reading a host may cost at start: the slow modules are imported only when needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = (
    "dataclasses enum functools json pathlib re shutil subprocess threading typing ctypes "
    "pynvml amdsmi rich textwrap"
)
MODULES = ("host.facts", "resolve.match", "resolve.masks", "render.detection")


@pytest.mark.parametrize("module", [f"vllm_launch.{name}" for name in MODULES])
def test_no_slow_import_at_the_top(module: str) -> None:
    script = f"import sys, {module}; print(*(set({SLOW!r}.split()) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
