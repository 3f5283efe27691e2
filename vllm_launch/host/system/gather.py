"""Running collectors all at once, each in a thread, with a deadline for their answers."""

from __future__ import annotations

from ..deadline import no_answer, run_all
from ..reading import why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    # The fields that it fills, and what reads them.
    Collector: TypeAlias = tuple[tuple[str, ...], Callable[[], dict[str, Any]]]


def gather(collectors: Sequence[Collector], seconds: float) -> dict[str, Any]:
    """All answers that come in time, with the reasons for those that do not."""
    found: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    run_all([_job(one, found, unknown) for one in collectors], seconds)
    found, unknown = dict(found), dict(unknown)  # copies, which late threads leave alone
    for fields, _ in collectors:
        for field in fields:
            if field not in found and field not in unknown:
                unknown[field] = no_answer(seconds)
    return {**found, "unknown": tuple(unknown.items())}


def _job(
    collector: Collector, found: dict[str, Any], unknown: dict[str, str]
) -> Callable[[], None]:
    """What a thread does: keep the answer, or the reason for none."""
    fields, read = collector

    def job() -> None:
        try:
            answer = read()
        except Exception as error:
            unknown.update(dict.fromkeys(fields, why(error)))
        else:
            found.update(answer)

    return job
