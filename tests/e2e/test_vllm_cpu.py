"""The whole way on a real vLLM, where that is asked for: it downloads about 1.5 GB."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(
    not os.environ.get("VLLM_LAUNCH_E2E"), reason="downloads 1.5 GB: set VLLM_LAUNCH_E2E=1"
)
def test_a_real_vllm_is_started_verified_and_ended(tmp_path: Path) -> None:
    home = os.environ.get("VLLM_LAUNCH_E2E_HOME") or str(Path.home() / ".cache/vllm-launch-e2e")
    record = tmp_path / "record.txt"
    launcher = Path(sys.executable).with_name("vllm-launch")
    done = subprocess.run(
        [str(ROOT / "scripts/e2e_vllm_cpu.sh"), home, str(record)],
        env={**os.environ, "VLLM_LAUNCH": str(launcher)},
        check=False,
    )
    assert done.returncode == 0, record.read_text() if record.exists() else "no record"
