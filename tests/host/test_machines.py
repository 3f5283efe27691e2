"""Each machine from its drivers to the text that ``detect`` shows, to the letter.

After a change that is meant, ``VLLM_LAUNCH_WRITE_GOLDEN=1 pytest tests/host/test_machines.py``
writes the files under ``golden`` again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from tests.host.conftest import timed
from tests.host.machines import MACHINES
from vllm_launch.host import facts
from vllm_launch.model.taxonomy import HardwareProfile
from vllm_launch.render.detection import detection, detection_record
from vllm_launch.resolve.match import match_profile

GOLDEN = Path(__file__).with_name("golden")
WRITES = bool(os.environ.get("VLLM_LAUNCH_WRITE_GOLDEN"))
TAXONOMY = Path(__file__).parents[2] / "recipes" / "taxonomy.yaml"
PROFILES = {
    name: HardwareProfile(id=name, **keys)
    for name, keys in yaml.safe_load(TAXONOMY.read_text())["hardware_profiles"].items()
}
MOST_SECONDS = 5.0
EXPECTED: dict[str, tuple[str | None, int]] = {
    "h100_8x": ("h100", 8),
    "h100_8x_old_driver": ("h100", 8),
    "h200_8x": ("h200", 8),
    "h200_4x": ("h200", 4),
    "h200_one_lost": ("h200", 7),
    "h200_one_hangs": ("h200", 7),
    "h200_fabric_in_progress": ("h200", 8),
    "h200_memory_errors": ("h200", 2),
    "b200_8x_busy": ("b200", 8),
    "b300_8x": ("b300", 8),
    "gb200_4x": ("gb200", 4),
    "gb300_4x": ("gb300", 4),
    "gb300_1x": ("dgx_station_gb300", 1),
    "gb10": ("dgx_spark_gb10", 1),
    "mig_7x1g": (None, 0),
    "mig_no_permission": (None, 0),
    "rtx_5090_2x": ("rtx_5090_2x", 2),
    "rtx_pro_6000_1x": ("rtx_pro_6000", 1),
    "rtx_pro_6000_2x": ("rtx_pro_6000_2x", 2),
    "rtx_pro_6000_8x": ("rtx_pro_6000_8x", 8),
    "rtx_4090": ("generic_nvidia_sm89", 1),
    "a100_and_h100": ("h100", 1),
    "a100_8x": ("generic_nvidia_sm80", 8),
    "no_driver": (None, 0),
    "mismatch": (None, 0),
    "hangs": (None, 0),
    "crashes": (None, 0),
    "mi300x_8x": ("mi300x", 8),
    "mi355x_8x": ("mi355x", 8),
    "mi355x_8x_kernel_alone": ("mi355x", 8),
    "mi300x_cpx": (None, 0),
    "mi300x_vm": ("mi300x", 8),
    "mi300x_one_hangs": ("mi300x", 7),
    "apu_and_discrete": ("generic_amd_gfx1100", 1),
    "both_vendors": (None, 0),
    "serving_and_display": ("rtx_5090_2x", 2),
    "nothing": (None, 0),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine(nvml: Path, amdsmi: Path, tmp_path: Path, name: str) -> None:
    """One with a driver that hangs too: the process that asked it can end, or ``timed`` fails."""
    machine = MACHINES[name]
    took, host = timed(machine.env(nvml, amdsmi), machine.install(tmp_path / "root"))
    assert took < MOST_SECONDS
    match = match_profile(host.gpus, PROFILES)
    profile = match.profile and match.profile.id
    assert (profile, len(match.gpus)) == EXPECTED[name]

    file = str(tmp_path / "facts.json")
    facts.save(host, file)
    assert facts.load(file) == host

    text = detection(host, match)
    check_form(text)
    golden = GOLDEN / f"{name}.txt"
    if WRITES:
        GOLDEN.mkdir(exist_ok=True)
        golden.write_text(text, encoding="ascii")
    assert text == golden.read_text(encoding="ascii")

    record = detection_record(host, match)
    assert json.loads(json.dumps(record)) == record
    assert facts.from_dict(record["facts"]) == host
    assert record["profile"] == match.profile_id
    assert (record["effective_profile"] or {}).get("id") == profile


def check_form(text: str) -> None:
    """A table of 80 columns in ASCII, without anything secret and the host's name."""
    assert text.isascii()
    assert text.endswith("\n")
    for line in text.splitlines():
        assert line.isprintable()
        assert line == line.rstrip()
        assert len(line) <= 80, line
    assert "hunter2" not in text
    assert f" {os.uname().nodename} " not in text


def test_every_machine_has_a_file_and_no_file_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*")} == MACHINES.keys() == EXPECTED.keys()
