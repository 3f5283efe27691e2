"""What is told of a server that died, hung or did not hold what was promised."""

from __future__ import annotations

from ..errors import CheckFailed
from ..running.log import Log, read
from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..diagnose import Diagnosis
    from ..running.state import Kept
    from .verify import Verification

_TAIL = 12  # lines of a log that nothing is known of


def tell_failure(kept: Kept, found: Verification) -> None:
    """Say on the standard error what was wrong, and what to try next."""
    if found.waited.ready:
        from ..render.verification import verification_text

        text = verification_text(f"{kept.name} at {found.address.url}", found.results)
        remark("".join(f"# {line}\n" for line in text.splitlines()), as_it_is=True)
        return
    if not found.waited.dead:
        return  # what it hangs at is said when it is ended
    remark(f"error: {kept.name}: {found.waited.what}\n")
    tell_log(kept)


def not_handed_over(kept: Kept, found: Verification) -> CheckFailed:
    """The error for a server that runs no more because it did not hold what was promised."""
    what = found.waited.what if not found.waited.ready else _what(found)
    hint = f"see vllm-launch logs {kept.name}"
    return CheckFailed(f"{kept.name} was ended: {what}", hint=hint)


def _what(found: Verification) -> str:
    promised = any(each.held is not True and not each.intent for each in found.results)
    return "it does not hold what its recipe promises" if promised else "it is not as planned"


def tell_log(kept: Kept) -> None:
    """The log's known failures with the command to try, or its last lines."""
    log = read_log(kept)
    if not tell_known(log, kept.line):
        remark("".join(_tail(log.lines)), as_it_is=True)


def tell_known(log: Log, started: Sequence[str]) -> bool:
    """Say a log's known failures with the command to try; whether there are any."""
    from ..render.diagnosis import diagnosis_text

    known = diagnosed(log, started)
    remark(diagnosis_text(known), as_it_is=True)
    return bool(known)


def diagnosed(log: Log, started: Sequence[str]) -> tuple[Diagnosis, ...]:
    """The known failures in a log, each with the command to try after the one that failed."""
    from ..diagnose import diagnose
    from .retry import next_command

    return tuple(
        each.replace(line=log.number(each.line), command=next_command(each, started))
        for each in diagnose(log.lines)
    )


def read_log(kept: Kept) -> Log:
    """A server's log; nothing of one that is not there."""
    from contextlib import suppress

    from ..running import engine, state

    if kept.container is not None and not state.log_is_here(kept):
        with suppress(engine.EngineSilent):
            words = engine.logs(kept.container, kept.name)
            done = engine.ask(*words) if words else None
            if done is not None and done.returncode == 0:
                return Log(lines=tuple((done.stdout + done.stderr).splitlines()))
    try:
        with open(state.log_path(kept.name), "rb") as stream:
            return read(stream)
    except OSError:
        return Log()


def _tail(lines: Sequence[str]) -> Iterator[str]:
    """The last lines, which do no harm to a terminal."""
    for line in lines[-_TAIL:]:
        plain = "".join(char for char in line if char.isprintable() or char == "\t")
        yield f"  | {plain}\n"
