"""Containers that this launcher has started, by what their engine says of them."""

from __future__ import annotations

import json
import os
import subprocess

from ..errors import LaunchError
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .state import Container

LABEL = "vllm-launch.server"  # of each container that this launcher keeps, with the server's name
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


def inspect(container: Container, server: str) -> Inspected | None:
    """A container that was started for a server; None where there is none, or another's.

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
    return _inspected(found, state) if labels.get(LABEL) == server else None


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


def stop(container: Container, seconds: int) -> None:
    """End a container: SIGTERM, and after so many seconds SIGKILL. Raises EngineSilent."""
    target = container.id or container.name
    done = ask(container.engine, "stop", "-t", str(seconds), target, seconds=seconds + _SECONDS)
    if done.returncode != 0 and not _is_absent(done.stderr):
        raise EngineSilent(f"{container.engine}: {last_line(done.stderr)}")


def remove(container: Container) -> None:
    """Take away a container that has ended. Raises EngineSilent."""
    ask(container.engine, "rm", container.id or container.name)


def logs(container: Container, *, follow: bool = False) -> list[str]:
    """The command that prints a container's log."""
    return [
        container.engine, "logs", *(("-f",) if follow else ()), container.id or container.name,
    ]  # fmt: skip


def follower(container: Container) -> subprocess.Popen[bytes]:
    """A process that prints a container's log as it comes. Raises EngineSilent."""
    try:
        process = subprocess.Popen(  # noqa: S603 - our own words
            logs(container, follow=True),
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
