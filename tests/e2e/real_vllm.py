"""What has to hold on a real vLLM, in the order in which an operator meets it.

    VLLM_LAUNCH=vllm-launch python tests/e2e/real_vllm.py HOME [RECORD]

HOME is made by scripts/e2e_vllm_cpu.sh. Every step says what it saw; the first that does not hold
ends the run with status 1. The outcome is written to RECORD.
"""

from __future__ import annotations

import atexit
import datetime
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

HOME = Path(sys.argv[1])
RECORD = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(os.devnull)
LAUNCH = os.environ["VLLM_LAUNCH"]
READY_SECONDS = 600
STOP_SECONDS = 60
lines: list[str] = []


def say(text: str) -> None:
    """Tell a line, and keep it for the record."""
    print(text, flush=True)
    lines.append(text.replace(str(HOME), "HOME"))


def held(what: str, fact: object, shown: str = "") -> None:
    """One fact that has to hold."""
    say(f"{'held' if fact else 'FAILED':6} {what}{f': {shown}' if shown else ''}")
    if not fact:
        finish(1)


def environment() -> dict[str, str]:
    """What the operator's shell would have: the environment's programs first on PATH."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_")}
    return {**keep, "PATH": f"{HOME / 'venv' / 'bin'}:{os.environ['PATH']}"}


def launch(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher to its end."""
    return subprocess.run(
        [LAUNCH, *words], env=environment(), cwd=HOME, capture_output=True, text=True, check=False
    )


def ask(port: int, path: str, body: object = None) -> object:
    """One request to the server; its JSON."""
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def family(pid: int) -> set[int]:
    """A process and all that it started, as the kernel has it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found = {pid}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found
        found |= more


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_ready(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """The server answers, or the run ends with what its log says."""
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            say(log.read_text(errors="replace")[-3000:])
            held("the server stays up", False, f"exit status {server.returncode}")
        try:
            ask(port, "/v1/models")
            return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    held("the server is ready in time", False)


def version_is_read_without_importing() -> None:
    started = time.monotonic()
    words = ("serve", "./tiny-model", "--hardware", "cpu", "--dry-run", "--lock", "lock.json")
    ran = launch(*words)
    took = time.monotonic() - started
    said = "# wrote the lock lock.json"
    held("a dry run writes a lock", said in ran.stderr.splitlines(), said)
    found = json.loads((HOME / "lock.json").read_text())["lock"]["vllm"]
    plain = subprocess.run(
        ["vllm", "--version"], env=environment(), capture_output=True, text=True, check=False
    )
    own = plain.stdout.strip().splitlines()[-1] if plain.stdout.strip() else ""
    held("vLLM says its own version", own.startswith("0.32.0"), own)
    held("the launcher reads it without importing", found == own, f"{found} in {took:.2f} s")


def a_flag_that_it_lacks_is_caught(port: int) -> None:
    words = ("serve", "./tiny-model", "--hardware", "cpu", "--port", str(port))
    ran = launch(*words, "--", "--no-such-flag", "1")
    told = next((line for line in ran.stderr.splitlines() if "FLAG_UNKNOWN" in line), "")
    held("a flag that this vLLM lacks is caught", "--no-such-flag" in told, told.strip())
    held("nothing was started", ran.returncode == 4, f"exit status {ran.returncode}")


def serve_answers_and_ends(port: int) -> None:
    log = HOME / "server.log"
    words = ("serve", "./tiny-model", "--hardware", "cpu", "--port", str(port))
    with log.open("wb") as stream:
        server = subprocess.Popen(
            [LAUNCH, *words], env=environment(), cwd=HOME, stdout=stream, stderr=stream
        )
    atexit.register(end, server)  # whatever does not hold, nothing is left running
    started = time.monotonic()
    wait_until_ready(server, port, log)
    say(f"       ready after {time.monotonic() - started:.0f} s")
    argv = Path(f"/proc/{server.pid}/cmdline").read_bytes().split(b"\0")
    held("the pid is vLLM's", any(w.endswith(b"/vllm") for w in argv[:2]), str(server.pid))
    models = ask(port, "/v1/models")
    held("/v1/models answers", models["data"], models["data"][0]["id"])
    chat = ask(
        port,
        "/v1/chat/completions",
        {
            "model": models["data"][0]["id"],
            "messages": [{"role": "user", "content": "Say in one sentence what you are."}],
            "max_tokens": 8,
        },
    )
    held(
        "a chat completion comes back", chat["usage"]["completion_tokens"] >= 1, str(chat["usage"])
    )
    verified = launch("verify", "./tiny-model", "--hardware", "cpu", "--port", str(port))
    for line in verified.stdout.splitlines():
        say(f"       {line}")
    told = f"exit status {verified.returncode}"
    held("verify says that it held", verified.returncode == 0, told)
    everyone = family(server.pid)
    server.send_signal(signal.SIGTERM)
    server.wait(STOP_SECONDS)
    deadline = time.monotonic() + STOP_SECONDS
    while any(map(alive, everyone)) and time.monotonic() < deadline:
        time.sleep(0.2)
    left = sorted(filter(alive, everyone))
    held("SIGTERM ends every process", not left, f"{len(everyone)} there were, {len(left)} left")
    say(f"       exit status {server.returncode}")


def end(server: subprocess.Popen[bytes]) -> None:
    """SIGTERM, which vLLM hands to its engines: SIGKILL would leave them with the memory."""
    if server.poll() is None:
        server.terminate()
        server.wait(STOP_SECONDS)


def finish(status: int) -> None:
    """Write the record and end."""
    head = [
        f"date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}",
        f"machine: {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}",
        f"outcome: {'passed' if status == 0 else 'failed'}",
        "",
    ]
    RECORD.write_text("\n".join([*head, *lines]) + "\n")
    sys.exit(status)


def main() -> None:
    port = free_port()
    say(launch("--version").stdout.strip())
    version_is_read_without_importing()
    a_flag_that_it_lacks_is_caught(port)
    serve_answers_and_ends(port)
    finish(0)


if __name__ == "__main__":
    main()
