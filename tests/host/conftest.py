"""Machines to read: stub drivers of both vendors, and the files of a host."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.host import amdsmi_stub, nvml_stub
from tests.host.machines import Machine
from vllm_launch.host import facts
from vllm_launch.model.host import HostFacts

READ = """
import json, sys, time
from vllm_launch.host import amd, facts, nvidia
started = time.perf_counter()
found = {call}(sys.argv[1], *map(float, sys.argv[2:]))
took = time.perf_counter() - started
json.dump([took, facts.to_dict(found)], sys.stdout)
"""

ReadHost = Callable[..., HostFacts]


@pytest.fixture(scope="session")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built NVIDIA stub's directory, for ``nvml_stub.env``."""
    return nvml_stub.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def amdsmi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built AMD stub's directory, for ``amdsmi_stub.variables``."""
    return amdsmi_stub.build(tmp_path_factory.mktemp("amdsmi"))


def timed(
    env: Mapping[str, str], root: str, *seconds: float, call: str = "facts.read_host"
) -> tuple[float, HostFacts]:
    """What a process of its own reads, through the real bindings, and how long that took."""
    done = subprocess.run(
        [sys.executable, "-c", READ.format(call=call), root, *map(str, seconds)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    took, found = json.loads(done.stdout)
    return took, facts.from_dict(found)


@pytest.fixture(scope="session")
def read_nvidia(nvml: Path) -> ReadHost:
    """Read a scenario's NVIDIA GPUs through the real pynvml. The same again is not read again."""
    known: dict[tuple[str | bytes, ...], HostFacts] = {}

    def read(scenario: str, root: str = "/", call: str = "nvidia.read") -> HostFacts:
        env = nvml_stub.env(scenario, nvml)
        file = Path(env["NVML_STUB_SCENARIO"])
        content = file.read_bytes() if file.exists() else b""
        key = (content, env["LD_LIBRARY_PATH"], root, call)
        if root != "/":
            return timed(env, root, call=call)[1]
        if key not in known:
            known[key] = timed(env, root, call=call)[1]
        return known[key]

    return read


@pytest.fixture
def read_amd(amdsmi: Path, tmp_path: Path) -> ReadHost:
    """Read a scenario's AMD GPUs through the real amdsmi."""

    def read(scenario: str) -> HostFacts:
        env = Machine("no_driver", scenario).env(amdsmi, amdsmi)
        return timed(env, str(tmp_path / "nothing"))[1]

    return read


@pytest.fixture
def files(tmp_path: Path) -> Callable[[dict[str, str]], str]:
    """Write files under a root that stands for "/"; the root."""

    def write(contents: dict[str, str]) -> str:
        for name, content in contents.items():
            path = tmp_path / "root" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return str(tmp_path / "root")

    return write


@pytest.fixture
def no_amd_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither amdsmi nor amd-smi, whatever the machine has: the kernel's files are left."""
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    monkeypatch.delenv("ROCM_PATH", raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
