"""What runs beside the servers: its program, its ports, and the files that processes read."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .unread import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..model.part import Part
    from .situation import Situation

_INSTALL = {
    "vllm-router": "pip install vllm-router",
    "mooncake_master": "pip install mooncake-transfer-engine",
    "lmcache": "pip install lmcache",
}
# Options that name a port to listen on: of vllm-router, LMCache, the toy proxy, mooncake_master.
_PORTS = ("port", "http-port", "http-server-port", "prometheus-port", "rpc_port", "metrics_port",
          "http_metadata_server_port")  # fmt: skip


def program(situation: Situation) -> str:
    """The program that has to be on PATH; "" where another check looks for it."""
    part = situation.beside
    return part.argv[0] if part is not None and part.argv and situation.native else ""


def program_there(situation: Situation) -> Iterable[Finding] | None:
    """The program of a router, a store or what else is no vLLM."""
    name = program(situation)
    part = situation.beside
    if not name or part is None:
        return None
    there = dict(situation.system.programs or ()).get(name)
    if there is None:
        return unread(situation, "programs", f"{name} was not looked for", cause=name)
    if there:
        return []
    return [
        Finding(
            severity="fail",
            what=f"{name} is not on PATH",
            why=f"The {part.title} is that program.",
            remedy="Install it in this environment.",
            command=_INSTALL.get(name, ""),
            cause=name,
            source=part.source,
        )
    ]


def ports_of(part: Part) -> Iterator[tuple[int, str]]:
    """The ports that a part listens on, with the options that name them."""
    found: dict[int, str] = {}
    words = list(part.argv[1:])
    for word, after in zip(words, [*words[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        text = value if equals else after
        if flag.startswith("-") and flag.lstrip("-") in _PORTS and text.isdecimal():
            found.setdefault(int(text), flag)
    if part.port is not None:
        found.setdefault(part.port, f"the {part.title}'s port")
    yield from found.items()


def files(situation: Situation) -> tuple[str, ...]:
    """Files that the process reads and that somebody else has to have put there."""
    part = situation.beside
    written = situation.written
    if part is not None:
        named = [part.argv[1]] if part.role == "proxy" and len(part.argv) > 1 else []
        pairs = zip(part.argv, part.argv[1:], strict=False)
        named += [path for flag, path in pairs if flag == "--config"]
    else:
        env = situation.process.env if situation.native else {}
        named = [value for name, value in env.items() if name.endswith("_CONFIG_PATH")]
    return tuple(path for path in named if "$" not in path and path and path not in written)


def files_there(situation: Situation) -> Iterable[Finding] | None:
    """Each of these files."""
    wanted = files(situation)
    if not wanted:
        return None
    tried = dict(situation.system.files or ())
    if not tried:
        return unread(situation, "files", "files were not looked for", cause=wanted[0])
    return [
        Finding(
            severity="fail",
            what=f"{path} cannot be read: {tried[path]}",
            why="The process reads it when it starts.",
            remedy="Put it there, or leave its --endpoint out where the launcher can write it.",
            cause=path,
        )
        for path in wanted
        if tried.get(path)
    ]


CHECKS = (
    Check(
        code="PROGRAM",
        subject="beside",
        about="the program of a router, store, master or companion is on PATH",
        run=program_there,
    ),
    Check(
        code="CONFIG_FILE",
        subject="beside",
        about="files that a process is told to read are there",
        run=files_there,
    ),
)
