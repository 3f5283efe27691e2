"""serve --wait and --detach, status, logs and stop, with servers that play vLLM."""

from __future__ import annotations

import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import ports
from tests.host import nvml_stub
from tests.running.player import MODEL

from .launcher import COMMAND, Host, Operator, Ran
from .test_bench import RECORDER

PLAYER = Path(__file__).parents[1] / "running" / "player.py"
ENGINE = Path(__file__).with_name("engine.py")
SERVE = ("serve", MODEL, "--hardware", "h200", "--skip", "all")


class Servers:
    """What an operator serves with, on a port of its own."""

    def __init__(self, operator: Operator, directory: Path, port: int) -> None:
        self.operator = operator
        self.directory = directory
        self.kept = operator.home / ".local/state/vllm-launch/servers"
        self.port = str(port)
        self.url = f"http://127.0.0.1:{self.port}"

    def words(self, *words: str) -> tuple[str, ...]:
        return (*SERVE, "--port", self.port, *words)

    def serve(self, *words: str, **told: Any) -> Ran:
        return self.operator.run(*self.words(*words), env={"PLAY": json.dumps(told)})

    def start(self, *words: str, **told: Any) -> subprocess.Popen[bytes]:
        env = self.operator.env | {"PLAY": json.dumps(told)}
        return subprocess.Popen(
            [*COMMAND, *self.words(*words)], env=env, cwd=self.operator.cwd,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def status(self, *names: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.operator.run("status", *names, "-o", "json").json[
            "servers"
        ]
        return found

    def states(self) -> dict[str, str]:
        return {each["name"]: each["state"] for each in self.status()}

    def running(self) -> list[int]:
        """The pids of all that plays here."""
        found = []
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
                alive = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if self.port.encode() in words and b"serve" in words and alive not in "ZX":
                found.append(int(name))
        return found

    def until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.fixture
def servers(operator: Operator, tmp_path: Path) -> Iterator[Servers]:
    operator.script("vllm", f"#!{sys.executable} -IS\n{PLAYER.read_text()}")
    directory = tmp_path / "engine"
    directory.mkdir()
    shutil.copy(PLAYER, directory)
    shutil.copy(ENGINE, directory)
    for name in ("docker", "podman"):
        operator.script(name, f'#!/bin/sh\nexec {sys.executable} -IS {directory}/engine.py "$@"\n')
    with ports.held() as port:
        servers = Servers(operator, directory, port)
        yield servers
        for pid in servers.running():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def monitor_of(kept: dict[str, Any]) -> int:
    """The pid of the process that a detached server is the child of."""
    return psutil.Process(kept["pid"]).ppid()


def wait_for_line(process: subprocess.Popen[bytes], wanted: str) -> list[str]:
    lines = []
    assert process.stderr is not None
    for raw in process.stderr:
        lines.append(raw.decode().rstrip("\n"))
        if lines[-1].startswith(wanted):
            return lines
    raise AssertionError(lines)


# In the foreground.


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 7), (signal.SIGHUP, 143)]
)
def test_it_stays_passes_signals_on_and_exits_with_the_servers_status(
    servers: Servers, number: signal.Signals, status: int
) -> None:
    with servers.start("--wait", children=2, status=status) as process:
        lines = wait_for_line(process, "# held     reasoning")
        assert f"# qwen3-8b at {servers.url}, ready after " in "\n".join(lines)
        assert servers.states() == {"qwen3-8b": "ready"}
        assert len(servers.running()) == 4  # the launcher, the server, its children
        process.send_signal(number)
        out = process.communicate(timeout=120)[0].decode()
    assert process.returncode == status
    assert out.endswith(f"INFO:     Application startup complete.\nended by {number.name}\n")
    assert servers.running() == []
    assert servers.states() == {}


def test_a_signal_while_it_loads_ends_it(servers: Servers) -> None:
    with servers.start("--wait", stays_at=6) as process:
        wait_for_line(process, "# weights")
        assert servers.states() == {"qwen3-8b": "starting"}
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert (process.returncode, servers.running(), servers.states()) == (0, [], {})


def test_one_that_dies_while_loading_is_diagnosed(servers: Servers) -> None:
    words = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    ran = servers.serve("--wait", dies_after=4, status=3, last_words=words, children=2)
    assert ran.status == 3
    assert ran.out.endswith(words + "\n")
    assert "error: qwen3-8b: ended with status 3\nGPU_MEMORY  line" in ran.err
    command = f"    vllm-launch fit {MODEL} --hardware h200\n"
    assert command in ran.err
    assert servers.running() == []
    (kept,) = servers.status()
    assert (kept["state"], kept["status"], kept["detail"]) == ("dead", 3, "ended with status 3")
    log = servers.operator.run("logs").out
    assert (
        log == f"# started as: {shlex.join(('vllm-launch', *servers.words('--wait')))}\n{ran.out}"
    )
    (servers.operator.cwd / "log").write_text(log)
    assert servers.operator.run("diagnose", "log").out.endswith(command)
    assert servers.operator.run("stop").err == ("# qwen3-8b was not running: ended with status 3\n")
    assert servers.states() == {}


def test_one_that_nothing_is_known_of_shows_its_last_lines(servers: Servers) -> None:
    ran = servers.serve("--wait", dies_after=3, status=1, last_words="a\x1b[2J word")
    assert ran.status == 1
    assert ran.err.endswith("...\n  | a[2J word\n")


def test_one_that_does_not_hold_is_not_handed_over(servers: Servers) -> None:
    ran = servers.serve("--wait", call={"content": "It is sunny."}, children=2)
    assert ran.status == 4
    assert "# FAILED   tool call   no call, but: It is sunny.\n" in ran.err
    assert ran.err.endswith(
        "error: qwen3-8b was ended: it does not hold what its recipe promises\n"
        "  see vllm-launch logs qwen3-8b\n"
    )
    assert servers.running() == []


def test_one_that_dies_when_it_is_asked_is_told_with_its_status(servers: Servers) -> None:
    ran = servers.serve("--wait", dies_at="/v1/chat/completions")
    assert ran.status == 137
    assert "# -        streaming   not tested: the server has ended\n" in ran.err


def test_another_servers_answers_are_not_its_own(servers: Servers) -> None:
    """Of the same model, on the same port: as long as the new one loads, the old one is heard."""
    line = [str(servers.operator.bin / "vllm"), "serve", MODEL, "--port", servers.port]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        while b"startup complete" not in other.stdout.readline():
            pass
        ran = servers.serve("--wait", "--name", "second", pause=0.1)
        other.terminate()
    assert ran.status == 1
    assert "ready after" not in ran.err
    assert "PORT_BUSY  line" in ran.err
    assert servers.states() == {"second": "dead"}


@pytest.mark.parametrize("how", [("--wait",), ("--detach",)], ids=" ".join)
def test_a_place_that_another_is_to_answer_at_is_refused_while_it_loads(
    servers: Servers, how: tuple[str, ...]
) -> None:
    assert servers.serve("--detach", stays_at=2).out == "qwen3-8b\n"
    ran = servers.serve(*how)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(
        f"error: qwen3-8b runs already at {servers.url}\n"
        "  end it with vllm-launch stop qwen3-8b, or give another --port\n"
    )
    assert servers.states() == {"qwen3-8b": "starting"}
    assert servers.operator.run("stop").status == 0
    assert servers.serve("--detach", "--wait").status == 0
    assert servers.operator.run("stop").status == 0


def test_one_that_hangs_is_ended(servers: Servers) -> None:
    ran = servers.serve("--wait", "--request-timeout", "1", hangs="/health")
    assert ran.status == 4
    assert "it hangs: for 1 s, took the request, and did not answer in 1 s" in ran.err
    assert servers.running() == []


def test_a_supervisor_that_is_killed_takes_the_server_along(servers: Servers) -> None:
    with servers.start("--wait") as process:
        wait_for_line(process, "# held     reasoning")
        process.kill()
        process.communicate()
    servers.until(lambda: servers.running() == [])
    (kept,) = servers.status()
    assert (kept["state"], kept["status"]) == ("dead", None)
    assert kept["detail"] == "how it ended is not known"


@pytest.mark.parametrize("how", [("--wait",), ("--detach",), ("--detach", "--wait")], ids=" ".join)
def test_where_no_record_can_be_written_nothing_is_started(
    servers: Servers, how: tuple[str, ...]
) -> None:
    line = shlex.join([*COMMAND, *servers.words(*how)])
    ran = servers.operator.shell(f"ulimit -f 0; exec {line}")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.endswith(
        f"error: cannot write {servers.kept}: File too large\n  set XDG_STATE_HOME\n"
    )
    assert (servers.running(), servers.states()) == ([], {})


def test_a_disk_that_fills_up_ends_no_server(servers: Servers) -> None:
    with servers.start("--wait", pause=0.2) as process:
        wait_for_line(process, "# weights")
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))
        lines = wait_for_line(process, "# held     reasoning")
        process.terminate()
        out = process.communicate(timeout=30)[0].decode()
    assert f"warning: cannot write {servers.kept}: File too large" in lines
    assert out.endswith("ended by SIGTERM\n")
    assert (process.returncode, servers.running(), servers.states()) == (0, [], {})


# Detached.


def test_detached_it_is_found_followed_and_ended(servers: Servers) -> None:
    ran = servers.serve("--detach", "--wait", "--name", "q8", children=2)
    assert (ran.status, ran.out) == (0, "q8\n"), ran.err
    assert "# held     tool call   get_weather(city=Paris)\n" in ran.err
    (kept,) = servers.status("q8")
    assert (kept["state"], kept["url"], kept["model"]) == ("ready", servers.url, MODEL)
    assert kept["pid"] in servers.running()
    assert len(servers.running()) == 4  # its monitor, the server, its children
    assert servers.operator.run("logs", "q8").out.endswith("Application startup complete.\n")
    assert servers.operator.run("verify").status == 0
    assert servers.operator.run("verify", "--name", "q8").out.startswith(servers.url)
    with servers.operator.start("logs", "q8", "--follow", stdout=subprocess.PIPE) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline()  # it follows
        assert servers.operator.run("stop", "q8").err == "# q8 has ended\n"
        assert follower.stdout.read().endswith(b"\nended by SIGTERM\n")
    assert (servers.running(), servers.states()) == ([], {})
    assert [path.name for path in servers.kept.iterdir()] == [".lock"]


def test_a_log_that_is_rotated_is_followed_on(servers: Servers) -> None:
    """As logrotate does it with copytruncate."""
    assert servers.serve("--detach", "--wait", "--name", "q8").status == 0
    log = servers.kept / "q8" / "log"
    with servers.operator.start("logs", "q8", "-f", stdout=subprocess.PIPE) as follower:
        assert follower.stdout is not None
        while not follower.stdout.readline().endswith(b"startup complete.\n"):
            pass
        os.truncate(log, 0)
        assert servers.operator.run("verify").status == 0
        assert servers.operator.run("stop").status == 0
        assert follower.stdout.read() == b"ended by SIGTERM\n"
    assert servers.states() == {}


def test_without_waiting_it_returns_at_once(servers: Servers) -> None:
    goes_on = servers.directory / "goes on"
    assert servers.serve("--detach", stays_at=6, until=str(goes_on)).out == "qwen3-8b\n"
    assert servers.states() == {"qwen3-8b": "starting"}
    goes_on.touch()
    ran = servers.operator.run("verify")
    assert ran.status == 0, ran.err
    assert "# kv cache: 512,000 tokens\n" in ran.err
    assert servers.states() == {"qwen3-8b": "ready"}
    servers.operator.run("stop")


def test_a_detached_one_that_dies_leaves_its_status(servers: Servers) -> None:
    assert servers.serve("--detach", dies_after=2, status=9, pause=0.1).status == 0
    ran = servers.operator.run("verify")
    assert ran.status == 4
    assert f"error: {servers.url}: ended with status 9\n" in ran.err
    assert servers.status()[0]["status"] == 9


def test_a_detached_one_that_does_not_hold_is_ended(servers: Servers) -> None:
    ran = servers.serve("--detach", "--wait", thought={"content": "391"})
    assert (ran.status, ran.out) == (4, "")
    assert servers.running() == []
    assert servers.states() == {"qwen3-8b": "dead"}


def test_a_program_that_cannot_be_started_is_told(servers: Servers) -> None:
    servers.operator.script("vllm", "#!/no/such/interpreter\n")
    for option in ("--wait", "--detach"):
        ran = servers.serve(option)
        assert ran.status == 5
        assert ran.err.splitlines()[-1].endswith("/bin/vllm: No such file or directory")
    assert servers.states() == {}


def test_a_monitor_that_is_killed_leaves_the_server(servers: Servers) -> None:
    servers.serve("--detach", "--wait", status=5)
    (kept,) = servers.status()
    os.kill(monitor_of(kept), signal.SIGKILL)
    servers.until(lambda: servers.running() == [kept["pid"]])
    assert servers.states() == {"qwen3-8b": "ready"}
    os.kill(kept["pid"], signal.SIGTERM)
    servers.until(lambda: servers.running() == [])
    (kept,) = servers.status()
    assert (kept["state"], kept["status"]) == ("dead", None)


def test_workers_that_a_killed_server_left_are_told_and_ended(servers: Servers) -> None:
    servers.serve("--detach", "--wait", children=2)
    (kept,) = servers.status()
    os.kill(monitor_of(kept), signal.SIGKILL)
    os.kill(kept["pid"], signal.SIGKILL)
    servers.until(lambda: len(servers.running()) == 2)
    (kept,) = servers.status()
    assert kept["detail"] == "how it ended is not known; 2 of its processes still run"
    assert servers.serve("--detach", "--name", "qwen3-8b").status == 2
    assert servers.operator.run("stop").status == 0
    assert servers.running() == []


def test_a_deaf_server_is_killed_when_its_time_is_up(servers: Servers) -> None:
    servers.serve("--detach", "--wait", children=1, deaf=True)
    ran = servers.operator.run("stop", "--timeout", "1")
    assert (ran.status, ran.err) == (0, "# qwen3-8b was killed: it did not end when asked\n")
    assert servers.running() == []


def test_names(servers: Servers) -> None:
    servers.serve("--detach", "--wait")
    taken = servers.serve("--detach", "--name", "qwen3-8b")
    assert taken.status == 2
    assert taken.err.splitlines()[-2:] == [
        "error: qwen3-8b runs already",
        "  see vllm-launch status, end it with vllm-launch stop qwen3-8b, or give --name",
    ]
    assert servers.serve("--detach", "--host", "127.0.0.2").out == "qwen3-8b-2\n"
    assert servers.operator.run("stop", "qwen3-8b-2").status == 0
    assert servers.operator.run("stop").err == "# qwen3-8b has ended\n"
    for words in (("stop", "none"), ("logs", "../x"), ("status", "none")):
        assert servers.operator.run(*words).status == 2


def test_no_secret_is_kept(servers: Servers) -> None:
    env = {"PLAY": json.dumps({"key": "sesame"}), "VLLM_API_KEY": "sesame", "HF_TOKEN": "open"}
    ran = servers.operator.run(*servers.words("--detach", "--wait"), env=env)
    assert ran.status == 0, ran.err
    assert "wrong key   refused with 401" in ran.err
    text = "".join(path.read_text() for path in servers.kept.rglob("*") if path.is_file())
    assert "sesame" not in text + ran.err
    assert "open" not in text.replace("api_server", "").replace("OpenAI", "")
    assert all(path.stat().st_mode & 0o077 == 0 for path in servers.kept.rglob("*"))
    servers.operator.run("stop")


def test_interrupted_before_it_is_ready_it_is_ended_and_forgotten(servers: Servers) -> None:
    with servers.start("--detach", "--wait", stays_at=6) as process:
        wait_for_line(process, "# weights")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().endswith(
        "# ending qwen3-8b, after what it still answers; another Ctrl-C leaves it running\n"
    )
    assert (servers.running(), servers.states()) == ([], {})


def test_interrupted_again_it_says_what_it_leaves(servers: Servers) -> None:
    with servers.start("--detach", "--wait", hangs="/health", deaf=True) as process:
        wait_for_line(process, "# ready")
        process.send_signal(signal.SIGINT)
        wait_for_line(process, "# ending qwen3-8b")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == (
        "# qwen3-8b was left, and may run: end it with vllm-launch stop qwen3-8b\n"
    )
    assert servers.states() == {"qwen3-8b": "starting"}
    assert servers.operator.run("stop", "--timeout", "1").status == 0
    assert servers.running() == []


def test_the_terminals_signals_are_not_a_detached_servers(servers: Servers) -> None:
    with servers.start("--detach", "--wait") as process:
        process.communicate(timeout=120)
    for pid in servers.running():
        seen = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
        assert int(seen[3]) != os.getsid(0)
    servers.operator.run("stop")


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_container_that_was_removed_is_dead(servers: Servers, engine: str) -> None:
    if engine == "podman":
        (servers.directory / "podman").touch()
    servers.serve("--detach", "--wait", "--runtime", engine)
    (kept,) = servers.status()
    for verb in (("stop", "-t", "1"), ("rm",)):
        servers.operator.execute([servers.operator.bin / engine, *verb, kept["container"]["id"]])
    (kept,) = servers.status()
    assert (kept["state"], kept["detail"]) == ("dead", "its container is gone")
    ran = servers.operator.run("verify")
    assert (ran.status, "its container is gone" in ran.err) == (4, True)
    assert servers.operator.run("stop").status == 0


# What is intended.


def test_what_the_server_reports_is_beside_the_plan(servers: Servers) -> None:
    args = {"model_tag": MODEL, "tensor_parallel_size": 1, "tool_call_parser": "qwen3_xml"}
    ran = servers.serve("--detach", "--wait", args=args, kv=81920)
    assert ran.status == 0, ran.err
    rows = ran.err.splitlines()[-5:]
    assert rows == [
        f"# is       weights     {MODEL}",
        "# is       context     40,960 tokens",
        "# is       version     vLLM 0.32.0",
        "# DIFFERS  arguments   --tool-call-parser is qwen3_xml, planned hermes",
        "# is       KV cache    81,920 tokens: 2.0 requests of 40,960",
    ]
    assert servers.operator.run("verify").out.splitlines()[-5:] == [row[2:] for row in rows]
    assert servers.operator.run("verify", "--strict").status == 4
    servers.operator.run("stop")


def test_strict_does_not_hand_over_what_is_not_as_planned(servers: Servers) -> None:
    ran = servers.serve("--wait", "--strict", length=100)
    assert ran.status == 4
    assert "error: qwen3-8b was ended: it is not as planned\n" in ran.err
    assert servers.running() == []


def test_the_gpus_it_sits_on_are_those_planned(servers: Servers, nvml: Path) -> None:
    assert servers.serve("--detach", "--wait", children=1).status == 0
    (kept,) = servers.status()
    (worker,) = set(servers.running()) - {kept["pid"], monitor_of(kept)}
    held = {**nvml_stub.H200, "processes": f"{worker}:100000"}
    for name, gpus in (("one", [nvml_stub.H200, held]), ("two", [held, held])):
        nvml_stub.write(nvml, f"server_on_{name}", nvml_stub.machine(gpus))
    seen = {
        name: servers.operator.run("verify", env=Host(nvml)(f"server_on_{name}")).out.splitlines()
        for name in ("one", "two")
    }
    assert seen["one"][-1] == "is       GPUs        on 1"
    assert seen["two"][-1] == "DIFFERS  GPUs        on 2 (0, 1), and the plan is for 1"
    servers.operator.run("stop")


# Asked and measured.


def test_a_kept_server_is_asked_by_its_own_name(servers: Servers) -> None:
    words = ("--detach", "--wait", "--variant", "fp8", "--", "--served-model-name", "mine")
    assert servers.serve(*words).status == 0
    operator = servers.operator
    for asked in ((), ("--url", servers.url)):
        body = operator.run("client", MODEL, *asked, "-o", "json").json["client"]
        assert (body["url"], body["body"]["model"]) == (
            f"{servers.url}/v1/chat/completions", "mine",
        )  # fmt: skip
    argv = operator.run("bench", MODEL, "--dry-run", "-o", "json").json["benchmark"]["argv"]
    assert argv[3:9] == [
        "--base-url", servers.url, "--model", f"{MODEL}-FP8", "--served-model-name", "mine",
    ]  # fmt: skip
    named = operator.run("client", MODEL, "--model-name", "other", "-o", "json").json["client"]
    assert named["body"]["model"] == "other"
    operator.run("stop")


def test_a_results_lock_is_of_the_server_that_was_measured(servers: Servers) -> None:
    operator, recorder = servers.operator, servers.directory / "recorder.py"
    recorder.write_text(RECORDER)
    play = (operator.bin / "vllm").rename(servers.directory / "play")
    operator.script(
        "vllm",
        f'#!/bin/sh\nif [ "$1" = bench ]; then exec {sys.executable} {recorder} "$@"; fi\n'
        f'exec {play} "$@"\n',
    )
    words = ("--detach", "--wait", "--tp", "2", "--", "--max-model-len", "4096")
    assert servers.serve(*words).status == 0
    bench = ("bench", MODEL, "--hardware", "h200")
    assert operator.run(*bench, "--label", "one").status == 0
    assert operator.run(*bench, "--tp", "4", "--label", "two").status == 0
    compared = operator.run("bench", "--compare", "one", "--compare", "two").out
    assert compared.endswith(
        "Both stood on the same: recipe, choice, command, image and hardware.\n"
    )
    (lock,) = operator.home.rglob("one.lock.json")
    argv = json.loads(lock.read_text())["lock"]["processes"][0]["argv"]
    assert argv[argv.index("--tensor-parallel-size") + 1] == "2"
    assert argv[-2:] == ["--max-model-len", "4096"]
    path = servers.kept / "qwen3-8b" / "record.json"
    path.write_text(path.read_text().replace('"4096"', '"2048"', 1))
    ran = operator.run(*bench, "--label", "three")
    assert ran.status == 0
    assert (
        "# no lock is kept with the result: "
        "the command line of qwen3-8b makes another plan by now\n"
    ) in ran.err
    operator.run("stop")


# No lie.


def record(servers: Servers, **changed: Any) -> None:
    path = servers.kept / "qwen3-8b" / "record.json"
    found = json.loads(path.read_text())
    found["server"] |= changed
    path.write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        pytest.param({"started": 1}, "dead", id="another process has its pid"),
        pytest.param({"boot": "before"}, "dead", id="the machine was started anew"),
        pytest.param({"boot": "b", "host": "n7"}, "unknown", id="another machine"),
        pytest.param({"namespace": "pid:[1]"}, "unknown", id="another container"),
    ],
)
def test_a_process_that_is_not_the_server_is_never_ended(
    servers: Servers, changed: dict[str, Any], state: str
) -> None:
    servers.serve("--detach", "--wait")
    (kept,) = servers.status()
    record(servers, **changed)
    assert servers.states() == {"qwen3-8b": state}
    assert servers.operator.run("stop").status == (2 if state == "unknown" else 0)
    assert kept["pid"] in servers.running()


def test_a_record_that_cannot_be_read_is_told_and_kept(servers: Servers) -> None:
    servers.serve("--detach", "--wait")
    (servers.kept / "qwen3-8b" / "record.json").write_text("{")
    ran = servers.operator.run("status")
    place = servers.kept / "qwen3-8b"
    assert ran.err.startswith(
        f"# the record of qwen3-8b cannot be read\n#   end its server by hand, and delete {place}\n"
    )
    assert servers.operator.run("stop", "qwen3-8b").status == 2
    assert servers.serve("--detach", dies_after=0).out == "qwen3-8b-2\n"


@pytest.mark.parametrize(
    ("form", "begins"),
    [(0, "end its server by hand"), (2, "a newer vllm-launch wrote it: use that one, or end")],
    ids=["older", "newer"],
)
def test_a_record_of_another_version_says_what_to_do(
    servers: Servers, form: int, begins: str
) -> None:
    servers.serve("--detach", "--wait")
    path = servers.kept / "qwen3-8b" / "record.json"
    written = path.read_text()
    path.write_text(written.replace('"format": 1', f'"format": {form}'))
    told = f"the record of qwen3-8b has the format {form}; this vllm-launch reads 1"
    for command in ("status", "stop", "logs"):
        ran = servers.operator.run(command, "qwen3-8b")
        assert ran.error.startswith(f"error: {told}\n  {begins}")
    assert servers.operator.run("status").err.startswith(f"# {told}\n#   {begins}")
    path.write_text(written)
    assert servers.operator.run("stop", "qwen3-8b").status == 0


# Containers.


@pytest.mark.parametrize("engine", ["docker", "podman"])
def test_a_container_is_started_found_and_ended(servers: Servers, engine: str) -> None:
    if engine == "podman":
        (servers.directory / "podman").touch()
    ran = servers.serve("--detach", "--wait", "--runtime", engine)
    assert (ran.status, ran.out) == (0, "qwen3-8b\n"), ran.err
    (kept,) = servers.status()
    assert (kept["state"], kept["pid"]) == ("ready", None)
    assert kept["container"]["engine"] == engine
    assert kept["container"]["name"] == "vllm-qwen3-8b"
    assert len(kept["container"]["id"]) == 64
    assert servers.operator.run("verify").status == 0
    log = servers.operator.run("logs").out
    assert log.startswith(f"# started as: vllm-launch serve {MODEL} --hardware h200 ")
    assert log.endswith("Application startup complete.\n")
    assert servers.operator.run("stop").err == "# qwen3-8b has ended\n"
    assert (servers.running(), servers.states()) == ([], {})
    assert list((servers.directory / "containers").iterdir()) == []


def test_what_is_printed_is_what_is_started(servers: Servers) -> None:
    words = servers.words("--detach", "--runtime", "docker")
    printed = servers.operator.run(*words, "--output", "argv")
    servers.operator.run(*words)
    asked = [json.loads(line) for line in (servers.directory / "asked").read_text().splitlines()]
    ran = next(line for line in asked if line[0] == "run")
    assert ran == json.loads(printed.out)[1:]
    assert ran[:6] == [
        "run", "-d", "--name", "vllm-qwen3-8b",
        "--label", f"vllm-launch.server={os.getuid()}/qwen3-8b",
    ]  # fmt: skip
    servers.operator.run("stop")


def test_a_container_that_ended_is_dead_with_its_status(servers: Servers) -> None:
    (servers.directory / "oom").touch()
    ran = servers.serve("--detach", "--wait", "--runtime", "docker", dies_after=3, status=137)
    assert ran.status == 4
    assert "error: qwen3-8b: ended by SIGKILL: out of memory\n" in ran.err
    assert servers.status()[0]["status"] == 137
    assert servers.serve("--detach", "--wait", "--runtime", "docker").status == 0
    servers.operator.run("stop")


def test_a_container_that_is_not_made_leaves_nothing(servers: Servers) -> None:
    (servers.directory / "no_image").touch()
    ran = servers.serve("--detach", "--runtime", "docker")
    assert ran.status == 4
    assert "pull access denied" in ran.err
    assert "IMAGE_TAG  line 1\n" in ran.err
    assert "error: docker did not start it, and ended with status 125\n" in ran.err
    assert servers.states() == {}


@pytest.mark.parametrize(
    ("how", "status", "states"),
    [("--wait", 125, {"qwen3-8b": "dead"}), ("--detach", 4, {})],
    ids=["in the foreground", "detached"],
)
def test_what_the_engine_says_is_diagnosed(
    servers: Servers, how: str, status: int, states: dict[str, str]
) -> None:
    (servers.directory / "no_toolkit").touch()
    ran = servers.serve(how, "--runtime", "docker")
    said = 'docker: Error response from daemon: could not select device driver "" with capabilities'
    assert (ran.status, said in ran.err) == (status, True)
    assert "TOOLKIT  line 1\n" in ran.err
    assert "    sudo nvidia-ctk runtime configure --runtime=docker\n" in ran.err
    assert servers.states() == states
    for name in states:
        assert servers.operator.run("logs").out.splitlines()[1].startswith(said)
        (servers.directory / "down").touch()
        assert servers.operator.run("logs").out.splitlines()[1].startswith(said)
        (servers.directory / "down").unlink()
        assert servers.operator.run("stop", name).status == 0


def test_of_an_engine_that_does_not_answer_nothing_is_said(servers: Servers) -> None:
    servers.serve("--detach", "--wait", "--runtime", "docker")
    (servers.directory / "down").touch()
    assert servers.states() == {"qwen3-8b": "unknown"}
    assert servers.operator.run("stop").status == 2
    (servers.directory / "down").unlink()
    assert servers.operator.run("stop").status == 0


def test_a_container_is_known_by_its_id_whatever_its_label_says(servers: Servers) -> None:
    servers.serve("--detach", "--wait", "--runtime", "docker")
    for path in (servers.directory / "containers").glob("*.json"):
        found = json.loads(path.read_text())
        found["Config"]["Labels"] = {}
        path.write_text(json.dumps(found))
    assert servers.states() == {"qwen3-8b": "ready"}
    assert servers.operator.run("stop", "qwen3-8b").status == 0
    assert servers.running() == []


def test_an_engine_that_is_down_leaves_no_record(servers: Servers) -> None:
    servers.operator.script("docker", "#!/bin/sh\necho 'no daemon answers' >&2\nexit 1\n")
    for _ in range(2):
        ran = servers.serve("--detach", "--runtime", "docker", "--name", "prod")
        assert ran.status == 4
        assert "docker did not start it, and ended with status 1" in ran.err
        assert servers.states() == {}


def test_what_pulls_an_image_yet_is_stopped_as_well(servers: Servers) -> None:
    servers.operator.script(
        "docker",
        "#!/bin/sh\n[ $1 = run ] && exec /bin/sleep 300\necho no such container >&2\nexit 1\n",
    )
    with servers.start("--wait", "--runtime", "docker") as process:
        while servers.states() != {"qwen3-8b": "starting"}:
            assert process.poll() is None
        ran = servers.operator.run("stop", "qwen3-8b")
        assert (ran.status, ran.err) == (0, "# qwen3-8b has ended\n")
        process.communicate(timeout=60)
    assert servers.states() == {}


_STRANGERS = {"theirs": "postgres", "vllm-launch.server": f"{os.getuid() + 1}/qwen3-8b"}


def stranger(servers: Servers, name: str) -> dict[str, bytes]:
    """The files of a container that somebody else has, and that has ended."""
    directory = servers.directory / "containers"
    directory.mkdir()
    identity = "5" * 64
    config = {"Image": "postgres", "Labels": _STRANGERS}
    found = {"Id": identity, "Name": f"/{name}", "pid": 2**22, "Config": config}
    (directory / f"{identity}.json").write_text(json.dumps(found))
    (directory / f"{identity}.end").write_text("0")
    (directory / f"{identity}.log").write_text("their secret\n")
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize(
    ("words", "status", "state"),
    [
        pytest.param(("--detach",), 4, {}, id="detached"),
        pytest.param(("--detach", "--wait"), 4, {}, id="detached and waited for"),
        pytest.param(("--wait",), 125, {"qwen3-8b": "dead"}, id="in the foreground"),
        pytest.param(("--detach", "--name", "mydb"), 4, {}, id="by its own name"),
        pytest.param(("--wait", "--name", "mydb"), 125, {"mydb": "dead"}, id="likewise"),
    ],
)
def test_a_strangers_container_is_neither_read_nor_removed(
    servers: Servers, words: tuple[str, ...], status: int, state: dict[str, str]
) -> None:
    name = "mydb" if "mydb" in words else "vllm-qwen3-8b"
    theirs = stranger(servers, name)
    ran = servers.serve("--runtime", "docker", *words)
    assert ran.status == status
    assert f'docker: Conflict. The container name "/{name}" is already in use' in ran.err
    assert servers.states() == state
    told = [ran.out + ran.err]
    for kept in state:
        for command in (("logs",), ("status",), ("verify", "--name"), ("stop",)):
            done = servers.operator.run(*command, kept)
            told.append(done.out + done.err)
        assert told[1].endswith("is already in use\n")  # its log, and not theirs
    assert "secret" not in "".join(told)
    assert servers.states() == {}
    directory = servers.directory / "containers"
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == theirs


def test_a_container_in_the_foreground_gets_signals(servers: Servers) -> None:
    with servers.start("--wait", "--runtime", "docker", status=6) as process:
        wait_for_line(process, "# held     reasoning")
        assert servers.states() == {"qwen3-8b": "ready"}
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    assert process.returncode == 6
    assert servers.running() == []


# Usage.


def test_what_answers_nothing_is_not_waited_for(servers: Servers) -> None:
    words = ("serve", "MiniMaxAI/MiniMax-M3", "--hardware", "h200", "--nodes", "2", "--node-rank",
             "1", "--endpoint", "HEAD_IP=10.0.0.1", "--endpoint", "IFACE_NAME=lo", "--skip", "all",
             "--wait", "--strategy", "multi_node_tp")  # fmt: skip
    ran = servers.operator.run(*words)
    assert ran.status == 2
    assert "answers no requests: there is nothing to be tested" in ran.err


def test_what_has_no_effect_is_said(servers: Servers) -> None:
    line = servers.words("--dry-run", "--request-timeout", "5", "--name", "x")
    err = servers.operator.run(*line).err
    assert "# note: --request-timeout is for --wait\n" in err
    assert "# note: --name is for containers, and this server is native\n" in err
    assert "--name is for" not in servers.operator.run(*line, "--detach").err


@pytest.mark.parametrize("words", [("status",), ("logs",), ("stop",)])
def test_where_nothing_is_kept(servers: Servers, words: tuple[str, ...]) -> None:
    ran = servers.operator.run(*words)
    assert ran.status == (0 if words == ("status",) else 2)
    assert "there are no servers" in ran.err
    assert not servers.kept.exists()
