"""What this launcher has started, kept in files: written whole or not at all.

Whole in the face of a kill, that is: after a machine's crash nothing runs that is written of.
``servers/NAME/`` has ``record.json``, ``log`` and, once it has ended, ``exit.json``. A claim
on a name, and its end, happen under one lock, which the kernel takes from whoever dies. What
a launcher that was killed has left behind is taken away by whoever comes next.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager, suppress

from ..errors import LaunchError, UsageError, of_a_newer
from ..model.record import Record
from . import process
from .place import make_directory, state_directory
from .process import Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

FORMAT = 1
_RECORD, _EXIT, _LOG, _PART = "record.json", "exit.json", "log", ".part"
_LARGEST = 1 << 20  # bytes of a record
_LONGEST_NAME = 64
_LATEST = 1e11  # seconds since the epoch


class Unwritable(UsageError):
    """The disk does not take a record: it is full, or not for this user."""

    def __init__(self, path: str, error: OSError) -> None:
        super().__init__(
            f"cannot write {error.filename or path}: {error.strerror}", hint="set XDG_STATE_HOME"
        )


class Container(Record):
    """A container of an engine; ``id`` is not known before the engine has said it."""

    engine: str
    name: str
    id: str = ""


class Kept(Record):
    """What is kept of a server."""

    name: str
    model: str
    url: str
    since: float  # seconds since the epoch
    launcher: Identity | None = None  # whoever starts it
    supervisor: Identity | None = None  # whoever waits for its end
    server: Identity | None = None  # None: it has not begun, or is a container
    container: Container | None = None
    ready: float | None = None  # when it was seen to be
    promise: Any = None
    intent: Any = None
    line: tuple[str, ...] = ()  # the launcher's command


class Ended(Record):
    """How a server ended, as its supervisor saw it."""

    status: int  # 128 + n for a signal
    at: float


def checked_name(name: str, source: str = "--name") -> str:
    """A name that may be a directory's and a container's. Raises UsageError."""
    if not _is_name(name):
        raise UsageError(
            f"{source}: found {name!r}; expected letters, digits, '-', '_' and '.', "
            f"{_LONGEST_NAME} at most, a letter or digit first"
        )
    return name


def _is_name(name: str) -> bool:
    plain = name.replace("-", "a").replace("_", "a").replace(".", "a")
    return name.isascii() and plain.isalnum() and name[0].isalnum() and len(name) <= _LONGEST_NAME


def usual_name(model: str) -> str:
    """What a server of a model is called where nobody says."""
    text = model.rstrip("/").rpartition("/")[2].lower()
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-")
    return plain[: _LONGEST_NAME - 8] or "server"


def directory() -> str:
    """Where the servers are kept."""
    return os.path.join(state_directory(), "servers")


def log_path(name: str) -> str:
    """A server's log."""
    return os.path.join(directory(), name, _LOG)


def log_is_here(kept: Kept) -> bool:
    """Whether all that was said is in the log: of a container, where its launcher sees it out.

    What its engine said is there as well, which the engine does not keep.
    """
    if kept.container is None:
        return True
    seen = kept.supervisor is not None and process.is_alive(kept.supervisor)
    return os.path.exists(log_path(kept.name)) and (seen or ended(kept) is not None)


def open_log(name: str) -> int:
    """A descriptor that adds to a server's log. Raises Unwritable."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(log_path(name), flags, 0o600)
    except OSError as error:
        raise Unwritable(log_path(name), error) from None


def names() -> list[str]:
    """The servers that are kept."""
    try:
        found = sorted(os.listdir(directory()))
    except OSError:
        return []
    return [name for name in found if not name.startswith(".")]


def read(name: str) -> Kept | None:
    """What is kept of a server; None where nothing is, or nothing that can be read."""
    found = _read(os.path.join(directory(), name, _RECORD))
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    container = found.get("container")
    line = found.get("line")
    return Kept(
        name=name,
        model=str(found.get("model") or ""),
        url=str(found.get("url") or ""),
        since=_number(found.get("since")) or 0.0,
        launcher=process.from_record(found.get("launcher")),
        supervisor=process.from_record(found.get("supervisor")),
        server=process.from_record(found.get("server")),
        container=_container(container) if isinstance(container, dict) else None,
        ready=_number(found.get("ready")),
        promise=found.get("promise"),
        intent=found.get("intent"),
        line=tuple(map(str, line)) if isinstance(line, list) else (),
    )


def unreadable(name: str) -> tuple[str, str]:
    """For a name that ``read`` has no record of: what is wrong, and what to do."""
    place = os.path.join(directory(), name)
    found = _read(os.path.join(place, _RECORD))
    by_hand = f"end its server by hand, and delete {place}"
    if not isinstance(found, dict) or "format" not in found:
        return f"the record of {name} cannot be read", by_hand
    kind = found["format"]
    what = f"the record of {name} has the format {kind!r}; this vllm-launch reads {FORMAT}"
    return what, of_a_newer(kind, FORMAT) + by_hand


def _container(found: dict[str, Any]) -> Container:
    """A container whose name and id no engine can take for an option of its own."""
    name, id_ = (str(found.get(key) or "") for key in ("name", "id"))
    return Container(
        engine="podman" if found.get("engine") == "podman" else "docker",
        name=name if _is_name(name) else "",
        id=id_ if _is_name(id_) else "",
    )


def _number(found: Any) -> float | None:
    """A number, where it can be a time: a little beyond this and no calendar has it."""
    within = isinstance(found, (int, float)) and 0 <= found < _LATEST
    return float(found) if within else None


def ended(kept: Kept) -> Ended | None:
    """How a server ended, where somebody saw it: this very one, and not the name's last."""
    found = _read(os.path.join(directory(), kept.name, _EXIT))
    if not isinstance(found, dict) or not isinstance(found.get("status"), int):
        return None
    if kept.server is None or process.from_record(found.get("server")) != kept.server:
        return None
    return Ended(status=found["status"], at=_number(found.get("at")) or 0.0)


def amend(kept: Kept) -> bool:
    """Keep a record in the place of the one before; not where the name is another's by now.

    Raises Unwritable.
    """
    with _locked():
        before = read(kept.name)
        same = before is not None and (before.launcher, before.since) == (kept.launcher, kept.since)
        if same:
            _write_record(kept)
        return same


def _write_record(kept: Kept) -> None:
    container = kept.container
    _write(kept.name, _RECORD, {
        "format": FORMAT,
        "name": kept.name,
        "model": kept.model,
        "url": kept.url,
        "since": kept.since,
        "launcher": process.to_record(kept.launcher),
        "supervisor": process.to_record(kept.supervisor),
        "server": process.to_record(kept.server),
        "container": None if container is None else {
            "engine": container.engine, "name": container.name, "id": container.id,
        },
        "ready": kept.ready,
        "promise": kept.promise,
        "intent": kept.intent,
        "line": list(kept.line),
    })  # fmt: skip


def write_end(kept: Kept, status: int, at: float) -> None:
    """Keep how a server ended, if the disk takes it; one that was forgotten meanwhile stays so."""
    end = {"server": process.to_record(kept.server), "status": status, "at": at}
    with suppress(OSError):
        _write(kept.name, _EXIT, end)


def _write(name: str, what: str, content: Any) -> None:
    path = os.path.join(directory(), name, what)
    part = f"{path}.{os.uname().nodename}.{os.getpid()}{_PART}"
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            json.dump(content, stream)
        os.replace(part, path)
    except BaseException:
        _unlink(part)
        raise


def _read(path: str) -> Any:
    try:
        with open(path, "rb") as stream:
            return json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


@contextmanager
def _locked() -> Iterator[str]:
    """Hold the lock over claims, with what killed launchers have left taken away.

    Raises Unwritable, also for what is written while it is held.
    """
    import fcntl

    path = directory()
    try:
        make_directory(path)
        descriptor = os.open(
            os.path.join(path, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
    except OSError as error:
        raise Unwritable(path, error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _sweep(path)
        yield path
    except OSError as error:
        raise Unwritable(path, error) from None
    finally:
        os.close(descriptor)


def _sweep(path: str) -> None:
    """Take away half-written files of processes that are gone, and directories without a record."""
    for name in names():
        place = os.path.join(path, name)
        if not os.path.isdir(place):
            continue
        for file in os.listdir(place):
            if file.endswith(_PART) and _is_left(file):
                _unlink(os.path.join(place, file))
        if not any(file.startswith(_RECORD) for file in os.listdir(place)):
            shutil.rmtree(place, ignore_errors=True)


def _is_left(file: str) -> bool:
    """Whether the writer of a half-written file was one of this machine's, and is gone."""
    text, _, pid = file.removesuffix(_PART).rpartition(".")
    here = text.endswith(f".{os.uname().nodename}")
    seen = process.look(int(pid)) if pid.isdecimal() else None
    return here and (seen is None or seen.state in "ZX")


def claim(kept: Kept, is_over: Callable[[Kept], bool], *, exactly: bool) -> Kept:
    """Take a name for a server, and keep its record; where ``exactly`` is not asked, a free one.

    A name whose server is over is free. Raises UsageError where the name is taken, Unwritable.
    """
    with _locked() as path:
        names = (kept.name, *(f"{kept.name}-{number}" for number in range(2, 100)))
        for name in names[:1] if exactly else names:
            held = read(name)
            place = os.path.join(path, name)
            if held is not None and not is_over(held):
                continue
            if held is None and os.path.isdir(place) and os.listdir(place):
                continue  # a record that cannot be read: what it is of may run
            shutil.rmtree(place, ignore_errors=True)
            os.mkdir(place, 0o700)
            taken = kept.replace(name=name)
            _write_record(taken)
            return taken
    raise UsageError(
        f"{kept.name} runs already",
        hint=f"see vllm-launch status, end it with vllm-launch stop {kept.name}, or give --name",
    )


def forget(name: str) -> None:
    """Take away what is kept of a server."""
    with _locked() as path:
        shutil.rmtree(os.path.join(path, name), ignore_errors=True)


def sweep() -> None:
    """Take away what killed launchers have left."""
    if os.path.isdir(directory()):
        try:
            with _locked():
                pass
        except LaunchError:
            pass  # of another user: what is there can be read all the same
