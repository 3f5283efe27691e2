"""Ports that nobody else on the machine is given meanwhile, however many tests run at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held(address: str = "127.0.0.1") -> Iterator[int]:
    """A port for a server that is yet to start, and may start again: bound, never listened on.

    A server that reuses addresses, as all do that may be restarted, binds it beside this.
    """
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((address, 0))
        yield one.getsockname()[1]


def free() -> int:
    """A port that nobody has: none that the kernel hands out, nor that other tests come to."""
    first = 20_000 + os.getpid() % 9_000
    for port in range(first, first + 1_000):
        with socket.socket() as one:
            try:
                one.bind(("", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
