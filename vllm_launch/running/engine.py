"""Containers that this launcher has started, by what their engine says of them."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress

from ..errors import LaunchError
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .state import Container

_LABEL = "vllm-launch.server"
_SECONDS = 20.0


class EngineSilent(LaunchError):
    """The engine cannot be asked: of its containers nothing is known."""

    code = "engine_silent"
    exit_status = 5


class Inspected(Record):
    """A container as it is."""

    id: str
    running: bool
    status: int  # its exit status, once it has ended
    killed_for_memory: bool = False


def ask(engine: str, *words: str, seconds: float = _SECONDS) -> subprocess.CompletedProcess[str]:
    """Run an engine's command. Raises EngineSilent."""
    try:
        return subprocess.run(  # noqa: S603 - our own words
            [engine, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise EngineSilent(f"{engine} is not on PATH") from None
    except subprocess.TimeoutExpired:
        raise EngineSilent(f"{engine} does not answer in {seconds:g} s") from None
    except OSError as error:
        raise EngineSilent(f"cannot run {engine}: {error.strerror}") from None


def label(server: str) -> str:
    """The label of the container that is kept for a server, of this user's and no other's."""
    return f"{_LABEL}={_whose(server)}"


def _whose(server: str) -> str:
    return f"{os.getuid()}/{server}"


def inspect(container: Container, server: str) -> Inspected | None:
    """A container that was started for a server; None where there is none, or another's.

    It is known by its id, or before that is noted by its label.

    Raises EngineSilent where that cannot be said.
    """
    done = ask(container.engine, "container", "inspect", container.id or container.name)
    if done.returncode != 0:
        if _is_absent(done.stderr):
            return None
        raise EngineSilent(f"{container.engine}: {last_line(done.stderr)}")
    try:
        found = json.loads(done.stdout)[0]
        state = found["State"]
        labels = found["Config"].get("Labels") or {}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise EngineSilent(
            f"{container.engine} describes {container.name} in no known form"
        ) from None
    known = bool(container.id) and found.get("Id") == container.id
    return _inspected(found, state) if known or labels.get(_LABEL) == _whose(server) else None


def _is_absent(complaint: str) -> bool:
    """Whether an engine says that there is no such container: each in its own words."""
    said = complaint.lower()
    return "no such container" in said or "no container with" in said


def _inspected(found: dict[str, Any], state: dict[str, Any]) -> Inspected:
    return Inspected(
        id=str(found.get("Id") or ""),
        running=state.get("Running") is True,
        status=state["ExitCode"] if isinstance(state.get("ExitCode"), int) else 0,
        killed_for_memory=state.get("OOMKilled") is True,
    )


def own(container: Container, server: str) -> str:
    """The id of a server's container; "" where there is none: of its name may be another's.

    Raises EngineSilent where that cannot be said.
    """
    if container.id:
        return container.id
    found = inspect(container, server)
    return found.id if found is not None else ""


def stop(container: Container, server: str, seconds: int) -> bool:
    """End a server's container: SIGTERM, and after so many seconds SIGKILL; False where none is.

    Raises EngineSilent.
    """
    if not (known := own(container, server)):
        return False
    done = ask(container.engine, "stop", "-t", str(seconds), known, seconds=seconds + _SECONDS)
    if done.returncode != 0 and not _is_absent(done.stderr):
        raise EngineSilent(f"{container.engine}: {last_line(done.stderr)}")
    return True


def remove(container: Container, server: str) -> None:
    """Take away a server's container that has ended, where the engine answers."""
    with suppress(EngineSilent):
        if known := own(container, server):
            ask(container.engine, "rm", known)


def logs(container: Container, server: str, *, follow: bool = False) -> list[str]:
    """The command that prints the log of a server's container; none where there is no container.

    Raises EngineSilent.
    """
    known = own(container, server)
    return [container.engine, "logs", *(("-f",) if follow else ()), known] if known else []


def follower(container: Container, server: str) -> subprocess.Popen[bytes] | None:
    """A process that prints a container's log as it comes; None where there is no container.

    Raises EngineSilent.
    """
    words = logs(container, server, follow=True)
    if not words:
        return None
    try:
        process = subprocess.Popen(  # noqa: S603 - our own words
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise EngineSilent(f"cannot run {container.engine}: {error.strerror}") from None
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return process


def last_line(text: str) -> str:
    """The last line of what a program complained of."""
    lines: Sequence[str] = text.strip().splitlines()
    line = lines[-1] if lines else "it failed, and does not say why"
    return "".join(char for char in line if char.isprintable())
