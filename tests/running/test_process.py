"""A reused pid, another boot and another container are never taken for a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from vllm_launch.running import process
from vllm_launch.running.ending import end
from vllm_launch.running.process import (
    elsewhere,
    family_of,
    from_record,
    identity_of,
    is_alive,
    send,
    to_record,
)

OWN = identity_of(os.getpid())
assert OWN is not None


def test_this_process_is_alive() -> None:
    assert is_alive(OWN)
    assert elsewhere(OWN) == ""


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"started": OWN.started + 1}, id="the pid is another process's by now"),
        pytest.param({"boot": "an-earlier-one"}, id="the machine was started anew"),
        pytest.param({"pid": 2**22 + 1}, id="no such process"),
    ],
)
def test_another_process_is_not_it(changed: dict[str, object]) -> None:
    other = OWN.replace(**changed)
    assert not is_alive(other)
    assert not send(other, 0)
    assert family_of(other) == []


def test_what_cannot_be_seen_from_here_is_not_said_to_be_dead() -> None:
    assert elsewhere(OWN.replace(namespace="pid:[1]", host="c1")) == (
        "it runs in another container, c1"
    )
    assert elsewhere(OWN.replace(boot="b", host="n7")) == "it runs on another machine, n7"
    assert elsewhere(OWN.replace(boot="b")) == ""


def test_one_that_has_ended_and_is_not_reaped_is_dead() -> None:
    with subprocess.Popen(["/bin/true"]) as child:
        identity = identity_of(child.pid)
        assert identity is not None
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process.look(child.pid) is not None
        assert not is_alive(identity)


def test_a_program_may_have_any_name() -> None:
    code = "import ctypes; ctypes.CDLL(None).prctl(15, b') Z 1 (x'); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "1\n"
        seen = process.look(child.pid)
        assert seen is not None
        assert (seen.state in "RS", seen.session) == (True, os.getsid(0))
        child.communicate("x")


@pytest.mark.parametrize(
    "kept", [None, [], {}, {"pid": "1"}, {"pid": 0, "started": 1}, {"pid": 2, "started": None}]
)
def test_what_is_no_identity_is_none(kept: object) -> None:
    assert from_record(kept) is None


def test_an_identity_is_kept_whole() -> None:
    assert from_record(to_record(OWN)) == OWN


FAMILY = """
import os, signal, sys, time
for number in range(2):
    if os.fork() == 0:
        if number and "apart" in sys.argv:
            os.setsid()
        if "deaf" in sys.argv:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(1, b"c")
        time.sleep(600)
if "deaf leader" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(1, b"p")
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("how", "forced"),
    [
        ((), False), (("deaf",), True), (("deaf leader",), True), (("apart",), False),
        (("deaf", "apart"), True),
    ],
)  # fmt: skip
def test_a_server_ends_with_all_that_it_started(
    how: tuple[str, ...], forced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    patience = 0.5 if forced else 60  # of those that end when asked, none is killed too early
    monkeypatch.setattr("vllm_launch.running.ending._REST", patience)
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY, *how], start_new_session=True, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert len(child.stdout.read(3)) == 3
        leader = identity_of(child.pid)
        assert leader is not None
        rest = family_of(leader)
        assert len(rest) == 2
        assert end(leader, patience) is forced
        assert not any(map(is_alive, (leader, *rest)))


def test_what_a_dead_server_left_is_found() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FAMILY], start_new_session=True, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.read(3)
        leader = identity_of(child.pid)
        assert leader is not None
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert len(family_of(leader)) == 2
        assert end(leader, 60) is False
        assert family_of(leader) == []
