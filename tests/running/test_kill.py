"""Whoever is killed at whatever line: no process without a record, and no record that lies."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from vllm_launch.commandline import parse
from vllm_launch.commands import foreground
from vllm_launch.commands.plan import make_plan
from vllm_launch.commands.supervised import start
from vllm_launch.running import process, state, waiting
from vllm_launch.running.condition import condition
from vllm_launch.settings import settle

FILES = tuple(f"/vllm_launch/running/{name}.py" for name in ("state", "spawn", "supervise"))
FILES += tuple(
    f"/vllm_launch/commands/{name}.py" for name in ("supervised", "job", "foreground", "detached")
)
LONG, SHORT = "97531", "0.05"  # seconds that a server sleeps


class Killer:
    """Kills the process of a generation when it comes to its n-th new line."""

    def __init__(self, generation: int, line: int, mark: str) -> None:
        self.generation, self.left, self.mark = generation, line, mark
        self.seen: set[tuple[str, int]] = set()
        os.register_at_fork(after_in_child=self._older)

    def _older(self) -> None:
        self.generation -= 1

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        place = (frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and self.generation == 0 and place not in self.seen:
            self.seen.add(place)
            self.left -= 1
            if self.left < 0:
                os.close(os.open(self.mark, os.O_CREAT))
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def _played() -> bytes:
    """What a server of this test is called, and of no other that runs at the same time."""
    return os.fsencode(os.environ["XDG_STATE_HOME"] + "/played")


def servers() -> set[int]:
    """The pids of servers that run."""
    found = set()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        seen = process.look(int(name))
        if words[:1] == [_played()] and seen is not None and seen.state not in "ZX":
            found.add(int(name))
    return found


def said_to_run() -> set[int]:
    """The pids of servers that are said to run."""
    found = set()
    for name in state.names():
        kept = state.read(name)
        if kept is not None and kept.server is not None and condition(kept).runs:
            found.add(kept.server.pid)
    return found


def about_to_start() -> list[str]:
    kept = [state.read(name) for name in state.names()]
    return [each.name for each in kept if each and each.server is None and condition(each).runs]


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    program = tmp_path / "vllm"
    program.write_text(f'#!/bin/bash\nexec -a {os.fsdecode(_played())} sleep "$SLEEPS"\n')
    program.chmod(0o755)
    monkeypatch.setattr(waiting, "_PAUSES", (0.02,))
    monkeypatch.setattr(foreground, "tell_failure", lambda *_: None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    yield tmp_path
    for pid in servers():
        os.kill(pid, signal.SIGKILL)


def killed(words: tuple[str, ...], sleeps: str, generation: int, line: int, plan: Any) -> None:
    """Start a server in a process of its own, one of whose generation is killed at a line."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            sys.settrace(Killer(generation, line, os.environ["XDG_STATE_HOME"] + "/killed"))
            made, settings = plan
            environment = {**os.environ, "SLEEPS": sleeps}
            start(made, settings, None, words, environment, os.environ["PATH"])
        except BaseException:
            pass
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # other tests' threads
@pytest.mark.parametrize(
    ("options", "sleeps", "generation", "lines"),
    [
        pytest.param(("--wait",), SHORT, 0, 120, id="the supervisor in the foreground"),
        pytest.param(("--wait",), SHORT, 1, 15, id="the server before it is one"),
        pytest.param(("--detach",), LONG, 0, 80, id="the launcher that detaches"),
        pytest.param(("--detach",), SHORT, 1, 60, id="the monitor"),
        pytest.param(("--detach",), LONG, 2, 10, id="the detached server before it is one"),
    ],
)
def test_killed_at_any_line(
    options: tuple[str, ...], sleeps: str, generation: int, lines: int, places: Path
) -> None:
    words = ("serve", "Qwen/Qwen3-8B", "--hardware", "h200", "--port", "9", *options)
    invocation = parse(list(words))
    assert invocation is not None
    settings = settle(invocation.command.options, invocation.given, {})
    plan = make_plan(invocation, settings)
    mark = places / "state" / "killed"
    for line in itertools.count():
        killed(words, sleeps, generation, line, (plan, settings))
        _settle(over=sleeps == SHORT)
        assert servers() == said_to_run(), f"after line {line}"
        _leaves_nothing(places)
        _end_all()
        if not mark.exists():
            break
        mark.unlink()
    assert line >= lines, line


def _settle(*, over: bool) -> None:
    """Let whoever was left alone come to its end, or to its server."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        rest = (servers(), _supervisors()) if over else ()
        # In the order in which a start goes on: what is recorded after a look is seen by the next.
        if not about_to_start() and said_to_run() == servers() and not any(rest):
            return
        time.sleep(0.01)


def _supervisors() -> list[str]:
    kept = [state.read(name) for name in state.names()]
    return [k.name for k in kept if k and k.supervisor and process.is_alive(k.supervisor)]


def _leaves_nothing(places: Path) -> None:
    state.sweep()
    kept = places / "state" / "vllm-launch" / "servers"
    if not kept.exists():
        return
    files = {path.name for path in kept.rglob("*") if path.is_file()}
    assert files <= {".lock", "record.json", "exit.json", "log"}
    assert all((path / "record.json").exists() for path in kept.iterdir() if path.is_dir())


def _end_all() -> None:
    for pid in servers():
        os.kill(pid, signal.SIGKILL)
    for name in state.names():
        state.forget(name)
