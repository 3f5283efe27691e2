"""The installed command as an operator runs it, and programs that record how they are run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.host import nvml_stub

_SCRIPT = Path(sys.executable).with_name("vllm-launch")
COMMAND = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "vllm_launch"]
LAUNCH = shlex.join(COMMAND)  # in a line of shell
FLASH, M3 = "MiniMaxAI/MiniMax-M3.1-Flash", "MiniMaxAI/MiniMax-M3"
B300 = ("serve", FLASH, "--hardware", "b300")

# What the model's serving page gives for b300.
DOCUMENTED_ENV = {"VLLM_FLOAT32_MATMUL_PRECISION": "high"}
DOCUMENTED = [
    "serve", FLASH,
    "--block-size", "128",
    "--disable-hybrid-kv-cache-manager",
    "--tensor-parallel-size", "8",
    "--kv-cache-dtype", "nvfp4",
    "--attention-config",
    '{"indexer_kv_dtype": "nvfp4", "use_prefill_query_quantization": true}',
    "--compilation-config", '{"cudagraph_mode": "FULL_AND_PIECEWISE"}',
    "--tool-call-parser", "minimax_m3",
    "--enable-auto-tool-choice",
    "--reasoning-parser", "minimax_m3",
    "--speculative-config",
    (
        '{"method":"dspark","num_speculative_tokens":7,"attention_backend":"FLASHINFER_TS",'
        '"kv_cache_dtype":"fp8","draft_sample_method":"probabilistic",'
        '"rejection_sample_method":"block"}'
    ),
]  # fmt: skip
IMAGE = "vllm/vllm-openai:minimax-m31-flash"

_RECORDER = """\
#!{python} -IS
import json, os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with open("/proc/self/environ", "rb") as file:  # as handed over, before Python adds to it
    variables = file.read().decode("latin-1").split("\\0")
record = {{
    "argv": [os.fsencode(word).decode("latin-1") for word in sys.argv[1:]],
    "env": dict(variable.split("=", 1) for variable in variables if variable),
    "pid": os.getpid(),
}}
print(json.dumps(record), flush=True)
if {waits}:
    print(int(signal.sigwait([signal.SIGTERM])), flush=True)
{ending}
"""


class Ran:
    """What a finished run said."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.status = done.returncode
        self.out = (done.stdout or b"").decode("utf-8", "surrogateescape")
        self.err = (done.stderr or b"").decode("utf-8", "surrogateescape")

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def record(self) -> dict[str, Any]:
        """What a recording program wrote that ran in the launcher's place."""
        assert self.out, self.err
        record: dict[str, Any] = json.loads(self.out)
        return record

    @property
    def argv(self) -> list[str]:
        argv: list[str] = self.record["argv"]
        return argv

    @property
    def error(self) -> str:
        """The standard error of a run that failed as it should: no answer, no traceback."""
        assert self.out == ""
        assert "Traceback" not in self.err
        return self.err


class Operator:
    """Somebody with a home, a working directory and a PATH of their own."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.home, self.cwd, self.bin = root / "home", root / "somewhere", root / "bin"
        for directory in (self.home, self.cwd, self.bin):
            directory.mkdir()
        self.env = {
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PATH": str(self.bin),
            "XDG_CACHE_HOME": str(cache),
        }

    def install(self, name: str, *, status: int = 0, waits: bool = False, ending: str = "") -> Path:
        """Put a program on the PATH that prints its arguments, environment and pid.

        ``waits``: it goes on until a SIGTERM, and prints that too.
        """
        ending = ending or f"sys.exit({status})"
        return self.script(
            name, _RECORDER.format(python=sys.executable, waits=waits, ending=ending)
        )

    def script(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def configure(self, text: str) -> Path:
        """Write the settings file that is read without being named."""
        path = self.home / ".config" / "vllm-launch" / "config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *words: str | Path | bytes, env: dict[str, str] | None = None, **how: Any) -> Ran:
        """Run the launcher to its end. ``env`` is added to the operator's own."""
        return self.execute([*COMMAND, *words], env=env, **how)

    def execute(
        self, argv: Sequence[str | Path | bytes], env: dict[str, str] | None = None, **how: Any
    ) -> Ran:
        """Run any program to its end, as this operator."""
        settings: dict[str, Any] = {"cwd": self.cwd, "timeout": 300, "stdin": subprocess.DEVNULL}
        settings |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        if "input" in settings:
            del settings["stdin"]
        return Ran(subprocess.run(argv, env=self.env | (env or {}), check=False, **settings))

    def start(self, *words: str, **how: Any) -> subprocess.Popen[bytes]:
        """Start the launcher; the caller ends it."""
        settings: dict[str, Any] = {"cwd": self.cwd, "stdin": subprocess.DEVNULL} | how
        return subprocess.Popen([*COMMAND, *words], env=self.env, **settings)

    def shell(self, line: str, *, shell: str = "/bin/sh", env: dict[str, str] | None = None) -> Ran:
        """Run a line of shell, with the usual tools behind the operator's own programs."""
        tools = {"PATH": f"{self.bin}{os.pathsep}{os.defpath}"}
        return self.execute([shell, "-c", line], env=tools | (env or {}))


class Host:
    """Machines whose NVIDIA driver is a stub."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, scenario: str) -> dict[str, str]:
        """The variables that make a machine of a scenario."""
        env = nvml_stub.env(scenario, self.directory)
        return {name: env[name] for name in ("LD_LIBRARY_PATH", "NVML_STUB_SCENARIO")}
