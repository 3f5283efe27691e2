"""Whoever is killed at whatever line: no process without a record, and no record that lies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONG, SHORT = "97531", "0.05"  # seconds that a server sleeps


@pytest.mark.parametrize(
    ("option", "sleeps", "generation", "lines"),
    [
        pytest.param("--wait", SHORT, 0, 120, id="the supervisor in the foreground"),
        pytest.param("--wait", SHORT, 1, 15, id="the server before it is one"),
        pytest.param("--detach", LONG, 0, 80, id="the launcher that detaches"),
        pytest.param("--detach", SHORT, 1, 60, id="the monitor"),
        pytest.param("--detach", LONG, 2, 10, id="the detached server before it is one"),
    ],
)
def test_killed_at_any_line(
    option: str, sleeps: str, generation: int, lines: int, tmp_path: Path
) -> None:
    program = tmp_path / "vllm"
    program.write_text(
        '#!/bin/bash\necho $$ >>"$XDG_STATE_HOME/pids"\nexec -a "$XDG_STATE_HOME" sleep "$SLEEPS"\n'
    )
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "tests.running.killing", tmp_path, option, sleeps, str(generation)],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= lines
