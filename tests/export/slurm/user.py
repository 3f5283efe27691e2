"""Somebody who submits jobs, and programs that record how the jobs run them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.launcher import COMMAND
from tests.export.slurm.cluster import Cluster, until

# Writes down what it was given, answers what asks for its health, and waits to be ended. It may
# have a child that heeds no SIGTERM, as a worker with a thread that is stuck in a driver.
_RECORDER = """\
#!{python} -IS
import json, os, signal, socket, sys
with open("/proc/self/environ", "rb") as file:
    env = dict(each.split("=", 1) for each in file.read().decode("latin-1").split("\\0") if each)
if os.path.exists(env["RECORDS"] + ".stubborn") and os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
argv = [os.fsencode(word).decode("latin-1") for word in sys.argv]
read = {{}}
for path in [*env.values(), *argv]:
    if path.endswith("config.json"):
        with open(path) as file:
            read[os.path.basename(path)] = json.load(file)
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
port = next((b for a, b in zip(argv, argv[1:]) if a == "--port"), None)
port = next((a.partition("=")[2] for a in argv if a.startswith("-rpc_port=")), port) or "8000"
address = json.loads(env["ADDRESSES"])[env["SLURMD_NODENAME"]]
listening.bind((address, int(port)))
listening.listen()
record = {{"argv": argv[1:], "env": env, "pid": os.getpid(), "node": env["SLURMD_NODENAME"],
          "group": os.getpgrp(), "files": read}}
if os.fork() == 0:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    while True:
        client, _ = listening.accept()
        with client:
            if client.recv(100).startswith(b"GET /health"):
                client.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
print("serving", flush=True)
name = os.path.join(env["RECORDS"], "%s-%d" % (os.path.basename(argv[0]), os.getpid()))
with open(name + ".part", "w") as file:
    json.dump(record, file)
os.rename(name + ".part", name)  # the last of all: who finds it finds the rest
signal.sigwait([signal.SIGTERM])
print("ended", flush=True)
"""


class User:
    """A home, a directory to submit from, and programs on the PATH."""

    def __init__(self, root: Path, cache: Path, cluster: Cluster) -> None:
        self.cluster = cluster
        self.cwd, self.bin, self.records = root / "work", root / "bin", root / "records"
        for directory in (self.cwd, self.bin, self.records, root / "home"):
            directory.mkdir()
        self.env = cluster.env | {
            "HOME": str(root / "home"),
            "LC_ALL": "C.UTF-8",
            "XDG_CACHE_HOME": str(cache),
            "RECORDS": str(self.records),
            "ADDRESSES": json.dumps(cluster.address),
            "PATH": f"{self.bin}:{cluster.env['PATH']}",
        }
        for name in ("vllm", "vllm-router", "mooncake_master", "python3"):
            path = self.bin / name
            path.write_text(_RECORDER.format(python=sys.executable), encoding="utf-8")
            path.chmod(0o755)
        self.jobs: list[str] = []

    def have_stubborn_children(self) -> None:
        """From now on a recording program has a child that only SIGKILL ends."""
        self.records.with_suffix(".stubborn").touch()

    def leave(self) -> None:
        """End what is still running, and wait until it is gone."""
        for record in self._read():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(record["group"], signal.SIGTERM)  # sooner done than by scancel
        for number in self.jobs:
            self.cluster.ended(number)

    def launch(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, "export", *words, "--to", "slurm"] if "--" not in words else
            [*COMMAND, "export", "--to", "slurm", *words],
            env=self.env, cwd=self.cwd, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    def submit(self, *words: str) -> str:
        """Export a job and hand it to Slurm; its number."""
        at = words.index("--") if "--" in words else len(words)
        done = self.launch(*words[:at], "--submit", *words[at:])
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip().isdecimal(), done.stdout
        self.jobs.append(done.stdout.strip())
        return self.jobs[-1]

    def recorded(self, count: int, *, without: tuple[int, ...] = ()) -> list[dict[str, Any]]:
        """The records of so many processes, by name and node, as soon as they are there."""

        def found() -> list[dict[str, Any]]:
            records = [record for record in self._read() if record["pid"] not in without]
            return records if len(records) == count else []

        records = until(found, f"{count} recorded processes")
        return sorted(records, key=lambda record: (record["program"], record["node"]))

    def _read(self) -> list[dict[str, Any]]:
        paths = [path for path in self.records.iterdir() if path.suffix != ".part"]
        return [
            {"program": path.name.rpartition("-")[0], **json.loads(path.read_text())}
            for path in paths
        ]

    def log(self, number: str) -> str:
        return (self.cwd / f"minimax-m3-{number}.log").read_text()


def kill(record: dict[str, Any]) -> None:
    os.kill(record["pid"], signal.SIGKILL)


def alive(records: list[dict[str, Any]]) -> list[str]:
    """The processes that are left of these records: themselves, and their children."""
    groups = {record["group"] for record in records}
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) in groups and fields[0] != "Z":
                found.append(entry.name)
    return found
