"""What a launcher of many processes (Slurm, MPI, …) has said about them."""

from __future__ import annotations

from .record import Record


class Said(Record):
    """A value, and the variable that said so."""

    value: str
    by: str


class ClusterView(Record):
    """The nodes that something else has started this process on."""

    launcher: str  # "Slurm", "LeaderWorkerSet", "torchrun", "Open MPI", …
    rank: Said | None = None  # this node's among them
    size: Said | None = None  # how many there are
    local_rank: Said | None = None  # this process's on its node
    head: Said | None = None  # the first node's address
    nodes: tuple[str, ...] = ()  # every node's address, the first one's first; none: not known
    nodes_by: str = ""  # the variable that lists them
