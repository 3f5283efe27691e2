"""A vLLM whose Python is a script that answers as the real 0.32.0 for CPUs did, or fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.cli.launcher import Operator
from vllm_launch.vllm_options import COLLECT

RECORDED = Path(__file__).with_name("answer-0.32.0-cpu.json")
SCRIPT = Path(COLLECT).read_text(encoding="utf-8")
IMAGE_ID = "sha256:" + "5d" * 32

_PYTHON = """\
#!{python} -IS
import json, os, pathlib, signal, sys, time
here = pathlib.Path({here!r})
script = next((word for word in sys.argv if word.startswith('\"\"\"')), "")
words = ["SCRIPT" if word == script else word for word in sys.argv[1:]]
if words[:1] == ["info"]:
    print(json.dumps({{"ServerVersion": "28.2.2", "Runtimes": {{"runc": {{}}, "nvidia": {{}}}}}}))
    sys.exit()
if words[:2] == ["image", "inspect"]:
    if (here / "absent").exists():
        sys.exit("Error response from daemon: No such image: " + words[2])
    print((here / "image.json").read_text())
    sys.exit()
given = json.load(sys.stdin)
env = {{k: v for k, v in os.environ.items() if "VISIBLE" in k or k.startswith("VLLM_LAUNCH_")}}
call = {{"argv": words, "script": script, "given": given, "env": env, "pid": os.getpid()}}
file = os.open(here / "calls.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.write(file, json.dumps(call).encode() + b"\\n")  # at once
os.close(file)
mode = (here / "mode").read_text()
if mode == "no vLLM":
    print("Traceback (most recent call last):\\n  …", file=sys.stderr)
    sys.exit("ModuleNotFoundError: No module named 'vllm'")
if mode == "garbage":
    print("INFO 01-01 00:00:00 Available plugins: none")
    sys.exit()
if mode == "huge":
    sys.stdout.write("x" * (5 << 20))
    sys.exit()
if mode == "killed":
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "hang":
    time.sleep(600)
answer = json.loads((here / "answer.json").read_text())
def judged(words):
    if "--max-num-seqs" in words:
        return ["", "argument --max-num-seqs: must be even\\n    For further information visit x"]
    if "--enable-log-outputs" in words:
        return ["TypeError", "Error: --enable-log-outputs requires --enable-log-requests"]
answer["refusals"] = [judged(words) for words in given["commands"]]
print(json.dumps(answer))
"""


class StandIn:
    """It and what it was asked."""

    def __init__(self, operator: Operator) -> None:
        self.bin = operator.bin
        self.here = operator.home.parent
        self.packages = self.here / "lib" / "python3.12" / "site-packages"
        self.says()
        self.behaves("answer")

    def behaves(self, mode: str) -> None:
        (self.here / "mode").write_text(mode)

    def says(self, **changes: Any) -> None:
        """The recorded answer, with changes."""
        answer = json.loads(RECORDED.read_text(encoding="utf-8"))
        (self.here / "answer.json").write_text(json.dumps({**answer, **changes}))

    def install(self, version: str = "0.32.0+cpu") -> None:
        """Put it on the PATH as vllm, its files beside its Python."""
        (self.packages / "vllm" / "config").mkdir(parents=True)
        (self.packages / "vllm" / "__init__.py").write_text("raise SystemExit('imported')\n")
        (self.packages / "vllm" / "config" / "model.py").write_text("class ModelConfig: ...\n")
        info = self.packages / f"vllm-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: vllm\nVersion: {version}\n")
        python = self.program("python3.12")
        self.write("vllm", f"#!{python}\nfrom vllm import main\n")

    def contain(self, *, local: bool = True, **image: Any) -> None:
        """Put it on the PATH as docker, in an image."""
        found = {"Id": IMAGE_ID, "Config": {"Entrypoint": ["vllm", "serve"]}, **image}
        (self.here / "image.json").write_text(json.dumps([found]))
        if not local:
            (self.here / "absent").touch()
        self.program("docker")

    def program(self, name: str) -> Path:
        return self.write(name, _PYTHON.format(python=sys.executable, here=str(self.here)))

    def write(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    @property
    def calls(self) -> list[dict[str, Any]]:
        """How it was asked, each time."""
        path = self.here / "calls.jsonl"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]  # whole ones

    def forget_calls(self) -> None:
        (self.here / "calls.jsonl").unlink(missing_ok=True)
