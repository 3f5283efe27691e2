"""A server on its way to run: what is known of it before, and what both ways of starting share."""

from __future__ import annotations

from time import time

from ..errors import LaunchError, UsageError
from ..model.record import Record
from ..running import state
from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..running.address import Address
    from ..running.promise import Promise
    from ..running.reality import Intent
    from ..running.spawn import Child
    from ..running.state import Kept
    from .verify import Verification


class Job(Record):
    """A server to be started."""

    kept: Kept
    promise: Promise
    intent: Intent | None = None
    address: Address | None  # None: it answers no requests
    program: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]


def begin(kept: Kept, child: Child) -> None:
    """Write down whose pid it is, then let it become the server. Raises LaunchError."""
    known = False
    try:
        known = state.amend(kept)
    finally:
        if not known:
            child.drop()
    if not known:
        raise UsageError(
            f"{kept.name} was taken by another launch meanwhile", hint="give another --name"
        )
    try:
        child.go()
    except LaunchError:
        state.forget(kept.name)
        raise


def note(kept: Kept) -> None:
    """Amend the record of a server that runs: it goes on where the disk does not take it."""
    try:
        state.amend(kept)
    except state.Unwritable as error:
        remark(f"warning: {error.message}\n")


def tell_held(kept: Kept, found: Verification) -> None:
    """Keep when a server was ready, and say on the standard error what was seen of it."""
    from ..render.verification import verification_text

    note(kept.replace(ready=time(), url=found.address.url))
    about = f"{kept.name} at {found.address.url}, ready after {found.waited.seconds:.1f} s"
    text = verification_text(about, found.results)
    remark("".join(f"# {line}\n" for line in text.splitlines()), as_it_is=True)
