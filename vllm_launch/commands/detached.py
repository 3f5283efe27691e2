"""serve --detach: a server in the background, by its engine or by a monitor that waits for it."""

from __future__ import annotations

import os
from contextlib import suppress

from ..errors import CheckFailed, LaunchError
from ..running import engine, process, spawn, state
from ..running.ending import SECONDS, end
from ..running.log import Log
from ..running.supervise import Pump, Signals, end_of, see_out
from ..streams import answer, finish, remark
from .failure import not_handed_over, tell_failure, tell_known
from .job import begin, note, tell_held
from .verify import verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ..running.process import Identity
    from ..running.state import Kept
    from ..settings import Settings
    from .job import Job


def start_detached(job: Job, settings: Settings) -> int:
    """Start in the background, test where that is asked for, and print the name."""
    try:
        kept = _in_container(job) if job.kept.container is not None else _with_monitor(job)
        if settings["wait"]:
            _test_detached(kept, job, settings)
    except KeyboardInterrupt:
        _end_interrupted(job.kept.name)
        raise
    answer(f"{kept.name}\n")
    finish()
    return 0


def _test_detached(kept: Kept, job: Job, settings: Settings) -> None:
    """Raises CheckFailed for a server that did not hold what was promised, and was ended."""
    from ..running.following import following

    server = following(kept)
    try:
        found = verify(server, job.promise, settings, job.intent)
    finally:
        server.close()
    if found.holds:
        tell_held(kept, found)
        return
    tell_failure(kept, found)
    if found.waited.dead:
        raise CheckFailed(
            f"{kept.name} was not handed over", hint=f"see vllm-launch logs {kept.name}"
        )
    _end(kept)
    raise not_handed_over(kept, found)


def _end(kept: Kept) -> None:
    if kept.container is not None:
        engine.stop(kept.container, kept.name, SECONDS)
    elif kept.server is not None:
        end(kept.server, SECONDS)


def _end_interrupted(name: str) -> None:
    """End a server whose start was interrupted; another Ctrl-C leaves it."""
    try:
        remark(f"# ending {name}, after what it still answers; another Ctrl-C leaves it running\n")
        _end_detached(name)
    except KeyboardInterrupt:
        remark(f"# {name} was left, and may run: end it with vllm-launch stop {name}\n")
        raise


def _end_detached(name: str) -> None:
    """End a server whose start was interrupted, and forget it."""
    kept = state.read(name)
    if kept is not None:
        _end(kept)
        if kept.container is not None:
            engine.remove(kept.container, kept.name)
        state.forget(name)


def _in_container(job: Job) -> Kept:
    """Have the engine run it in the background. Raises CheckFailed where it does not."""
    from subprocess import PIPE, run

    errors, errors_in = os.pipe()
    said = Pump(((errors, 2),), -1)  # a pull that takes long is seen as it goes
    said.start()
    done = run(  # noqa: S603 - our own words, of the plan
        job.argv, executable=job.program, env=job.environment, stdout=PIPE, stderr=errors_in,
        text=True, check=False,
    )  # fmt: skip
    os.close(errors_in)
    said.finish()
    container = job.kept.container
    assert container is not None
    if done.returncode != 0:
        lines = b"".join(said.text or ()).decode("utf-8", "replace").splitlines()
        tell_known(Log(lines=tuple(lines)), job.kept.line)
        engine.remove(container, job.kept.name)
        state.forget(job.kept.name)
        raise CheckFailed(
            f"{container.engine} did not start it, and ended with status {done.returncode}",
            hint="see what it says above",
        )
    kept = job.kept.replace(container=container.replace(id=done.stdout.strip()))
    note(kept)
    return kept


def _with_monitor(job: Job) -> Kept:
    """A process that waits for the server's end starts it. Raises LaunchError."""
    import json

    report_read, report_write = os.pipe()
    gate_read, gate_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(report_read)
        os.close(gate_write)
        _monitor(job, gate_read, report_write)
    os.close(report_write)
    os.close(gate_read)
    # As long as no record names the monitor it does nothing, and ends with this process.
    known = state.amend(job.kept.replace(supervisor=process.identity_of(pid)))
    if known:
        os.write(gate_write, b"g")
    os.close(gate_write)
    with os.fdopen(report_read, "rb") as stream:
        words = json.loads(stream.read() or b'["it was killed before it began", "", 1]')
    if words:
        raise _FromMonitor(*words)
    kept = state.read(job.kept.name)
    assert kept is not None
    return kept


class _FromMonitor(LaunchError):
    """An error that happened in another process."""

    def __init__(self, message: str, hint: str, status: int) -> None:
        super().__init__(message, hint=hint, code="not_started")
        self.exit_status = status


def _monitor(job: Job, gate: int, report: int) -> NoReturn:
    """Start the server once the gate opens, report that it runs, and keep how it ends."""
    try:
        if os.read(gate, 1):
            _watch(job, report)
    finally:
        os._exit(0)


def _watch(job: Job, report: int) -> None:
    import json

    try:
        kept, child, signals = _begun(job, report)
    except LaunchError as error:
        if isinstance(error, state.Unwritable):
            state.forget(job.kept.name)
        os.write(report, json.dumps([error.message, error.hint, error.exit_status]).encode())
        return
    os.write(report, b"[]")
    os.close(report)
    end_of(child.pid, wait=True)
    signals.stop_forwarding()
    see_out(kept, child)


def _begun(job: Job, report: int) -> tuple[Kept, Identity, Signals]:
    """A server whose output goes to its log, and nothing of ours that it holds on to."""
    os.setsid()
    signals = Signals(ours=False)
    log = state.open_log(job.kept.name)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    _close_others({log, report})
    child = spawn.spawn(job.program, job.argv, job.environment, log, log, dies_with_us=False)
    kept = job.kept.replace(server=child.identity, supervisor=process.identity_of(os.getpid()))
    begin(kept, child)
    signals.forward_to(child.identity.pid)
    os.close(log)
    os.chdir("/")
    return kept, child.identity, signals


def _close_others(kept: set[int]) -> None:
    """Close what was inherited: whoever reads from it waits for its end."""
    for name in os.listdir("/proc/self/fd"):
        descriptor = int(name)
        if descriptor > 2 and descriptor not in kept:
            with suppress(OSError):  # the listing's own
                os.close(descriptor)
