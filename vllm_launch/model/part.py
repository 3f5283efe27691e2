"""One process of a deployment as a machine or an engine starts it."""

from __future__ import annotations

from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .deployment import ProcessPlan
    from .source import Source

SERVERS = ("server", "head", "worker", "prefill", "decode", "instance")  # run vLLM
OTHERS = (
    "router", "store", "master", "companion", "etcd", "nats", "frontend", "proxy",
)  # fmt: skip


class ConfigFile(Record):
    """A JSON file that a process reads, at the path that a placeholder stands for."""

    placeholder: str  # "MOONCAKE_CONFIG_PATH"
    name: str  # "mooncake_config.json"
    content: Any
    path: str = ""  # where it is written before the process starts; "": not decided


class Part(Record):
    """A server of a deployment, or what runs beside the servers.

    Placeholders such as ``$HEAD_IP`` stand in its words, variables and files until they are
    filled in.
    """

    name: str  # of its own in the deployment: "head-0", "prefill-1", "router"
    role: str  # one of SERVERS or OTHERS
    rank: int = 0
    node: int = 0  # the machine that it runs on; the deployment's first is 0
    argv: tuple[str, ...] = ()  # empty where no more than ``text`` is known
    env: tuple[tuple[str, str], ...] = ()
    text: str = ""  # a recipe's shell text that is not one plain command
    plan: ProcessPlan | None = None  # None: no server
    gpus: int = 0  # of its node's
    port: int | None = None  # where it answers HTTP
    files: tuple[ConfigFile, ...] = ()
    reads: tuple[str, ...] = ()  # whole paths of the operator's own files, in the files' place
    after: tuple[str, ...] = ()  # names of the parts that have to run before it
    label: str = ""  # what a recipe calls it
    source: Source | None = None  # where the words of what is no server come from

    @property
    def title(self) -> str:
        """What people call it: its role, and its rank where there may be several."""
        if self.role in OTHERS:
            return f"{self.role} {self.label}".rstrip()
        return self.name.replace("-", " ")


class Meaning(Record):
    """What a placeholder stands for, and who has to say it."""

    kind: str  # "node", "interface", "bind", "port", "file", "device" or "other"
    part: str = ""  # kind "node": the part whose machine's address it is
    default: str | None = None  # what does where nobody says otherwise
