"""Where a user's state is kept."""

from __future__ import annotations

import os

from ..errors import NothingFits


def state_directory() -> str:
    """Where this user's state is. Raises NothingFits where nothing says."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.local/state")
    if not os.path.isabs(base):
        raise NothingFits(
            "a file has to be written, and HOME is not set",
            hint="set HOME or XDG_STATE_HOME, or write it by hand and give its --endpoint",
        )
    return os.path.join(base, "vllm-launch")
