"""Reading vendors' drivers, each in a child process of its own."""

from __future__ import annotations

import os

from ..errors import LaunchError
from ..model.host import HostFacts
from . import child
from .child import Child
from .deadline import call_within, no_answer
from .facts_file import from_dict, to_dict
from .reading import why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Read = Callable[[str, float], HostFacts]

_TO_REPORT = 0.5  # seconds of it, for the answers of those devices that did not hang


def begin(reads: Mapping[str, Read], root: str, seconds: float) -> dict[str, Child | HostFacts]:
    """Start the reads. One that no process can be had for is done here and now."""
    share = max(seconds - _TO_REPORT, seconds / 2)
    return {what: _begin(what, read, root, share) for what, read in reads.items()}


def _begin(what: str, read: Read, root: str, seconds: float) -> Child | HostFacts:
    begun = child.begin(lambda: to_dict(_found(what, read, root, seconds)))
    return begun or _found(what, lambda *of: call_within(seconds, read, *of), root, seconds)


def _found(what: str, read: Read, root: str, seconds: float) -> HostFacts:
    try:
        return read(root, seconds)
    except Exception as error:
        return _nothing(what, f"failed: {why(error)}")


def finish(begun: Mapping[str, Child | HostFacts], seconds: float) -> list[HostFacts]:
    """The answers that come in time. The children are gone afterwards, or left to the kernel."""
    child.finish([one for one in begun.values() if isinstance(one, Child)], seconds)
    return [
        _facts(what, one, seconds) if isinstance(one, Child) else one for what, one in begun.items()
    ]


def _facts(what: str, ended: Child, seconds: float) -> HostFacts:
    if ended.output is None:
        return _nothing(what, f"{no_answer(seconds)}: the driver hangs")
    try:
        return from_dict(ended.answer(), what)
    except (LaunchError, EOFError, ValueError, TypeError) as error:
        status = ended.status
        if status is not None and os.WIFSIGNALED(status):
            return _nothing(what, f"the driver's library crashed (signal {os.WTERMSIG(status)})")
        return _nothing(what, f"failed: {why(error)}")


def _nothing(what: str, reason: str) -> HostFacts:
    return HostFacts(looked_for=((what, reason),))
