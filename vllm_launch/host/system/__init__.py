"""What a launch needs to know of the machine beside its GPUs. Only what is asked for is read."""

from __future__ import annotations

import os

from ...model.system import SystemFacts
from ..child import SECONDS, begin, finish
from ..deadline import no_answer
from .collectors import collectors
from .gather import gather
from .transport import facts_from, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...model.system import Wanted
    from .gather import Collector

_TO_SEND = 0.3  # seconds of a child's, for one that has waited for others


def read_system(
    wanted: Wanted,
    root: str = "/",
    environ: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
) -> SystemFacts:
    """Read what is wanted. Never raises, and never takes much longer than ``seconds``.

    What could not be read is None, with the reason in ``unknown``. ``root`` is where files are
    looked for, ``environ`` the environment that the server would inherit.
    """
    around = dict(os.environ if environ is None else environ)
    return run_collectors(collectors(wanted, root, around), seconds)


def run_collectors(jobs: Sequence[Collector], seconds: float) -> SystemFacts:
    """Run them in a child; here, where no child can be had."""
    share = max(seconds - _TO_SEND, seconds / 2)
    child = begin(lambda: plain(gather(jobs, share)))
    if child is None:
        return facts_from(gather(jobs, seconds))
    finish([child], seconds)
    try:
        return facts_from(child.answer())
    except (EOFError, ValueError, TypeError):  # late, or dead
        fields = [field for names, _ in jobs for field in names]
        return SystemFacts(unknown=tuple((field, no_answer(seconds)) for field in fields))
