"""Asking several devices at once, and not for ever.

A driver call that hangs cannot be taken back, only left behind: daemon threads
wait for it. The process that has such a thread may itself be unable to exit,
which is why ``child`` puts all of this into a process of its own.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


class Late(Exception):
    """No answer in time."""


def run_all(jobs: Sequence[Callable[[], object]], seconds: float) -> None:
    """Run each job in a thread of its own; return when all are done or time is up."""
    from threading import Thread
    from time import monotonic

    deadline = monotonic() + seconds
    threads = [Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))


def call_within(seconds: float, call: Callable[..., Any], *of: Any) -> Any:
    """The call's answer, or what it raises; Late where it does neither in time."""
    answers: list[Any] = []
    errors: list[BaseException] = []

    def job() -> None:
        try:
            answers.append(call(*of))
        except BaseException as error:
            errors.append(error)

    run_all([job], seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise Late(no_answer(seconds))
    return answers[0]


def no_answer(seconds: float) -> str:
    """How it is said of a driver that does not return."""
    return f"no answer in {seconds:g} s"
