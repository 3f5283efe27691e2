"""Ask an installed vLLM for what its own parser takes, in a child of its Python or in its image.

vLLM is never imported here: that takes tens of seconds and gigabytes, and its code is not ours.
Nothing is downloaded for it, no GPU is handed in, and what comes back is bytes to be looked at.
"""

from __future__ import annotations

import os

from .reading import printable
from .system.runner import NoAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Mapping, Sequence

SECONDS = 180.0  # importing vLLM for the first time, from a slow disk, takes most of it
_CHUNK = 1 << 16
_TAIL = 1 << 13  # of what goes to the standard error
_LONGEST_REASON = 300
_STEP = 0.25  # seconds between looks whether the child is still there
_NAP = 0.01
_KILL = 9
_REMOVING = 10.0  # seconds for an engine to remove a container
# No device is touched and nothing fetched: only names are asked for.
HIDDEN = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}
_NO_GPU = {"NVIDIA_VISIBLE_DEVICES": "void"}  # an engine whose default runtime is NVIDIA's


class Question:
    """A command that answers, and what it is given."""

    __slots__ = ("argv", "environ", "given", "remove")

    def __init__(
        self,
        argv: Sequence[str],
        given: bytes,
        environ: Mapping[str, str],
        remove: Sequence[str] = (),
    ) -> None:
        self.argv = argv
        self.given = given  # on the standard input
        self.environ = environ
        self.remove = remove  # a command for what outlives a child that is killed: its container


def natively(
    interpreter: str, script: str, given: bytes, environ: Mapping[str, str], *, isolated: bool
) -> Question:
    """The question to an interpreter. Isolated, it heeds no PYTHON… variables or user's site."""
    around = {n: v for n, v in environ.items() if not n.startswith("VLLM_LAUNCH_")}
    argv = [interpreter, *(("-I",) if isolated else ()), "-c", script, "--commands"]
    return Question(argv, given, {**around, **HIDDEN})


def in_container(
    engine: str,
    image: str,
    script: str,
    given: bytes,
    environ: Mapping[str, str],
    name: str,
    python: str = "python3",
) -> Question:
    """The question to an image that is here: no network, no GPU, and never a pull."""
    variables = [word for n, v in (HIDDEN | _NO_GPU).items() for word in ("--env", f"{n}={v}")]
    argv = [
        engine, "run", "--rm", "--interactive", "--pull", "never", "--network", "none",
        "--name", name, *variables, "--entrypoint", python, image,
        "-I", "-c", script, "--commands",
    ]  # fmt: skip
    return Question(argv, given, environ, remove=(engine, "rm", "--force", name))


def ask(
    question: Question,
    seconds: float,
    most_bytes: int,
    waiting: Callable[[float], None] = lambda _: None,
) -> bytes:
    """The answer. ``waiting`` is called now and then with the seconds that have passed.

    Raises NoAnswer with the last thing that the child said; the child is gone afterwards.
    """
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as given:
        given.write(question.given)
        given.seek(0)
        try:
            child = subprocess.Popen(  # noqa: S603 - our own words
                question.argv,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(question.environ),
                start_new_session=True,  # so that what it starts ends with it
            )
        except OSError as error:
            raise NoAnswer(f"{question.argv[0]}: {error.strerror}") from None
    ended = False
    try:
        output, said = _read(child, seconds, most_bytes, waiting)
        ended = True
    finally:
        status = _end(child)
        if not ended and question.remove:
            _remove(question)
    if status:
        raise NoAnswer(said or _ending(status))
    return output


def _read(
    child: subprocess.Popen[bytes],
    seconds: float,
    most_bytes: int,
    waiting: Callable[[float], None],
) -> tuple[bytes, str]:
    """All of its output and the last line of its errors, once it has ended. Raises NoAnswer."""
    from selectors import EVENT_READ, DefaultSelector
    from time import monotonic

    assert child.stdout is not None
    assert child.stderr is not None
    started, output, errors = monotonic(), bytearray(), bytearray()
    with DefaultSelector() as selector:
        selector.register(child.stdout, EVENT_READ, output)
        selector.register(child.stderr, EVENT_READ, errors)
        while selector.get_map():
            passed = monotonic() - started
            if passed > seconds:
                raise NoAnswer(f"no answer in {seconds:g} s")
            waiting(passed)
            gone = _has_ended(child)
            ready = selector.select(0 if gone else min(_STEP, seconds - passed))
            for each, _ in ready:
                if not _take(each.fd, each.data):
                    selector.unregister(each.fileobj)
            if gone and not ready:
                break  # what it has left running may hold its streams open
            if len(output) > most_bytes:
                raise NoAnswer(f"its answer is longer than {most_bytes >> 20} MiB")
            del errors[:-_TAIL]
    _wait(child, seconds - (monotonic() - started), seconds)
    return bytes(output), _last_line(errors)


def _take(descriptor: int, into: bytearray) -> bool:
    """Read what is there; False at the end."""
    chunk = os.read(descriptor, _CHUNK)
    into += chunk
    return bool(chunk)


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether it has; its number stays its own until it is waited for."""
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(child: subprocess.Popen[bytes], left: float, seconds: float) -> None:
    """Until a child that closed its streams has ended, too. Raises NoAnswer."""
    from time import monotonic, sleep

    until = monotonic() + left
    while not _has_ended(child):
        if monotonic() > until:
            raise NoAnswer(f"no answer in {seconds:g} s")
        sleep(_NAP)


def _end(child: subprocess.Popen[bytes]) -> int:
    """End it with all that it started. Returns its status."""
    from contextlib import suppress

    with suppress(OSError):  # gone, the last of them
        os.killpg(child.pid, _KILL)
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    return child.wait()


def _remove(question: Question) -> None:
    """Remove what a killed client leaves behind."""
    import subprocess
    from contextlib import suppress

    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S603 - our own words
            question.remove,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(question.environ),
            timeout=_REMOVING,
            check=False,
        )


def _last_line(errors: bytearray) -> str:
    """The reason that a Python or an engine gives at its end."""
    lines = [line for line in bytes(errors).splitlines() if line.strip()]
    return printable(lines[-1])[:_LONGEST_REASON] if lines else ""


def _ending(status: int) -> str:
    return f"it was ended by signal {-status}" if status < 0 else f"it ended with {status}"


def fingerprint(directory: str) -> str:
    """What tells one state of an installation from another: every source file's size and time.

    Plugins count, and what was changed in place. "" where the files cannot be looked at.
    """
    from hashlib import sha256

    found = sha256()
    try:
        for name in sorted(os.listdir(directory)):
            if name.startswith("vllm") and name.endswith(".dist-info"):
                found.update(f"{name}\0".encode("utf-8", "surrogateescape"))
        for path, status in _sources(os.path.join(directory, "vllm")):
            line = f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}\n"
            found.update(line.encode("utf-8", "surrogateescape"))
    except OSError:
        return ""
    return found.hexdigest()


def _sources(directory: str) -> list[tuple[str, os.stat_result]]:
    """The Python files below a directory with their status, in a stable order. Raises OSError."""
    found: list[tuple[str, os.stat_result]] = []
    below = [directory]
    while below:
        with os.scandir(below.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        below.append(entry.path)
                elif entry.name.endswith(".py"):
                    found.append((entry.path, entry.stat()))
    return sorted(found, key=lambda one: one[0])
