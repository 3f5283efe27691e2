"""serve --wait: a server that is this process's child, tested and seen to its end."""

from __future__ import annotations

import os
from contextlib import suppress

from ..errors import CheckFailed
from ..running import engine, process, spawn, state
from ..running.ending import SECONDS, end
from ..running.supervise import Child, Pump, Signals, end_of, see_out
from .failure import not_handed_over, tell_failure
from .job import begin, tell_held
from .verify import verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..running.process import Identity
    from ..running.state import Kept
    from ..settings import Settings
    from .job import Job
    from .verify import Verification


def run_in_foreground(job: Job, settings: Settings) -> int:
    """Start, test, and stay until the server ends; its exit status."""
    signals = Signals()
    kept, child, pump = _started(job)
    signals.forward_to(child.pid)
    pump.start()
    died = False
    try:
        found = _hold(job, kept, child, pump, signals, settings)
        died = end_of(child.pid, wait=False) is not None
    finally:
        status = _seen_out(kept, child, pump, signals)
    if signals.asked or (found.holds and status == 0):
        state.forget(kept.name)
    if found.holds or signals.asked:
        return status
    if died:
        return status or CheckFailed.exit_status
    raise not_handed_over(kept, found)


def _started(job: Job) -> tuple[Kept, Identity, Pump]:
    """The server as a child, once its record is written. Raises LaunchError."""
    out, out_in = os.pipe()
    errors, errors_in = os.pipe()
    child = spawn.spawn(
        job.program, job.argv, job.environment, out_in, errors_in, dies_with_us=True
    )
    os.close(out_in)
    os.close(errors_in)
    log = state.open_log(job.kept.name)
    kept = job.kept.replace(server=child.identity, supervisor=process.identity_of(os.getpid()))
    begin(kept, child)
    return kept, child.identity, Pump(((out, 1), (errors, 2)), log)


def _hold(
    job: Job, kept: Kept, child: Identity, pump: Pump, signals: Signals, settings: Settings
) -> Verification:
    """Test the server, and where it held what was promised, wait for its end."""
    assert job.address is not None
    server = Child(job.address, child, pump, native=kept.container is None)
    found = verify(server, job.promise, settings, job.intent, bar=False)
    if found.holds:
        tell_held(kept, found)
        pump.text = None
    if found.holds or signals.asked:
        end_of(child.pid, wait=True)
    else:
        if found.waited.dead:
            pump.finish()
        tell_failure(kept, found)
    return found


def _seen_out(kept: Kept, child: Identity, pump: Pump, signals: Signals) -> int:
    """End what has not ended by itself, and say how."""
    if end_of(child.pid, wait=False) is None:
        end(child, SECONDS)
    end_of(child.pid, wait=True)
    signals.stop_forwarding()
    _end_container(kept)
    status = see_out(kept, child)
    pump.finish()
    return status


def _end_container(kept: Kept) -> None:
    """End a container that has outlived the engine's command that ran it."""
    if kept.container is None:
        return
    with suppress(engine.EngineSilent):
        found = engine.inspect(kept.container, kept.name)
        if found is not None and found.running:
            engine.stop(kept.container, kept.name, SECONDS)
