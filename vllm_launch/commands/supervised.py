"""serve --wait and --detach: start a server, keep what it is, see that it does as promised."""

from __future__ import annotations

import os
from contextlib import suppress
from time import time

from ..errors import CheckFailed, LaunchError, UsageError
from ..launch import program_path
from ..model.record import Record
from ..running import condition, engine, process, reality, spawn, state
from ..running.ending import SECONDS, end
from ..running.promise import to_record
from ..running.state import Container, Kept
from ..running.supervise import Child, Pump, Signals, end_of, see_out
from ..streams import answer, finish, remark
from .failure import not_handed_over, tell_failure
from .front import address_of, intent_for, promise_of
from .verify import Verification, verify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

    from ..resolve.container import ContainerSetup
    from ..running.address import Address
    from ..running.process import Identity
    from ..running.promise import Promise
    from ..running.reality import Intent
    from ..settings import Settings
    from .plan import Plan


class Job(Record):
    """A server to be started."""

    kept: Kept
    promise: Promise
    intent: Intent | None = None
    address: Address | None  # None: it answers no requests
    program: str
    argv: tuple[str, ...]
    environment: dict[str, str]


def container_words(plan: Plan, settings: Settings, model: str) -> dict[str, Any]:
    """What makes a container one that is found again."""
    name = _asked_name(settings) or state.usual_name(model)
    return {
        "name": settings["name"] or f"vllm-{name}",
        "label": f"{engine.LABEL}={name}",
        "detached": bool(settings["detach"]),
    }


def start(
    plan: Plan,
    settings: Settings,
    setup: ContainerSetup | None,
    line: Sequence[str],
    environment: Mapping[str, str],
    path: str | None,
) -> int:
    """Start the plan's server, in the foreground or detached. Raises LaunchError."""
    from .printing import command_of

    process_plan = plan.processes[0]
    headless = any(flag == "--headless" for flag, _, _ in process_plan.arguments)
    if headless and settings["wait"]:
        raise UsageError(
            f"the {process_plan.title} answers no requests: there is nothing to be tested",
            hint="leave --wait out, and use it for the head",
        )
    address = None if headless else address_of(plan, settings)
    intent = None if headless else intent_for(plan)
    kept = state.claim(
        Kept(
            name=_asked_name(settings) or state.usual_name(process_plan.model),
            model=plan.deployment.recipe.id,
            url=address.url if address is not None else "",
            since=time(),
            launcher=process.identity_of(os.getpid()),
            promise=None if headless else to_record(promise_of(plan)),
            intent=None if intent is None else reality.to_record(intent),
            line=tuple(line),
        ),
        _is_over,
        exactly=settings["name"] is not None,
    )
    if setup is not None:
        name = settings["name"] or f"vllm-{kept.name}"
        setup = setup.replace(name=name, label=f"{engine.LABEL}={kept.name}")
        kept = kept.replace(container=Container(engine=setup.engine, name=name))
        state.amend(kept)
    argv, _ = command_of(plan, process_plan, setup)
    job = Job(
        kept=kept,
        promise=promise_of(plan) if not headless else _nothing(),
        intent=intent,
        address=address,
        program=program_path(argv[0], path),
        argv=tuple(argv),
        environment=dict(environment),
    )
    if not settings["detach"]:
        return _foreground(job, settings)
    return _detached(job, settings)


def _nothing() -> Promise:
    from ..running.promise import Promise

    return Promise()


def _asked_name(settings: Settings) -> str | None:
    name = settings["name"]
    return state.checked_name(name, settings.source("name")) if name is not None else None


def _is_over(kept: Kept) -> bool:
    """Whether a name is free again; what its container has left is taken away."""
    now = condition.condition(kept)
    if now.runs or now.state == "unknown":
        return False
    if kept.container is not None:
        engine.remove(kept.container)
    return True


# In the foreground.


def _foreground(job: Job, settings: Settings) -> int:
    """Start, test, and stay until the server ends; its exit status."""
    signals = Signals()
    kept, child, pump = _started(job)
    signals.to(child.pid)
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
    log = _open_log(job.kept.name)
    kept = job.kept.replace(server=child.identity, supervisor=process.identity_of(os.getpid()))
    _go(kept, child)
    return kept, child.identity, Pump(((out, 1), (errors, 2)), log)


def _go(kept: Kept, child: spawn.Child) -> None:
    """Write down whose pid it is, then let it become the server. Raises LaunchError."""
    if not state.amend(kept):
        child.drop()
        raise UsageError(
            f"{kept.name} was taken by another launch meanwhile", hint="give another --name"
        )
    try:
        child.go()
    except LaunchError:
        state.forget(kept.name)
        raise


def _open_log(name: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return os.open(state.log_path(name), flags, 0o600)


def _hold(
    job: Job, kept: Kept, child: Identity, pump: Pump, signals: Signals, settings: Settings
) -> Verification:
    """Test the server, and where it held what was promised, wait for its end."""
    assert job.address is not None
    server = Child(job.address, child, pump, native=kept.container is None)
    found = verify(server, job.promise, settings, job.intent, bar=False)
    if found.holds:
        _tell_held(kept, found)
        pump.text = None
    if found.holds or signals.asked:
        end_of(child.pid, wait=True)
    else:
        if found.waited.dead:
            pump.finish()
        tell_failure(kept, found)
    return found


def _tell_held(kept: Kept, found: Verification) -> None:
    from ..render.verification import verification_text

    state.amend(kept.replace(ready=time(), url=found.address.url))
    about = f"{kept.name} at {found.address.url}, ready after {found.waited.seconds:.1f} s"
    text = verification_text(about, found.results)
    remark("".join(f"# {line}\n" for line in text.splitlines()), as_it_is=True)


def _seen_out(kept: Kept, child: Identity, pump: Pump, signals: Signals) -> int:
    """End what has not ended by itself, and say how."""
    if end_of(child.pid, wait=False) is None:
        end(child, SECONDS)
    end_of(child.pid, wait=True)
    signals.keep()
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
            engine.stop(kept.container, SECONDS)


# Detached.


def _detached(job: Job, settings: Settings) -> int:
    """Start in the background, test where that is asked for, and print the name."""
    try:
        kept = _in_container(job) if job.kept.container is not None else _with_monitor(job)
        if settings["wait"]:
            _test_detached(kept, job, settings)
    except KeyboardInterrupt:
        _end_detached(job.kept.name)
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
        _tell_held(kept, found)
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
        engine.stop(kept.container, SECONDS)
    elif kept.server is not None:
        end(kept.server, SECONDS)


def _end_detached(name: str) -> None:
    """End a server whose start was interrupted, and forget it."""
    kept = state.read(name)
    if kept is not None:
        _end(kept)
        if kept.container is not None:
            engine.remove(kept.container)
        state.forget(name)


def _in_container(job: Job) -> Kept:
    """Have the engine run it in the background. Raises CheckFailed where it does not."""
    from subprocess import PIPE, run

    done = run(  # noqa: S603 - our own words, of the plan
        job.argv, executable=job.program, env=job.environment, stdout=PIPE, text=True, check=False
    )
    container = job.kept.container
    assert container is not None
    if done.returncode != 0:
        engine.remove(container)
        state.forget(job.kept.name)
        raise CheckFailed(
            f"{container.engine} did not start it, and ended with status {done.returncode}",
            hint="see what it says above",
        )
    kept = job.kept.replace(container=container.replace(id=done.stdout.strip()))
    state.amend(kept)
    return kept


def _with_monitor(job: Job) -> Kept:
    """A process that waits for the server's end starts it. Raises LaunchError."""
    import json

    said, say = os.pipe()
    gate, open_gate = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(said)
        os.close(open_gate)
        _monitor(job, gate, say)
    os.close(say)
    os.close(gate)
    # As long as no record names the monitor it does nothing, and ends with this process.
    known = state.amend(job.kept.replace(supervisor=process.identity_of(pid)))
    if known:
        os.write(open_gate, b"g")
    os.close(open_gate)
    with os.fdopen(said, "rb") as stream:
        words = json.loads(stream.read() or b'["it was killed before it began", "", 1]')
    if words:
        raise _Told(*words)
    kept = state.read(job.kept.name)
    assert kept is not None
    return kept


class _Told(LaunchError):
    """An error that happened in another process."""

    def __init__(self, message: str, hint: str, status: int) -> None:
        super().__init__(message, hint=hint, code="not_started")
        self.exit_status = status


def _monitor(job: Job, gate: int, say: int) -> NoReturn:
    """Start the server, say that it is started, and keep how it ends."""
    try:
        if os.read(gate, 1):
            _watch(job, say)
    finally:
        os._exit(0)


def _watch(job: Job, say: int) -> None:
    import json

    try:
        kept, child, signals = _begun(job, say)
    except LaunchError as error:
        os.write(say, json.dumps([error.message, error.hint, error.exit_status]).encode())
        return
    os.write(say, b"[]")
    os.close(say)
    end_of(child.pid, wait=True)
    signals.keep()
    see_out(kept, child)


def _begun(job: Job, say: int) -> tuple[Kept, Identity, Signals]:
    """A server whose output goes to its log, and nothing of ours that it holds on to."""
    os.setsid()
    signals = Signals(ours=False)
    log = _open_log(job.kept.name)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    _close_others({log, say})
    child = spawn.spawn(job.program, job.argv, job.environment, log, log, dies_with_us=False)
    kept = job.kept.replace(server=child.identity, supervisor=process.identity_of(os.getpid()))
    _go(kept, child)
    signals.to(child.identity.pid)
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
