"""The installed ``detect`` under each machine's driver libraries: its GPUs and their profile."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.launcher import COMMAND
from tests.host.machines import MACHINES
from tests.host.test_machines import EXPECTED

# These are told by files, which an installed command reads from / alone: the kernel's lists of
# AMD devices, and the size of the memory that a GB10 shares with its host.
BY_FILES = {"mi355x_8x_kernel_alone", "apu_and_discrete", "gb10"}


@pytest.mark.parametrize("name", [name for name in MACHINES if name not in BY_FILES])
def test_it_sees_the_machine(nvml: Path, amdsmi: Path, tmp_path: Path, name: str) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **MACHINES[name].env(nvml, amdsmi)}
    done = subprocess.run(
        [*COMMAND, "detect", "--output", "json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=env,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    host = json.loads(done.stdout)["host"]
    profile = (host["effective_profile"] or {}).get("id")
    assert (profile, len(host["gpus"])) == EXPECTED[name]
