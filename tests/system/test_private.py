"""Directories and files of this user alone, under any umask, and beside what others put there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from vllm_launch import private
from vllm_launch.catalog import files
from vllm_launch.commands import written
from vllm_launch.errors import UsageError
from vllm_launch.export import ExportFile
from vllm_launch.running.place import make_directory, state_directory
from vllm_launch.sync import store


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077], ids="umask {:03o}".format)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "vllm-launch"


@pytest.mark.usefixtures("umask")
def test_what_is_made_is_this_users_alone(tmp_path: Path) -> None:
    private.make(str(tmp_path / "a" / "b"))
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]
    os.close(private.create(str(tmp_path / "a" / "file")))
    assert mode(tmp_path / "a" / "file") == 0o600


@pytest.mark.usefixtures("umask")
def test_state_and_cache_are_this_users_alone(state: Path) -> None:
    make_directory(str(state / "servers" / "one"))
    files.keep(str(state / "trees" / "x"), (1,))
    with store.locked("source", print) as directory:
        Path(directory, "revision").mkdir()
    made = [path for path in (state, *state.rglob("*")) if path.name != "revision"]
    assert {mode(path) for path in made if path.is_dir()} == {0o700}
    assert {mode(path) for path in made if path.is_file()} == {0o600}


def test_others_lose_the_right_to_write_in_it(state: Path) -> None:
    state.mkdir()
    state.chmod(0o777)
    assert state_directory() == str(state)
    assert mode(state) == 0o755


def test_a_state_of_another_users_is_not_believed(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: state.stat().st_uid + 1)
    with pytest.raises(UsageError) as caught:
        state_directory()
    assert caught.value.message == f"cannot use {state}: it belongs to another user"
    assert caught.value.hint == "set XDG_STATE_HOME"


@pytest.mark.parametrize("there", ["link", "dangling link", "file"])
def test_what_stands_in_the_way_of_a_file_is_not_written_to(tmp_path: Path, there: str) -> None:
    victim, place = tmp_path / "victim", tmp_path / f"kept.{os.getpid()}"
    if there != "dangling link":
        victim.write_text("mine")
    place.write_text("mine") if there == "file" else place.symlink_to(victim)
    files.keep(str(tmp_path / "kept"), (1,))
    assert not victim.exists() if there == "dangling link" else victim.read_text() == "mine"
    assert files.load_kept(str(tmp_path / "kept")) is None


def test_no_file_takes_the_place_of_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "/dev" in written._DEVICES
    monkeypatch.setattr(written, "_DEVICES", (str(tmp_path),))
    with pytest.raises(UsageError, match="is for devices, not for files"):
        written.write_all(str(tmp_path), [ExportFile(name="stdout", text="")])
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_place_of_a_lock_is_not_followed(state: Path, tmp_path: Path) -> None:
    directory = state / "sources" / "one"
    directory.mkdir(parents=True)
    (directory / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(Exception, match="cannot write to"), store.locked("one", print):
        pass
    assert not (tmp_path / "victim").exists()


def test_who_waited_for_a_directory_that_was_taken_away_makes_it_anew(state: Path) -> None:
    with store.locked("one", print):
        pass
    assert not (state / "sources" / "one").exists()
    with store.locked("one", print) as directory:
        assert Path(directory, "lock").exists()
