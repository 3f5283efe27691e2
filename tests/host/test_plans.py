"""Each machine's plan for both MiniMax recipes, by the installed command, to the letter.

After a change that is meant, ``VLLM_LAUNCH_WRITE_GOLDEN=1 pytest tests/host/test_plans.py``
writes the files under ``golden_plans`` again.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.launcher import COMMAND, FLASH, M3
from tests.host.conftest import timed
from tests.host.machines import MACHINES
from tests.resolve.build import own
from vllm_launch.batch import answers
from vllm_launch.host.facts_file import save, to_dict

GOLDEN = Path(__file__).with_name("golden_plans")
WRITES = bool(os.environ.get("VLLM_LAUNCH_WRITE_GOLDEN"))


def run(words: list[str], home: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        text=True,
        cwd=home,
        env={**env, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
        check=False,
    )


def told(facts: Path, model: str, home: Path) -> str:
    """Exit status, answer and remarks of a dry run for saved facts."""
    words = ["serve", model, "--host-facts", facts.name, "--dry-run"]
    done = run(words, home, {"PATH": os.environ["PATH"]})
    return f"$ {' '.join(words)}\n{done.stdout}{done.stderr}exit status {done.returncode}\n"


@pytest.mark.parametrize("name", MACHINES)
def test_a_machines_plans(nvml: Path, amdsmi: Path, tmp_path: Path, name: str) -> None:
    machine = MACHINES[name]
    _, host = timed(machine.env(nvml, amdsmi), machine.install(tmp_path / "root"))
    facts = tmp_path / f"{name}.json"
    save(host, str(facts))
    text = "\n".join(told(facts, model, tmp_path) for model in (FLASH, M3))
    golden = GOLDEN / f"{name}.txt"
    if WRITES:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [FLASH, M3])
@pytest.mark.parametrize("name", MACHINES)
def test_a_line_of_a_batch_plans_for_saved_facts_as_the_option_does(
    nvml: Path, amdsmi: Path, tmp_path: Path, name: str, model: str
) -> None:
    machine = MACHINES[name]
    _, host = timed(machine.env(nvml, amdsmi), machine.install(tmp_path / "root"))
    save(host, str(tmp_path / "facts.json"))
    line = {"recipe": model, "input": {"host_facts": to_dict(host)}}
    (answer,) = map(json.loads, answers([json.dumps(line)], own))
    words = ["serve", model, "--host-facts", "facts.json", "--dry-run", "--output", "json"]
    done = run(words, tmp_path, {"PATH": os.environ["PATH"]})
    if "error" in answer:
        assert (answer["error"]["code"], done.returncode) == ("nothing_fits", 3)
        return
    assert done.returncode == 0, done.stderr
    deployment = json.loads(done.stdout)["deployment"]
    for key in ("hardware", "variant", "strategy", "nodes"):
        assert answer[key] == deployment[key]
    for key in ("argv", "env"):
        assert [each[key] for each in answer["processes"]] == [
            each[key] for each in deployment["processes"]
        ]


@pytest.mark.parametrize("name", ["h200_8x", "h200_one_lost", "b200_8x_busy", "mi355x_8x"])
def test_a_saved_host_is_planned_for_like_the_host_itself(
    nvml: Path, amdsmi: Path, tmp_path: Path, name: str
) -> None:
    env = dict(MACHINES[name].env(nvml, amdsmi))
    saved = run(["detect", "--save", "facts.json"], tmp_path, env)
    assert saved.returncode == 0, saved.stderr
    here = run(["serve", FLASH, "--dry-run"], tmp_path, env)
    there = run(
        ["serve", FLASH, "--dry-run", "--host-facts", "facts.json"],
        tmp_path,
        {"PATH": os.environ["PATH"]},
    )
    assert here.returncode == 0, here.stderr
    assert (here.stdout, here.stderr) == (there.stdout, there.stderr)
