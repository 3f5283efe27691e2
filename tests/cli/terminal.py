"""The launcher on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios

from tests.cli.launcher import COMMAND, Operator


def on_terminal(operator: Operator, *words: str, columns: int = 80) -> str:
    """What the launcher writes to a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {"TERM": "xterm", **operator.env}
    process = subprocess.Popen(
        [*COMMAND, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment,
        cwd=operator.cwd,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    try:
        while chunk := os.read(ours, 4096):
            said += chunk
    except OSError:  # a terminal's way to say that nobody is at its other end
        pass
    os.close(ours)
    assert process.wait() == 0, said
    return said.decode().replace("\r\n", "\n")
