"""What Compose reads out of an export is what the plan says, word for word."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.export.cases import (
    LAYOUTS,
    ODD,
    SETUP,
    brief,
    deployment,
    expected,
    layout,
    needs_recorded,
    recorded,
    spelt,
    texts,
)
from tests.export.compose_reader import process, services
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief
from vllm_launch.export.compose import CONFIG_DIRECTORY, files

_COMPOSE = shutil.which("docker-compose")


def read(plan: Brief) -> dict[str, dict[str, Any]]:
    """Every service of every file of an export."""
    found: dict[str, dict[str, Any]] = {}
    for file in files(plan):
        if file.name.startswith("compose"):
            found |= services(file.text)
    return found


def assert_as_planned(plan: Brief, found: dict[str, dict[str, Any]]) -> None:
    planned = {p.name: expected(p, plan, CONFIG_DIRECTORY) for p in plan.parts if p.argv}
    assert {name: process(service) for name, service in found.items()} == planned


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_process_is_the_plans(name: str) -> None:
    plan = brief(layout(name))
    assert_as_planned(plan, read(plan))


def test_on_one_machine_all_reach_each_other_over_the_loopback_address() -> None:
    plan = brief(layout("pools on one node", endpoints=False))
    for part in plan.parts:
        planned = expected(part, plan, CONFIG_DIRECTORY, alone=True)
        assert process(read(plan)[part.name]) == planned


@needs_recorded
def test_every_recorded_command_comes_back() -> None:
    count = 0
    for case, found in recorded():
        plan = brief(found)
        try:
            assert_as_planned(plan, read(plan))
        except AssertionError as error:
            raise AssertionError(f"{case}: {error}") from None
        count += 1
    assert count >= 550


@given(words=st.lists(texts, max_size=4), value=texts)
def test_any_words_and_values_of_the_operator_come_back(words: list[str], value: str) -> None:
    plan = spelt(words, value)
    (part,) = plan.parts
    assert process(read(plan)["server-0"]) == (list(part.argv), dict(part.env))


@pytest.mark.parametrize("word", ["a\udc80", "a\0"], ids=["no UTF-8", "NUL"])
def test_what_no_file_can_hold_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="no character that the file could hold"):
        files(spelt([word], ""))


@given(line=texts)
def test_a_header_stays_a_comment(line: str) -> None:
    plan = brief(deployment(hardware="h200"), header=(line, "last"))
    (file,) = files(plan)
    assert list(services(file.text)) == ["server-0"]


def test_odd_words_come_back() -> None:
    plan = spelt(ODD, "".join(ODD))
    (part,) = plan.parts
    assert process(read(plan)["server-0"]) == (list(part.argv), dict(part.env))


def numbered(number: int, plan: Brief) -> dict[str, Any]:
    """The services of an export under names of their own, to be read with others."""
    found = {}
    for file in files(plan):
        if file.name.startswith("compose"):
            for name, service in yaml.safe_load(file.text)["services"].items():
                service["container_name"] = f"{number}-{service['container_name']}"
                if "depends_on" in service:
                    before = service["depends_on"].items()
                    service["depends_on"] = {f"c{number}-{key}": value for key, value in before}
                found[f"c{number}-{name}"] = service
    return found


@pytest.mark.skipif(
    _COMPOSE is None and not os.environ.get("CI"), reason="docker-compose is not installed"
)
def test_docker_compose_itself_reads_the_same(tmp_path: Path) -> None:
    """All in one file, because it takes a second to start."""
    assert _COMPOSE is not None, "docker-compose is not installed"
    plans = [brief(layout(name)) for name in LAYOUTS]
    plans += [spelt(ODD, "".join(ODD))]
    plans += [brief(layout(name), setup=SETUP.replace(hardened=True)) for name in LAYOUTS]
    data: dict[str, Any] = {}
    for number, plan in enumerate(plans):
        data |= numbered(number, plan)
    path = tmp_path / "compose.yaml"
    path.write_text(yaml.safe_dump({"services": data}), encoding="utf-8")
    done = subprocess.run(
        [_COMPOSE, "-f", path, "config"], capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    found = yaml.safe_load(done.stdout)["services"]
    for number, plan in enumerate(plans):
        for part in plan.parts:
            if part.argv:
                argv, env = composed(found[f"c{number}-{part.name}"])
                assert (argv, env) == expected(part, plan, CONFIG_DIRECTORY)


def composed(service: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    """A service as docker-compose prints it, where dollar signs are doubled once more."""
    argv = [*service.get("entrypoint", ["vllm", "serve"]), *service["command"]]
    env = {k: v for k, v in service.get("environment", {}).items() if v is not None}
    return [word.replace("$$", "$") for word in argv], {
        name: value.replace("$$", "$") for name, value in env.items()
    }
