"""A real vLLM, named by VLLM_LAUNCH_E2E_PYTHON: the Python of an environment that has one.

    VLLM_LAUNCH_E2E_PYTHON=/venv/bin/python python -m pytest tests/deep/test_real.py

Builds of one release, for CPUs or for GPUs, say the same of themselves.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.launcher import Operator
from tests.deep.conftest import REAL
from tests.deep.test_check import DEEP, found, kept, passed, whats
from vllm_launch.vllm_options import load

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT.parent / "shared" / "reference" / "vllm-options"


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script prints in that environment."""
    done = subprocess.run(
        [REAL, "-I", str(ROOT / "scripts" / "collect_vllm_options.py")],
        cwd=tmp_path_factory.mktemp("cwd"),
        env={"PATH": os.defpath, "HOME": str(tmp_path_factory.mktemp("home"))},
        capture_output=True,
        timeout=500,
        check=True,
    )
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def test_what_is_collected_is_what_is_shipped_of_that_release(
    collected: dict[str, Any], tmp_path: Path
) -> None:
    """Folded by itself: its lines are the table's of that release, in the same form."""
    source = tmp_path / "one"
    source.mkdir()
    (source / f"{collected['vllm']}.json").write_text(json.dumps(collected))
    spec = importlib.util.spec_from_file_location(
        "compact", ROOT / "scripts" / "compact_vllm_options.py"
    )
    assert spec is not None
    assert spec.loader is not None
    compact = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compact)
    assert compact.main([str(source), str(tmp_path / "releases.txt")]) == 0
    own, shipped = load(str(tmp_path / "releases.txt")), load()
    assert own.releases == (collected["vllm"],)
    bit = 1 << shipped.releases.index(collected["vllm"])
    for kind in {*own.names, *shipped.names}:
        assert sorted(own.known(kind, 1)) == sorted(shipped.known(kind, bit)), kind
    for flag in own.options:
        assert [(f.kind, f.type, f.nargs) for f in own.forms(flag)] == [
            (f.kind, f.type, f.nargs) for f in shipped.forms(flag) if f.releases & bit
        ]


@pytest.mark.skipif(not REFERENCE.is_dir(), reason="the references are not beside the project")
def test_what_is_collected_is_what_the_reference_has(collected: dict[str, Any]) -> None:
    path = REFERENCE / f"{collected['vllm']}.json"
    expected = json.loads(path.read_text(encoding="utf-8"))
    assert collected.keys() == expected.keys()
    for field, value in expected.items():
        if field == "options":
            by_flags = [
                {tuple(o["flags"]): o for o in each} for each in (collected[field], value)
            ]  # fmt: skip
            assert by_flags[0] == by_flags[1]
        elif isinstance(value, list):
            assert sorted(collected[field]) == sorted(value), field
        else:
            assert collected[field] == value, field


def test_it_is_asked_and_the_answer_is_kept(operator: Operator) -> None:
    """The whole way: refused by its own parser, not by any table; the second time at once."""
    operator.script("vllm", f"#!{REAL}\n")
    words = (*DEEP, "--", "--enable-log-outputs", "--monokernel-of-mine")
    ran = operator.run(*words, timeout=500)
    assert "PARSER_SILENT" in passed(ran)
    (refused,) = whats(ran, "PARSER_REFUSES")
    assert refused.endswith("refuses the command: unrecognized arguments: --monokernel-of-mine")
    (unknown,) = found(ran, "FLAG_UNKNOWN")
    assert "itself (its parser was asked)" in unknown["what"]
    (path,) = kept(operator)
    before = path.stat()
    assert operator.run(*words, timeout=500).out == ran.out
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
    )  # an answer would have been written anew


def test_arguments_that_only_vllm_can_judge_together(operator: Operator) -> None:
    operator.script("vllm", f"#!{REAL}\n")
    ran = operator.run(*DEEP, "--", "--enable-log-outputs", timeout=500)
    assert whats(ran, "PARSER_REFUSES")[0].endswith(
        "refuses the command: TypeError: Error: --enable-log-outputs requires --enable-log-requests"
    )


def test_vllm_is_not_imported_here() -> None:
    assert "vllm" not in sys.modules
