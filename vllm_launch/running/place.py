"""Where a user's state is kept."""

from __future__ import annotations

import os

from .. import private
from ..errors import NothingFits, UsageError


def state_directory() -> str:
    """Where this user's state is. Raises NothingFits where nothing says.

    Raises UsageError where it is another user's: what is kept there is believed.
    """
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.local/state")
    if not os.path.isabs(base):
        raise NothingFits(
            "a file has to be written, and HOME is not set",
            hint="set HOME or XDG_STATE_HOME, or write it by hand and give its --endpoint",
        )
    path = os.path.join(base, "vllm-launch")
    try:
        private.check(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise UsageError(
            f"cannot use {path}: {error.strerror}", hint="set XDG_STATE_HOME"
        ) from None
    return path


def make_directory(path: str) -> None:
    """A directory within the state, which nobody else reaches. Raises OSError."""
    private.make(state_directory())
    private.make(path)
