"""A program that plays docker or podman: containers that are real processes, and their words.

It is written to a file beside its state, and needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE / "containers"
PLAYER = HERE / "player.py"


def main(words: list[str]) -> int:
    KEPT.mkdir(exist_ok=True)
    with open(HERE / "asked", "a", encoding="utf-8") as stream:
        stream.write(json.dumps(words) + "\n")
    if (HERE / "down").exists():
        print("Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker "
              "daemon running?", file=sys.stderr)  # fmt: skip
        return 1
    if words[:2] == ["container", "inspect"]:
        return inspect(words[2])
    known = {"run": run, "logs": logs, "stop": stop, "rm": rm}
    return known[words[0]](words[1:]) if words[0] in known else 1


def find(wanted: str) -> Path | None:
    for path in KEPT.glob("*.json"):
        try:
            found = json.loads(path.read_text())
        except FileNotFoundError:  # removed meanwhile
            continue
        if wanted in (found["Name"][1:], found["Id"]):
            return path
    return None


def no_such(wanted: str) -> int:
    said = f"Error response from daemon: No such container: {wanted}"
    if (HERE / "podman").exists():
        said = f'Error: no container with name or ID "{wanted}" found: no such container'
    print(said, file=sys.stderr)
    return 125 if (HERE / "podman").exists() else 1


def state(path: Path) -> dict:
    found = json.loads(path.read_text())
    end = path.with_suffix(".end")
    running = not end.exists()
    found["State"] = {
        "Status": "running" if running else "exited", "Running": running, "Paused": False,
        "Restarting": False, "OOMKilled": (HERE / "oom").exists(), "Dead": False,
        "Pid": found["pid"] if running else 0,
        "ExitCode": int(end.read_text()) if not running else 0, "Error": "",
    }  # fmt: skip
    return found


def inspect(wanted: str) -> int:
    path = find(wanted)
    if path is None:
        print("[]")
        return no_such(wanted)
    print(json.dumps([state(path)], indent=4))
    return 0


def run(words: list[str]) -> int:
    takes = {"--name", "--label", "-p", "-v", "-e", "--gpus", "--device", "--entrypoint"}
    options: dict[str, list[str]] = {}
    while words[0].startswith("-"):
        word = words.pop(0)
        options.setdefault(word, []).append(words.pop(0) if word in takes else "")
    if (HERE / "no_image").exists():
        print("docker: Error response from daemon: pull access denied.", file=sys.stderr)
        return 125
    name = options["--name"][0]
    if find(name) is not None:
        print(f'docker: Conflict. The container name "/{name}" is already in use', file=sys.stderr)
        return 125
    identity = f"{os.getpid():064x}"
    label, _, value = options.get("--label", ["="])[0].partition("=")
    path = KEPT / f"{identity}.json"
    if (HERE / "no_toolkit").exists():  # it is made all the same, and stays
        path.with_suffix(".log").touch()
        path.with_suffix(".end").write_text("128")
        path.write_text(json.dumps({
            "Id": identity, "Name": f"/{name}", "pid": 2**22,
            "Config": {"Image": words[0], "Labels": {label: value}},
        }))  # fmt: skip
        print('docker: Error response from daemon: could not select device driver "" with '
              "capabilities: [[gpu]]", file=sys.stderr)  # fmt: skip
        return 125
    if "-d" in options:
        if os.fork():
            while not path.exists():
                time.sleep(0.01)
            print(identity, flush=True)
            return 0
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
    log = open(path.with_suffix(".log"), "wb")  # noqa: SIM115 - the container's
    server = subprocess.Popen(
        [sys.executable, "-IS", str(PLAYER), "serve", *words[1:]],
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    part = path.with_suffix(".part")
    part.write_text(json.dumps({
        "Id": identity, "Name": f"/{name}", "pid": server.pid,
        "Config": {"Image": words[0], "Labels": {label: value}},
    }))  # fmt: skip
    part.rename(path)
    if "-d" in options:
        wait(server, path)
        return 0
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(server.pid, number))
    status = wait(server, path)
    sys.stdout.write(path.with_suffix(".log").read_text())
    return status


def wait(server: subprocess.Popen, path: Path) -> int:
    status = os.waitpid(server.pid, 0)[1]
    status = os.waitstatus_to_exitcode(status)
    status = status if status >= 0 else 128 - status
    part = path.with_suffix(".end-part")
    part.write_text(str(status))
    part.rename(path.with_suffix(".end"))  # whole as soon as it is there
    return status


def logs(words: list[str]) -> int:
    path = find(words[-1])
    if path is None:
        return no_such(words[-1])
    with open(path.with_suffix(".log"), encoding="utf-8") as stream:
        while True:
            last = "-f" not in words or path.with_suffix(".end").exists()
            sys.stdout.write(stream.read())
            sys.stdout.flush()
            if last:
                return 0
            time.sleep(0.05)


def stop(words: list[str]) -> int:
    path = find(words[-1])
    if path is None:
        return no_such(words[-1])
    until = time.monotonic() + int(words[1])
    pid = json.loads(path.read_text())["pid"]
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    while not path.with_suffix(".end").exists():
        if time.monotonic() > until:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        time.sleep(0.02)
    print(words[-1])
    return 0


def rm(words: list[str]) -> int:
    path = find(words[-1])
    if path is None:
        return no_such(words[-1])
    for ending in (".json", ".end", ".log"):
        path.with_suffix(ending).unlink(missing_ok=True)
    print(words[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
