"""Start a server that has a record before it runs: no process without one, whoever is killed.

The child waits at a gate before it becomes the server. Its pid is then known and written
down; where the one who would open the gate dies, the kernel closes it, and the child ends.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from ..errors import MissingProgram
from ..streams import to_bytes
from .process import Identity, identity_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

_HEEDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGXFSZ", "SIGUSR1", "SIGUSR2")
_PR_SET_PDEATHSIG = 1


class Child:
    """A process that is to be a server, and waits to become it."""

    def __init__(self, identity: Identity, gate: int, fault: int, program: str) -> None:
        self.identity = identity
        self._gate = gate
        self._fault = fault
        self._program = program

    def go(self) -> None:
        """Let it become the server. Raises MissingProgram where the program cannot be started."""
        with suppress(BrokenPipeError):  # it was killed: whoever waits for it sees that
            os.write(self._gate, b"g")
        os.close(self._gate)
        said = os.read(self._fault, 16)
        os.close(self._fault)
        if said:
            os.waitpid(self.identity.pid, 0)
            reason = os.strerror(int(said))
            raise MissingProgram(f"cannot start {self._program}: {reason}")

    def drop(self) -> None:
        """Let it end without having become anything."""
        os.close(self._gate)
        os.close(self._fault)
        os.waitpid(self.identity.pid, 0)


def spawn(
    program: str,
    argv: Sequence[str],
    environment: Mapping[str, str],
    output: int,
    errors: int,
    *,
    dies_with_us: bool,
) -> Child:
    """A child in a session of its own, at the gate. ``output`` and ``errors`` are descriptors.

    ``dies_with_us``: it gets SIGTERM when this process is no more, however that ends.
    """
    words = [to_bytes(word) for word in argv]
    variables = {to_bytes(name): to_bytes(value) for name, value in environment.items()}
    gate_in, gate = os.pipe()
    fault, fault_in = os.pipe()
    tie = _tie() if dies_with_us else None
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(gate)
        os.close(fault)
        try:
            _become(program, words, variables, (gate_in, output, errors), tie, parent)
        except OSError as error:
            os.write(fault_in, str(error.errno or 0).encode())
        finally:
            os._exit(127)
    os.close(gate_in)
    os.close(fault_in)
    identity = identity_of(pid)
    assert identity is not None  # a child of ours is there until we have waited for it
    return Child(identity, gate, fault, program)


def _become(
    program: str,
    words: list[bytes],
    variables: dict[bytes, bytes],
    ends: tuple[int, int, int],
    tie: object,
    parent: int,
) -> NoReturn:
    gate, output, errors = ends
    os.setsid()
    if callable(tie):
        tie(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
        if os.getppid() != parent:
            os._exit(127)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, descriptor in ((0, nothing), (1, output), (2, errors)):
        os.dup2(descriptor, target)
    for name in _HEEDED:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if os.read(gate, 1) != b"g":
        os._exit(127)
    os.execve(program, words, variables)


def _tie() -> object:
    """The call that has a child end with its parent; None where the system has none."""
    from ctypes import CDLL

    return getattr(CDLL(None), "prctl", None)
