"""Servers that play vLLM, for as long as a test runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.running.player import Play, playing

Playing = Callable[..., Play]


@pytest.fixture
def play() -> Iterator[Playing]:
    """Start a server that does what it is told."""
    with playing() as start:
        yield start
