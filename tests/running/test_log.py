"""A log of any length: read in bounded memory, with its lines' own numbers."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.running import log
from vllm_launch.running.log import read


class Pipe(io.RawIOBase):
    """Gives no more than a few bytes at a time."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:
        part = self._content.read(min(len(buffer), 7))
        buffer[: len(part)] = part
        return len(part)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_CHUNK", 40)
    monkeypatch.setattr(log, "_CHUNKS", 2)


@pytest.mark.usefixtures("small")
@given(st.lists(st.text("ab\r é", max_size=30), max_size=40), st.booleans())
def test_a_line_has_the_number_that_it_has_in_the_whole(lines: list[str], ended: bool) -> None:
    text = "\n".join(lines) + ("\n" if ended else "")
    whole = text.split("\n")
    found = read(Pipe(text.encode()))
    assert len(found.lines) <= 3 * 40 + 2
    for place, line in enumerate(found.lines, 1):
        assert line == whole[found.number(place) - 1].removesuffix("\r")
    if not found.left_out:
        assert len(found.lines) == len(whole) - (whole[-1] == "")


@pytest.mark.usefixtures("small")
def test_its_beginning_and_its_end_are_read() -> None:
    lines = [f"line {number}" for number in range(1, 1001)]
    found = read(io.BytesIO("\n".join(lines).encode()))
    assert (found.lines[0], found.lines[-1]) == ("line 1", "line 1000")
    assert found.number(len(found.lines)) == 1000


@pytest.mark.usefixtures("small")
def test_a_line_without_end_is_no_trouble() -> None:
    assert read(io.BytesIO(b"x" * 1000)).lines == ()


def test_what_is_no_text_is_read() -> None:
    assert read(io.BytesIO(b"a\xff\0b\nc")).lines == ("a\ufffd\0b", "c")
