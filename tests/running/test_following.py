"""A kept server's log, as it grows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vllm_launch.running import following
from vllm_launch.running.following import _Tail


def test_a_log_that_is_cut_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\ntwo\nha")
    tail = _Tail(str(log))
    assert tail.lines() == ["one", "two"]
    os.truncate(log, 0)
    log.write_text("three\n")
    assert tail.lines() == ["three"]


def test_a_long_log_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_MOST", 6)
    log = tmp_path / "log"
    log.write_text("one\ntwo\nthree\n")
    tail = _Tail(str(log))
    assert [tail.lines() for _ in range(4)] == [["one"], ["two"], ["three"], []]
