"""The recorded commands of the public recipes, where they lie beside the checkout.

They are no part of the project: elsewhere this file holds no tests, and ``test_golden.py``
is what stands for them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.write_golden import GOLDEN

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(os.environ.get("VLLM_LAUNCH_CONFORMANCE") or ROOT.parent / "shared/conformance")
SUITES = (
    ["seed-m3.1-flash", "seed-m3", "seed-m3-presets", "upstream-resolve", "upstream-select"]
    if RECORDED.is_dir()
    else []
)

if SUITES:

    @pytest.fixture(scope="module")
    def report() -> dict[str, str]:
        """The last line on each suite that the comparing program prints."""
        done = subprocess.run(
            [
                sys.executable,
                str(RECORDED / "run"),
                "--vllm-launch",
                shlex.join([sys.executable, "-m", "vllm_launch"]),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.stderr == ""
        lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
        return dict(line.split(": ", 1) for line in lines)

    def test_every_suite_is_reported_and_no_other(report: dict[str, str]) -> None:
        assert list(report) == SUITES

    @pytest.mark.parametrize("suite", SUITES)
    def test_every_recorded_command_is_reproduced(report: dict[str, str], suite: str) -> None:
        assert report[suite].endswith("(100.00%)")
        matched, _, total = report[suite].split()[0].partition("/")
        assert matched == total


def test_the_committed_sample_is_there_in_any_case() -> None:
    assert len(GOLDEN.read_text(encoding="utf-8").splitlines()) > 100
