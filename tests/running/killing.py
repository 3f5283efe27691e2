"""A program that kills servers at every line of their start, and looks at what is left.

Its words are a directory to work in, the option of ``serve``, how long a server sleeps and whose
line it is: 0 for the process that starts, 1 for its child, and so on. It prints how many lines
there were. As a process of its own it is small, and quick to fork.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

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
AT_ONCE = 8  # lines that are looked at together: they wait more than they compute


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


def servers() -> set[int]:
    """The pids of this place's servers that run."""
    place = os.environ["XDG_STATE_HOME"]
    kept = Path(place, "pids")
    if not kept.exists():
        return set()
    return {int(pid) for pid in kept.read_text().split() if _plays(int(pid), place)}


def _plays(pid: int, place: str) -> bool:
    try:
        words = Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    seen = process.look(pid)
    return words[0] == os.fsencode(place) and seen is not None and seen.state not in "ZX"


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


def main(argv: list[str]) -> int:
    places, option, sleeps, generation = Path(argv[0]), argv[1], argv[2], int(argv[3])
    waiting._PAUSES = (0.02,)
    foreground.tell_failure = lambda *_: None
    words = ("serve", "Qwen/Qwen3-8B", "--hardware", "h200", "--port", "9", option)
    invocation = parse(list(words))
    assert invocation is not None
    settings = settle(invocation.command.options, invocation.given, {})
    plan = make_plan(invocation, settings)

    def reached(line: int) -> bool:
        place = places / f"line-{line}"
        place.mkdir()
        os.environ["XDG_STATE_HOME"] = str(place)
        killed(words, sleeps, generation, line, (plan, settings))
        _settle(over=float(sleeps) < 1)
        assert servers() == said_to_run(), (servers(), said_to_run())
        _leaves_nothing(place)
        _end_all()
        return (place / "killed").exists()

    try:
        for first in itertools.count(step=AT_ONCE):
            found = _together(reached, range(first, first + AT_ONCE), places)
            if not all(found):
                break
    finally:
        for place in places.glob("line-*"):
            os.environ["XDG_STATE_HOME"] = str(place)
            _end_all()
    assert found == sorted(found, reverse=True), found
    sys.stdout.write(f"{first + sum(found)}\n")
    return 0


def _together(look: Callable[[int], bool], lines: range, places: Path) -> list[bool]:
    """What looks at lines answer, each in a process of its own."""
    pids = [_looking(look, line, places) for line in lines]
    found = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    for line, status in zip(lines, found, strict=True):
        assert status < 2, f"line {line}: {(places / f'failed-{line}').read_text()}"
    return [status == 1 for status in found]


def _looking(look: Callable[[int], bool], line: int, places: Path) -> int:
    """Start a look at a line; the pid of a process that ends with 1 for yes, 0 for no."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(look(line))
        except BaseException:
            (places / f"failed-{line}").write_text(traceback.format_exc())
        finally:
            os._exit(2)
    return pid


def _settle(*, over: bool) -> None:
    """Let whoever was left alone come to its end, or to its server."""
    until = time.monotonic() + 60
    while not _is_settled(over):
        assert time.monotonic() < until, (about_to_start(), said_to_run(), servers())
        time.sleep(0.05)


def _is_settled(over: bool) -> bool:
    # In the order in which a start goes on: what is recorded after a look is seen by the next.
    if about_to_start() or said_to_run() != (running := servers()):
        return False
    if running:
        return not over
    return not _supervisors()  # which still write how a server ended


def _supervisors() -> list[str]:
    kept = [state.read(name) for name in state.names()]
    return [k.name for k in kept if k and k.supervisor and process.is_alive(k.supervisor)]


def _leaves_nothing(place: Path) -> None:
    state.sweep()
    kept = place / "vllm-launch" / "servers"
    if not kept.exists():
        return
    files = {path.name for path in kept.rglob("*") if path.is_file()}
    assert files <= {".lock", "record.json", "exit.json", "log"}, files
    assert all((path / "record.json").exists() for path in kept.iterdir() if path.is_dir())


def _end_all() -> None:
    for pid in servers():
        os.kill(pid, signal.SIGKILL)
    for name in state.names():
        state.forget(name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
