"""What Slurm, LeaderWorkerSet, torchrun or MPI have put into the environment. Nothing is asked.

Each reader takes the variables, and gives None where its launcher did not start this process.
"""

from __future__ import annotations

from ..errors import UsageError
from ..model.cluster import ClusterView, Said
from .hostlist import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class _Variables:
    """A launcher's variables. One that nobody needs may be anything, and is then not there."""

    def __init__(self, environ: Mapping[str, str], *, rank: bool, nodes: bool) -> None:
        self.environ = environ
        self.rank = rank
        self.nodes = nodes

    def __contains__(self, name: str) -> bool:
        return name in self.environ

    def text(self, name: str) -> Said | None:
        value = self.environ.get(name)
        return Said(value=value, by=name) if value else None

    def number(self, name: str) -> Said | None:
        """A whole number. Raises UsageError for what is none, where the node's is wanted."""
        said = self.text(name)
        if said is None:
            return None
        if said.value.isascii() and said.value.isdecimal() and len(said.value) < 9:
            return said.replace(value=str(int(said.value)))
        if not self.rank:
            return None
        raise UsageError(
            f"{name}: found {said.value!r}; expected a whole number",
            hint=f"unset {name}, or say which node this is with --node-rank",
        )

    def expanded(self, said: Said) -> tuple[str, ...]:
        """The nodes of a list. Raises UsageError for what is none, where they are wanted."""
        try:
            return expand(said.value)
        except ValueError as error:
            if not self.nodes:
                return ()
            raise UsageError(
                f"{said.by}: {error}",
                hint=f"unset {said.by}, or give the nodes' addresses with --endpoint",
            ) from None


def read_cluster(environ: Mapping[str, str], *, rank: bool, nodes: bool) -> ClusterView | None:
    """The nearest launcher's view: one that Slurm started may have started this process itself.

    ``rank``: whether it is to say which node this is, ``nodes``: what the nodes' addresses are.
    Raises UsageError where it is, and a variable is not what its launcher would set.
    """
    variables = _Variables(environ, rank=rank, nodes=nodes)
    for read in _READERS:
        view = read(variables)
        if view is not None:
            return view
    return None


def _torchrun(variables: _Variables) -> ClusterView | None:
    if "GROUP_RANK" not in variables or "MASTER_ADDR" not in variables:
        return None
    return ClusterView(
        launcher="torchrun",
        rank=variables.number("GROUP_RANK"),
        size=variables.number("GROUP_WORLD_SIZE"),
        local_rank=variables.number("LOCAL_RANK"),
        head=variables.text("MASTER_ADDR"),
    )


def _open_mpi(variables: _Variables) -> ClusterView | None:
    if "OMPI_COMM_WORLD_RANK" not in variables:
        return None
    return ClusterView(
        launcher="Open MPI",
        rank=variables.number("OMPI_COMM_WORLD_RANK"),
        size=variables.number("OMPI_COMM_WORLD_SIZE"),
        local_rank=variables.number("OMPI_COMM_WORLD_LOCAL_RANK"),
        head=variables.text("MASTER_ADDR"),
    )


def _hydra(variables: _Variables) -> ClusterView | None:
    """MPICH's and Intel MPI's own starter. Slurm sets PMI_RANK too, and no MPI_LOCALRANKID."""
    if "PMI_RANK" not in variables or "MPI_LOCALRANKID" not in variables:
        return None
    return ClusterView(
        launcher="Intel MPI" if "I_MPI_ROOT" in variables else "MPICH",
        rank=variables.number("PMI_RANK"),
        size=variables.number("PMI_SIZE"),
        local_rank=variables.number("MPI_LOCALRANKID"),
        head=variables.text("MASTER_ADDR"),
    )


def _leader_worker_set(variables: _Variables) -> ClusterView | None:
    head = variables.text("LWS_LEADER_ADDRESS")
    if head is None:
        return None
    size = variables.number("LWS_GROUP_SIZE")
    # The set's own names: pod "m3-0" leads, "m3-0-1" is its first worker, in the same domain.
    leader, dot, domain = head.value.partition(".")
    workers = range(1, int(size.value)) if size is not None else ()
    return ClusterView(
        launcher="LeaderWorkerSet",
        rank=variables.number("LWS_WORKER_INDEX"),
        size=size,
        head=head,
        nodes=(head.value, *(f"{leader}-{index}{dot}{domain}" for index in workers)),
        nodes_by=head.by,
    )


def _slurm(variables: _Variables) -> ClusterView | None:
    """A step's nodes, else the job's. A batch script is on a node, and is no node's process."""
    if not any(name in variables for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST")):
        return None
    batch = variables.environ.get("ENVIRONMENT") == "BATCH" and "SLURM_STEP_ID" not in variables
    step = "SLURM_STEP_ID" in variables and "SLURM_STEP_NODELIST" in variables
    sizes = ("SLURM_STEP_NUM_NODES",) if step else ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    lists = ("SLURM_STEP_NODELIST",) if step else ("SLURM_JOB_NODELIST", "SLURM_NODELIST")
    named = next((said for name in lists if (said := variables.text(name))), None)
    nodes = variables.expanded(named) if named is not None else ()
    size = next((said for name in sizes if (said := variables.number(name))), None)
    if size is None and named is not None and nodes:
        size = Said(value=str(len(nodes)), by=named.by)
    return ClusterView(
        launcher="Slurm",
        rank=None if batch else variables.number("SLURM_NODEID"),
        size=size,
        local_rank=None if batch else variables.number("SLURM_LOCALID"),
        head=Said(value=nodes[0], by=named.by) if nodes and named is not None else None,
        nodes=nodes,
        nodes_by=named.by if named is not None else "",
    )


def _pmi(variables: _Variables) -> ClusterView | None:
    """Any other starter that speaks PMI or PMIx."""
    rank = variables.number("PMI_RANK") or variables.number("PMIX_RANK")
    if rank is None:
        return None
    return ClusterView(
        launcher="PMIx" if rank.by == "PMIX_RANK" else "PMI",
        rank=rank,
        size=variables.number("PMI_SIZE"),
        local_rank=variables.number("PMI_LOCAL_RANK"),
        head=variables.text("MASTER_ADDR"),
    )


_READERS: tuple[Callable[[_Variables], ClusterView | None], ...] = (
    _torchrun,
    _open_mpi,
    _hydra,
    _leader_worker_set,
    _slurm,
    _pmi,
)
