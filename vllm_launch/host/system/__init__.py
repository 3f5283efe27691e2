"""What a launch needs to know of the machine beside its GPUs. Only what is asked for is read."""

from __future__ import annotations

import os

from .apart import SECONDS, read_apart
from .collectors import collectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...model.system import SystemFacts, Wanted

__all__ = ["read_system"]


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
    return read_apart(collectors(wanted, root, around), seconds)
