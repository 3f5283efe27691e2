"""The table of checks in the documents is the list of checks."""

from __future__ import annotations

from pathlib import Path

from tests.preflight.test_registry import CASES
from vllm_launch.preflight import CHECKS
from vllm_launch.preflight.across import ACROSS
from vllm_launch.vllm_options import load

TEXT = (Path(__file__).parents[2] / "docs" / "checks.md").read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of a table's rows that begin with a code."""
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


ROWS = rows(TEXT.partition("\n## Several nodes")[0])
# Every entry of the table of known failures: covered by a check, or by construction.
FAILURES = """
GPU_BUSY CONTEXT_TOO_LONG TP_HEADS TP_BLOCK_QUANT FLAG_UNKNOWN JSON_VALUE ENTRYPOINT DRIVER_CUDA
SHM PORT_BUSY TOOLKIT HF_GATED DISK TILDE PLACEHOLDER ENV_LOST ENV_UNKNOWN CVD_UUID MASK
GB10_MEMORY CUDA_803 FABRIC_802 MIXED_GPUS HARDWARE_FIT VERSION BLOCK_SIZE KV_HOST_RAM HUGETLB
MEMLOCK NIXL_HOST IFACE IMEX NUMA AMD_DEVICES AMD_PARTITION SIGNALS ROOTLESS TOKEN_ARGV TIMEOUTS
EXIT_CODES BOOL_FALSE TEMPLATE IMAGE_TAG
"""


def test_every_check_with_what_it_looks_at() -> None:
    assert [row[:2] for row in ROWS] == [[f"`{check.code}`", check.about] for check in CHECKS]


def test_every_check_of_several_nodes() -> None:
    found = rows(TEXT.partition("\n## Several nodes")[2])
    assert [row[0] for row in found] == [f"`{code}`" for code, _ in ACROSS]


def test_severities_are_those_that_are_seen() -> None:
    for code, _, severities, _, _ in ROWS:
        seen = {
            line.partition(":")[0]
            for case in CASES
            if f"`{case.code}`" == code
            for line in case.told or ()
        }
        assert set(severities.split(", ")) == seen, code


def test_every_known_failure_is_covered() -> None:
    covered = {name for row in ROWS for name in row[3].split(", ") if name}
    section = TEXT.partition("## Failures that need no check")[2].partition("\n## ")[0]
    avoided = {line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")}
    known = set(FAILURES.split())
    assert known <= covered | avoided
    assert covered <= known


def test_the_releases_that_are_named() -> None:
    releases = load().releases
    assert f"ten\nreleases, {releases[0]} to {releases[-1]}" in TEXT
    assert len(releases) == 10
