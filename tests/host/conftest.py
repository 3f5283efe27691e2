"""Machines to read: a stub NVIDIA driver, and the files of an AMD host."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.host import nvml_stub
from vllm_launch.host import facts
from vllm_launch.model.host import HostFacts

READ = """
import json, sys
from vllm_launch.host import facts, {module}
json.dump(facts.to_dict({module}.{function}(sys.argv[1])), sys.stdout)
"""

ReadHost = Callable[..., HostFacts]


@pytest.fixture(scope="session")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built stub's directory, for ``nvml_stub.env``."""
    return nvml_stub.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def read_nvidia(nvml: Path) -> ReadHost:
    """Read a scenario's machine in a process of its own, through the real pynvml."""

    def read(scenario: str, root: str = "/", call: str = "nvidia.read") -> HostFacts:
        module, function = call.split(".")
        script = READ.format(module=module, function=function)
        done = subprocess.run(
            [sys.executable, "-c", script, root],
            env=nvml_stub.env(scenario, nvml),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return facts.from_dict(json.loads(done.stdout))

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
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
