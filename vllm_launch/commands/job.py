"""A server on its way to run: what is known of it before, and what both ways of starting share."""

from __future__ import annotations

import os
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


def open_log(name: str) -> int:
    """A descriptor that appends to a server's log. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return os.open(state.log_path(name), flags, 0o600)


def tell_held(kept: Kept, found: Verification) -> None:
    """Keep when a server was ready, and say on the standard error what was seen of it."""
    from ..render.verification import verification_text

    state.amend(kept.replace(ready=time(), url=found.address.url))
    about = f"{kept.name} at {found.address.url}, ready after {found.waited.seconds:.1f} s"
    text = verification_text(about, found.results)
    remark("".join(f"# {line}\n" for line in text.splitlines()), as_it_is=True)
