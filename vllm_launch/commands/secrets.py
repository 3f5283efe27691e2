"""Keep secrets out of commands: they reach a process by name, from the environment."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..model.secrets import SECRET_FLAGS, is_secret, secret_among, secret_in
from ..model.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.source import Variables

# Always handed on where they are set: what a server needs to read gated models and ask for keys.
HANDED_ON = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "VLLM_API_KEY")


def variables_from(texts: Sequence[str], option: str) -> tuple[Variables, tuple[str, ...]]:
    """The operator's variables with values, and the names of those to hand on as they are.

    A name alone is never looked behind: its value may be a secret whatever it is called.

    Raises UsageError for a name that cannot be, or a secret whose value stands there.
    """
    values: list[tuple[str, str, Source]] = []
    names = [name for name in HANDED_ON if os.environ.get(name)]
    for text in texts:
        name, equals, value = text.partition("=")
        if not name.isascii() or not name.replace("_", "a").isalnum() or name[0].isdigit():
            raise UsageError(f"{option}: {name!r} is no variable name", hint="write NAME=VALUE")
        if equals and (is_secret(name) or secret_in(value)):
            raise UsageError(
                f"{option}: the value of {name} would stand in the command for all to read",
                hint=f"export {name} before, and give its name alone: -e {name}",
            )
        if equals:
            values.append((name, value, Source(layer="operator", detail=option)))
        elif name in os.environ:
            names.append(name)
        else:
            raise UsageError(f"{option}: {name} is not set", hint=f"export {name} before")
    return tuple(values), tuple(dict.fromkeys(names))


def refuse_secret_arguments(passed: Sequence[str]) -> None:
    """Raise UsageError for a secret behind "--": every user of the machine could read it."""
    found = secret_among(passed)
    if found:
        variable = SECRET_FLAGS.get(found)
        raise UsageError(
            f"{found} puts a secret on the command line, where every user can read it",
            hint=f"export {variable}=… instead: the server reads it"
            if variable
            else "leave it out; a variable is handed on by its name: -e NAME",
        )
