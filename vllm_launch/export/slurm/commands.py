"""The parts of a deployment as commands whose words still have placeholders."""

from __future__ import annotations

from ...errors import UsageError
from ...model.part import SERVERS
from ...model.record import Record
from ..filling import OPERATOR, has_foreign_path, used_files
from ..readiness import health_url
from .words import literal, with_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...model.part import ConfigFile, Part
    from .words import Word

# Where each listens, if its own words do not say so.
_USUAL_PORTS = {"etcd": 2379, "nats": 4222, "master": 50051}
_PORT_FLAGS = ("--port", "-rpc_port", "--rpc_port")


class Wait(Record):
    """What has to answer before a command may run."""

    name: str
    node: int
    port: int
    health: bool  # over HTTP; otherwise a connection is enough
    host: str = ""  # its address, where the operator says it; "": the one that Slurm has


class Given(Record):
    """Addresses that the operator gave."""

    parts: Mapping[str, str] = {}  # by the part's name
    nodes: Mapping[int, str] = {}


class Command(Record):
    """What runs one part on one node."""

    name: str
    role: str
    node: int
    words: tuple[Word, ...]
    env: tuple[tuple[str, Word], ...] = ()
    waits: tuple[Wait, ...] = ()
    files: tuple[ConfigFile, ...] = ()
    finds_program: bool = False  # before the command's own PATH holds
    text: str = ""  # of a part that only a shell could run

    @property
    def in_image(self) -> bool:
        """Whether vLLM's image has the program."""
        return self.role in SERVERS or self.role == "frontend"


def commands(parts: Sequence[Part], given: Given) -> tuple[Command, ...]:
    """One command for each process; companions run beside every server's machine."""
    by_name = {part.name: part for part in parts}
    hosts = tuple(dict.fromkeys(part.node for part in parts if part.role in SERVERS))
    return tuple(
        _command(part, node, by_name, given)
        for part in parts
        for node in (hosts if part.role == "companion" else (part.node,))
    )


def _command(part: Part, node: int, by_name: dict[str, Part], given: Given) -> Command:
    words, env = _words(part), _env(part)
    if part.argv and ("=" in part.argv[0] or not part.argv[0]):
        raise UsageError(f"{part.name}: {part.argv[0]!r} is no name of a program")
    return Command(
        name=part.name if node == part.node else f"{part.name}-node-{node}",
        role=part.role,
        node=node,
        words=words,
        env=env,
        waits=tuple(_waits(part, node, by_name, given)) if part.argv else (),
        files=used_files(part),
        finds_program=has_foreign_path(part),
        text=part.text,
    )


def _words(part: Part) -> tuple[Word, ...]:
    """The words; a dollar sign in the operator's own is a dollar sign."""
    if part.plan is None:
        return tuple(map(with_names, part.argv))
    words = [literal(word) for word in (*part.plan.program, part.plan.model)]
    for _, tokens, source in part.plan.arguments:
        make = literal if source.layer == OPERATOR else with_names
        words += map(make, tokens)
    return tuple(words)


def _env(part: Part) -> tuple[tuple[str, Word], ...]:
    if part.plan is None:
        return tuple((name, with_names(value)) for name, value in part.env)
    return tuple(
        (name, literal(value) if source.layer == OPERATOR else with_names(value))
        for name, value, source in part.plan.variables
    )


def _waits(part: Part, node: int, by_name: dict[str, Part], given: Given) -> Iterator[Wait]:
    """What vLLM or a router would not wait for by itself, or not for long enough."""
    for name in part.after:
        before = by_name[name]
        if not before.argv or (before.role in SERVERS and part.role in SERVERS):
            continue  # servers find each other
        if before.plan is not None and health_url(before) is None:
            continue  # nothing answers at any port
        port = before.port if before.port is not None else _port_of(before)
        if port is not None:
            at = node if before.role == "companion" else before.node
            yield _wait(before, at, port, given)


def _wait(part: Part, node: int, port: int, given: Given) -> Wait:
    plan = part.plan
    own = plan.address if plan is not None else ""
    return Wait(
        name=part.name,
        node=node,
        port=port,
        health=plan is not None and not plan.encrypted,
        host=given.parts.get(part.name) or own or given.nodes.get(node, ""),
    )


def _port_of(part: Part) -> int | None:
    """The port that a part's own words name, or else its usual one."""
    for word, follower in zip(part.argv, (*part.argv[1:], ""), strict=False):
        flag, equals, value = word.partition("=")
        text = value if equals else follower
        if flag in _PORT_FLAGS and text.isascii() and text.isdecimal() and len(text) < 6:
            return int(text)
    return _USUAL_PORTS.get(part.role)
