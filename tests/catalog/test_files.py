"""What stands where a recipe file should: no file, no plain file, one that is too large."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from vllm_launch.catalog import files
from vllm_launch.catalog.tree import MAX_BYTES, plain
from vllm_launch.errors import RecipeError


def refusal(path: str | Path) -> str:
    with pytest.raises(RecipeError) as caught:
        files.read_tree(str(path), "shown")
    assert caught.value.problems == ()
    return str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.yaml") == "cannot read shown: No such file or directory"


def test_a_file_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file" / "no.yaml") == "cannot read shown: Not a directory"


def test_a_directory(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").mkdir()
    assert refusal(tmp_path / "x.yaml") == "shown is a directory, not a file"


def test_a_fifo_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.yaml")
    assert refusal(tmp_path / "x.yaml") == "shown is not a file"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device(device: str) -> None:
    assert refusal(device) == "shown is not a file"


def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("x.yaml")
        assert refusal("x.yaml").startswith("cannot read shown: ")


def test_a_link_to_nothing_and_one_to_itself(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").symlink_to("nothing")
    (tmp_path / "y.yaml").symlink_to("y.yaml")
    assert refusal(tmp_path / "x.yaml") == "cannot read shown: No such file or directory"
    assert refusal(tmp_path / "y.yaml").startswith("cannot read shown: Too many levels")


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    assert refusal(tmp_path / ("x" * 300)) == "cannot read shown: File name too long"


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused by the system: as root, which nothing is refused, by a stand-in for it."""
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    path.chmod(0)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    if os.access(path, os.R_OK):
        monkeypatch.setattr(os, "open", refuse)
    assert refusal(path) == "cannot read shown: Permission denied"


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@pytest.mark.parametrize("size", [MAX_BYTES + 1, MAX_BYTES + 2, 3 * MAX_BYTES])
def test_a_file_over_one_mebibyte(tmp_path: Path, suffix: str, size: int) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"[]" + b" " * (size - 2))
    with pytest.raises(RecipeError) as caught:
        files.read_tree(str(path), "shown")
    assert [str(problem) for problem in caught.value.problems] == [
        "shown:1:1: the file is over 1 MiB, which no recipe needs"
    ]


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_file_of_one_mebibyte(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"[]" + b" " * (MAX_BYTES - 2))
    assert plain(files.read_tree(str(path), "shown")) == []


def test_no_more_than_that_is_read_of_a_file_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a hole: it takes no space
    asked: list[int] = []
    real = files.parse

    def parse(data: bytes, shown: str, *, is_json: bool) -> object:
        asked.append(len(data))
        return real(data, shown, is_json=is_json)

    monkeypatch.setattr(files, "parse", parse)
    with pytest.raises(RecipeError):
        files.read_tree(str(path), "shown")
    assert asked == [MAX_BYTES + 1]


def test_nothing_is_left_open(tmp_path: Path) -> None:
    """Also where what was opened turns out to be no file."""
    os.mkfifo(tmp_path / "fifo.yaml")
    (tmp_path / "x.yaml").write_text("a: 1")
    before = _open_files()
    files.read_tree(str(tmp_path / "x.yaml"), "shown")
    refusal(tmp_path / "fifo.yaml")
    refusal("/dev/zero")
    refusal(tmp_path)
    assert _open_files() == before


def _open_files() -> int:
    return sum(_is_open(number) for number in range(256))


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def test_a_file_is_not_handed_to_programs_that_are_started(
    tmp_path: Path, opened: Callable[[], list[tuple[str, int]]]
) -> None:
    (tmp_path / "x.yaml").write_text("a: 1")
    files.read_tree(str(tmp_path / "x.yaml"), "shown")
    [flags] = [flags for path, flags in opened() if path == str(tmp_path / "x.yaml")]
    assert flags & os.O_CLOEXEC
    assert flags & os.O_NONBLOCK
    assert not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)


@pytest.fixture
def opened() -> Callable[[], list[tuple[str, int]]]:
    """What has been opened since, with the flags."""
    seen: list[tuple[str, int]] = []
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[0], str) and arguments[1] is None:
            seen.append((arguments[0], int(str(arguments[2]))))

    sys.addaudithook(hook)  # stays as long as the process does

    def stop() -> list[tuple[str, int]]:
        nonlocal watching
        watching = False
        return seen

    return stop
