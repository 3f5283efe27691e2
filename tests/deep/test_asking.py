"""The child that is asked: deadlines, limits, and that nothing is left of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from tests.deep.stand_in import StandIn
from tests.preflight.build import situation
from vllm_launch.commands.deep import deepened
from vllm_launch.host.parser import Question, ask, in_container
from vllm_launch.host.system.runner import NoAnswer
from vllm_launch.model.system import Vllm

FOREVER = "import time; time.sleep(600)"


def python(code: str, given: bytes = b"") -> Question:
    return Question([sys.executable, "-ISc", code], given, {"PATH": "/usr/bin:/bin"})


def test_an_answer() -> None:
    said: list[float] = []
    code = "import sys; print(sys.stdin.read().upper(), end='')"
    assert ask(python(code, b"words"), 60, 100, said.append) == b"WORDS"
    assert said
    assert said == sorted(said)


def test_a_large_question_and_much_noise_block_nobody() -> None:
    code = "import sys; sys.stderr.write('noise\\n' * 200000); print(len(sys.stdin.read()))"
    assert ask(python(code, b"x" * 1_000_000), 60, 100) == b"1000000\n"


def test_a_deadline() -> None:
    started = monotonic()
    with pytest.raises(NoAnswer, match=r"^no answer in 0\.2 s$"):
        ask(python(FOREVER), 0.2, 100)
    assert monotonic() - started < 30


def test_a_deadline_for_one_that_closed_its_streams() -> None:
    code = f"import os; os.close(1); os.close(2); {FOREVER}"
    with pytest.raises(NoAnswer, match=r"^no answer in 1 s$"):
        ask(python(code), 1, 100)


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-ISc', {FOREVER!r}])\n"
        f"open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "print('done')\n"
    )
    assert ask(python(code), 60, 100) == b"done\n"
    pid = int(pid_file.read_text())
    until = monotonic() + 30
    while _runs(pid) and monotonic() < until:
        sleep(0.01)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit('first\\nthe last line')", "the last line"),
        ("import os; os._exit(3)", "it ended with 3"),
        ("import os; os.kill(os.getpid(), 9)", "it was ended by signal 9"),
        ("raise SystemExit('\\x1b[31mred\\x00')", "[31mred"),
        ("raise SystemExit('x' * 5000)", "x" * 300),
        ("print('x' * 2_000_000)", "its answer is longer than 1 MiB"),
    ],
    ids=["words", "status", "signal", "control characters", "long", "huge"],
)
def test_why_there_is_no_answer(code: str, reason: str) -> None:
    with pytest.raises(NoAnswer) as raised:
        ask(python(code), 60, 1 << 20)
    assert str(raised.value) == reason


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(NoAnswer, match=r"^/nowhere/python: No such file or directory$"):
        ask(Question(["/nowhere/python"], b"", {}), 60, 100)


def test_a_container_that_hangs_is_removed(tmp_path: Path) -> None:
    """The client is killed; the container would go on without it."""
    docker = tmp_path / "docker"
    docker.write_text(
        f'#!/bin/sh\necho "$1 $2 $3" >> {tmp_path}/calls\n[ "$1" = rm ] || exec sleep 600\n'
    )
    docker.chmod(0o755)
    question = in_container(
        str(docker), "image", "script", b"", {"PATH": os.defpath}, "its-name"
    )  # fmt: skip
    with pytest.raises(NoAnswer):
        ask(question, 3, 100)
    assert (tmp_path / "calls").read_text().splitlines() == [
        "run --rm --interactive",
        "rm --force its-name",
    ]


def test_an_interpreter_that_hangs_is_a_finding(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stand_in.install()
    stand_in.behaves("hang")
    interpreter = str(stand_in.bin / "python3.12")
    plan = situation("--seed 3")
    vllm = Vllm(path="vllm", interpreter=interpreter, version="0.32.0")
    plan = plan.replace(system=plan.system.replace(vllm=vllm))
    (told,) = deepened([plan], seconds=1)
    assert told.asked is not None
    assert told.asked.error == f"{interpreter}: no answer in 1 s"
    assert told.options is plan.options
