"""Slurm's host lists, as Slurm itself reads them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_launch.host.hostlist import expand

LISTS = {
    "n1": ["n1"],
    "n[1-3,7]": ["n1", "n2", "n3", "n7"],
    "n[08-11]": ["n08", "n09", "n10", "n11"],
    "n[9-11],b": ["n9", "n10", "n11", "b"],
    "r[1-2]n[01-02]": ["r1n01", "r1n02", "r2n01", "r2n02"],
    "tux[1-2]-[3-4]": ["tux1-3", "tux1-4", "tux2-3", "tux2-4"],
    "c[0-1][2,3]": ["c02", "c03", "c12", "c13"],
    "n[2,1]": ["n2", "n1"],
    "n[00-02,5],,m": ["n00", "n01", "n02", "n5", "m"],
    "node[0001]": ["node0001"],
    "": [],
}


@pytest.mark.parametrize(("text", "names"), LISTS.items(), ids=LISTS)
def test_names_come_in_the_lists_order(text, names):
    assert list(expand(text)) == names


def test_a_name_may_go_on_behind_its_bracket():
    assert expand("n[1-3,7],gpu-[001-002]-ib") == (
        "n1", "n2", "n3", "n7", "gpu-001-ib", "gpu-002-ib",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["n[", "n[1-2", "n]", "n[1]]", "n[[1]]", "n[]", "n[a-b]", "n[3-1]", "n[1-2-3]", "n[0-3:2]",
     "n[1-99999]", "n[1-999][1-999]", "n[0-99999999999999999999]", "n[²]"],
)  # fmt: skip
def test_what_is_no_list_is_refused(text):
    with pytest.raises(ValueError, match=r"range|bracket|names"):
        expand(text)


numbers = st.integers(0, 120)
ranges = st.one_of(
    st.tuples(st.integers(1, 4), numbers).map(lambda t: str(t[1]).zfill(t[0])),
    st.tuples(st.integers(1, 4), numbers, st.integers(0, 4)).map(
        lambda t: f"{str(t[1]).zfill(t[0])}-{str(t[1] + t[2]).zfill(t[0])}"
    ),
)
brackets = st.lists(ranges, min_size=1, max_size=3).map(lambda parts: f"[{','.join(parts)}]")
stems = st.from_regex(r"[a-z]{1,3}(-[a-z])?", fullmatch=True)
words = st.tuples(stems, st.lists(brackets, max_size=2)).map(lambda t: t[0] + "".join(t[1]))
lists = st.lists(words, min_size=1, max_size=3).map(",".join)


def scontrol() -> str:
    found = shutil.which("scontrol")
    if found is None and os.environ.get("CI"):
        pytest.fail("scontrol is not installed (Debian: slurm-client)")
    if found is None:
        pytest.skip("scontrol is not installed (Debian: slurm-client)")
    return found


def test_slurm_reads_every_list_in_the_same_way(tmp_path_factory: pytest.TempPathFactory) -> None:
    program = scontrol()
    conf: Path = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    conf.write_text("ClusterName=t\nSlurmctldHost=localhost\n")

    def theirs(text: str) -> list[str]:
        done = subprocess.run(
            [program, "show", "hostnames", text],
            env={"SLURM_CONF": str(conf), "PATH": os.defpath},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    @settings(max_examples=60)
    @given(lists)
    def same(text: str) -> None:
        assert list(expand(text)) == theirs(text)

    same()
    for text, names in LISTS.items():
        if text:
            assert theirs(text) == names
