"""The operator's values of placeholders, given as NAME=VALUE or in a file of such lines."""

from __future__ import annotations

from ..errors import UsageError
from ..model.secrets import secret_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..model.deployment import Deployment
    from ..settings import Settings

_LARGEST_BYTES = 1 << 20


def endpoints_of(settings: Settings) -> dict[str, str]:
    """The values of placeholders by name; of a name given twice, the last one.

    Raises UsageError for what is no NAME=VALUE, and for a file that cannot be read.
    """
    option = settings.source("endpoint")
    values: dict[str, str] = {}
    for text in settings.listed("endpoint"):
        if text.startswith("@"):
            path = text[1:]
            if not path:
                raise UsageError(
                    f"{option}: found '@'; expected @FILE",
                    hint="@FILE names a file of NAME=VALUE lines",
                )
            for number, line in _lines_of(path, option):
                values |= _value(line, f"{path}:{number}", "")
        else:
            values |= _value(text, option, "--endpoint ")
    return values


def _value(text: str, place: str, option: str) -> dict[str, str]:
    """One name with its value. Raises UsageError."""
    name, equals, value = text.removeprefix("$").partition("=")
    if not equals or not name.replace("_", "").isalnum() or not value:
        raise UsageError(
            f"{place}: found {text!r}; expected NAME=VALUE",
            hint=f"for example {option}HEAD_IP=10.0.0.1",
        )
    if secret_in(value):
        raise UsageError(
            f"{place}: the value of {name} is a secret, and would stand in the command",
            hint="leave it out; a variable is handed on by its name: -e NAME",
        )
    # Where a port follows an IPv6 address, brackets are put around it again.
    bare = value.removeprefix("[").removesuffix("]")
    return {name: bare if value == f"[{bare}]" and ":" in bare else value}


def refuse_ports(endpoints: Mapping[str, str], deployment: Deployment, option: str) -> None:
    """Raise UsageError for a machine's address with a port behind it: the plan has the port."""
    from ..resolve.parts import parts
    from ..resolve.placeholders import address_parts

    for name in address_parts(parts(deployment)):
        host, colon, port = endpoints.get(name, "").rpartition(":")
        if colon and port.isdecimal() and (":" not in host or host.endswith("]")):
            pool = name.partition("_NODE_")[0].lower()
            asked = f"--{pool}-port {port}" if pool in ("prefill", "decode") else "--port"
            raise UsageError(
                f"{option}: found {name}={endpoints[name]}; expected an address alone, "
                "without a port",
                hint=f"give the port with {asked}",
            )


def _lines_of(path: str, asked_by: str) -> list[tuple[int, str]]:
    """A file's lines without comments, with their numbers. Raises UsageError for no text."""
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(
            f"{asked_by}: cannot read {path}: {why}",
            hint="@FILE names a file of NAME=VALUE lines",
        ) from None
    if len(content) > _LARGEST_BYTES or "\0" in text:
        raise UsageError(f"{asked_by}: {path} is no file of NAME=VALUE lines")
    numbered = enumerate((line.strip() for line in text.splitlines()), 1)
    return [
        (number, _plain(line)) for number, line in numbered if line and not line.startswith("#")
    ]


def _plain(line: str) -> str:
    """A line without what a shell would take off: "export" before it, quotes around the value."""
    name, equals, value = line.removeprefix("export ").partition("=")
    name, value = name.strip(), value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return f"{name}{equals}{value}"
