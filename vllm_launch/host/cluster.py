"""What Slurm, LeaderWorkerSet, torchrun or MPI have put into the environment. Nothing is asked.

Each reader takes an environment, and gives None where its launcher did not start this process.
"""

from __future__ import annotations

from ..errors import UsageError
from ..model.cluster import ClusterView, Said
from .hostlist import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    Environment: TypeAlias = Mapping[str, str]


def read_cluster(environ: Environment) -> ClusterView | None:
    """The nearest launcher's view: one that Slurm started may have started this process itself.

    Raises UsageError for a variable that is not what its launcher would set.
    """
    for read in _READERS:
        view = read(environ)
        if view is not None:
            return view
    return None


def _torchrun(environ: Environment) -> ClusterView | None:
    if "GROUP_RANK" not in environ or "MASTER_ADDR" not in environ:
        return None
    return ClusterView(
        launcher="torchrun",
        rank=_number(environ, "GROUP_RANK"),
        size=_number(environ, "GROUP_WORLD_SIZE"),
        local_rank=_number(environ, "LOCAL_RANK"),
        head=_text(environ, "MASTER_ADDR"),
    )


def _open_mpi(environ: Environment) -> ClusterView | None:
    if "OMPI_COMM_WORLD_RANK" not in environ:
        return None
    return ClusterView(
        launcher="Open MPI",
        rank=_number(environ, "OMPI_COMM_WORLD_RANK"),
        size=_number(environ, "OMPI_COMM_WORLD_SIZE"),
        local_rank=_number(environ, "OMPI_COMM_WORLD_LOCAL_RANK"),
        head=_text(environ, "MASTER_ADDR"),
    )


def _hydra(environ: Environment) -> ClusterView | None:
    """MPICH's and Intel MPI's own starter. Slurm sets PMI_RANK too, and no MPI_LOCALRANKID."""
    if "PMI_RANK" not in environ or "MPI_LOCALRANKID" not in environ:
        return None
    return ClusterView(
        launcher="Intel MPI" if "I_MPI_ROOT" in environ else "MPICH",
        rank=_number(environ, "PMI_RANK"),
        size=_number(environ, "PMI_SIZE"),
        local_rank=_number(environ, "MPI_LOCALRANKID"),
        head=_text(environ, "MASTER_ADDR"),
    )


def _leader_worker_set(environ: Environment) -> ClusterView | None:
    head = _text(environ, "LWS_LEADER_ADDRESS")
    if head is None:
        return None
    size = _number(environ, "LWS_GROUP_SIZE")
    # The set's own names: pod "m3-0" leads, "m3-0-1" is its first worker, in the same domain.
    leader, dot, domain = head.value.partition(".")
    workers = range(1, int(size.value)) if size is not None else ()
    return ClusterView(
        launcher="LeaderWorkerSet",
        rank=_number(environ, "LWS_WORKER_INDEX"),
        size=size,
        head=head,
        nodes=(head.value, *(f"{leader}-{index}{dot}{domain}" for index in workers)),
        nodes_by=head.by,
    )


def _slurm(environ: Environment) -> ClusterView | None:
    """A step's nodes, else the job's. A batch script is on a node, and is no node's process."""
    if not any(name in environ for name in ("SLURM_JOB_ID", "SLURM_JOB_NODELIST")):
        return None
    batch = environ.get("ENVIRONMENT") == "BATCH" and "SLURM_STEP_ID" not in environ
    step = "SLURM_STEP_ID" in environ and "SLURM_STEP_NODELIST" in environ
    sizes = ("SLURM_STEP_NUM_NODES",) if step else ("SLURM_JOB_NUM_NODES", "SLURM_NNODES")
    lists = ("SLURM_STEP_NODELIST",) if step else ("SLURM_JOB_NODELIST", "SLURM_NODELIST")
    named = next((said for name in lists if (said := _text(environ, name))), None)
    nodes = _expanded(named) if named is not None else ()
    size = next((said for name in sizes if (said := _number(environ, name))), None)
    if size is None and named is not None:
        size = Said(value=str(len(nodes)), by=named.by)
    return ClusterView(
        launcher="Slurm",
        rank=None if batch else _number(environ, "SLURM_NODEID"),
        size=size,
        local_rank=None if batch else _number(environ, "SLURM_LOCALID"),
        head=Said(value=nodes[0], by=named.by) if nodes and named is not None else None,
        nodes=nodes,
        nodes_by=named.by if named is not None else "",
    )


def _pmi(environ: Environment) -> ClusterView | None:
    """Any other starter that speaks PMI or PMIx."""
    rank = _number(environ, "PMI_RANK") or _number(environ, "PMIX_RANK")
    if rank is None:
        return None
    return ClusterView(
        launcher="PMIx" if rank.by == "PMIX_RANK" else "PMI",
        rank=rank,
        size=_number(environ, "PMI_SIZE"),
        local_rank=_number(environ, "PMI_LOCAL_RANK"),
        head=_text(environ, "MASTER_ADDR"),
    )


_READERS: tuple[Callable[[Environment], ClusterView | None], ...] = (
    _torchrun,
    _open_mpi,
    _hydra,
    _leader_worker_set,
    _slurm,
    _pmi,
)


def _text(environ: Environment, name: str) -> Said | None:
    value = environ.get(name)
    return Said(value=value, by=name) if value else None


def _number(environ: Environment, name: str) -> Said | None:
    said = _text(environ, name)
    if said is None:
        return None
    if not (said.value.isascii() and said.value.isdecimal() and len(said.value) < 9):
        raise UsageError(
            f"{name}: found {said.value!r}; expected a whole number",
            hint=f"unset {name}, or say which node this is with --node-rank",
        )
    return said.replace(value=str(int(said.value)))


def _expanded(said: Said) -> tuple[str, ...]:
    try:
        return expand(said.value)
    except ValueError as error:
        raise UsageError(
            f"{said.by}: {error}", hint=f"unset {said.by}, or give --endpoint HEAD_IP=…"
        ) from None
