"""A lock written on one machine, demanded on another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.launcher import FLASH
from tests.host.machines import MACHINES
from tests.host.test_plans import run

if TYPE_CHECKING:
    from pathlib import Path

OTHERS = {
    "h200_8x": [
        "choice.hardware: locked b300, here h200",
        "choice.variant: locked default, here fp8",
        (
            "choice.features: locked tool_calling, reasoning, spec_decoding, "
            "here tool_calling, reasoning"
        ),
        "hardware.gpus: locked 8 × NVIDIA B300 SXM6 AC 269 GiB, here 8 × NVIDIA H200 140 GiB",
    ],
    "b300_8x": [],
}


@pytest.mark.parametrize(("other", "differs"), OTHERS.items(), ids=OTHERS)
def test_a_lock_refuses_on_another_machine_and_names_what_differs(
    nvml: Path, amdsmi: Path, tmp_path: Path, other: str, differs: list[str]
) -> None:
    line = ["serve", FLASH, "--dry-run"]
    written = run([*line, "--lock", "lock"], tmp_path, dict(MACHINES["b300_8x"].env(nvml, amdsmi)))
    assert written.returncode == 0, written.stderr
    there = run([*line, "--locked", "lock"], tmp_path, dict(MACHINES[other].env(nvml, amdsmi)))
    told = [text.strip() for text in there.stderr.splitlines() if ": locked " in text]
    assert there.returncode == (4 if differs else 0), there.stderr
    assert [text for text in told if not text.startswith("processes.")] == differs
