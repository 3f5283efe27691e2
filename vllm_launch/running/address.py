"""Where a server answers. Pure."""

from __future__ import annotations

from ..errors import UsageError
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import ProcessPlan

PORT = 8000  # where vLLM answers that is not told otherwise
_EVERY = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1", "[::]": "::1"}  # noqa: S104


class Address(Record):
    """One HTTP server's place; ``socket`` is a path of the file system instead of host and port."""

    host: str = ""
    port: int = 0
    secure: bool = False
    prefix: str = ""  # of every path
    socket: str = ""

    @property
    def url(self) -> str:
        """As an operator reads it."""
        if self.socket:
            return f"unix:{self.socket}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}{self.prefix}"


def reached(host: str | None) -> str:
    """The address to ask a server at that listens on one: a loopback address for every one."""
    text = host or ""
    return _EVERY.get(text, text.removeprefix("[").removesuffix("]"))


def of_process(process: ProcessPlan, port: int | None = None, host: str | None = None) -> Address:
    """Where a planned server will answer; ``host`` is where a container's port is published."""
    socket = process.value("--uds")
    if socket:
        return Address(socket=socket)
    return Address(
        host=reached(host if host is not None else process.value("--host")),
        port=process.number("--port") or port or PORT,
        secure=process.encrypted,
    )


def parsed(text: str, source: str = "--url") -> Address:
    """An address out of a URL, whose ``/v1`` may be left out or not. Raises UsageError."""
    from urllib.parse import urlsplit

    hint = "for example --url http://127.0.0.1:8000, or unix:/run/vllm.sock"
    if text.startswith("unix:/"):
        return Address(socket="/" + text.removeprefix("unix:").lstrip("/"))
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # a port that is none, or half of a bracket
        raise UsageError(
            f"{source}: found {text!r}; expected http(s)://HOST[:PORT]", hint=hint
        ) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{source} puts a secret on the command line, where every user can read it",
            hint="export VLLM_API_KEY=… instead",
        )
    wrong = parts.query or parts.fragment or not parts.hostname
    if parts.scheme not in ("http", "https") or wrong or not text.isprintable() or " " in text:
        raise UsageError(f"{source}: found {text!r}; expected http(s)://HOST[:PORT]", hint=hint)
    secure = parts.scheme == "https"
    return Address(
        host=reached(parts.hostname),
        port=port or (443 if secure else 80),
        secure=secure,
        prefix=parts.path.rstrip("/").removesuffix("/v1"),
    )
