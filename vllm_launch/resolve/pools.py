"""Prefill/decode disaggregation: two pools of servers and the router in front."""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from ..model.choice import Pool, Pools
from ..model.record import Record
from ..model.source import Source
from .hardware import most_specific
from .layers import NO_OVERRIDE, role_of, role_override
from .parallelism import flags, size_on
from .suitability import strategies_anywhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.deployment import ProcessPlan
    from ..model.recipe import Recipe
    from ..model.source import Arguments, Variables
    from ..model.strategy import Strategy
    from ..model.taxonomy import HardwareProfile

ROLES = ("prefill", "decode")
_MODES = ("tp", "tep", "dep")
_PORTS = {"prefill": "8001", "decode": "8002"}

# Meaningful only inside one NVLink domain of several trays: elsewhere they stop the start.
NVLINK_DOMAIN_VARIABLES = (
    "VLLM_USE_NCCL_SYMM_MEM",
    "NCCL_CUMEM_ENABLE",
    "NCCL_MNNVL_ENABLE",
    "NCCL_NVLS_ENABLE",
    "UCX_NET_DEVICES",
)
NVLINK_DOMAIN_HARDWARE = ("gb200", "gb300")


class PoolPlan(Record):
    """One pool, decided. ``gpus`` is how many of each node's GPUs it uses, from ``first`` on."""

    role: str
    mode: str  # "tp", "tep" or "dep"
    nodes: int
    ranks: tuple[int, ...]  # the nodes whose processes are planned
    gpus: int
    first: int
    masked: bool  # False: the only GPU is shared, so there is nothing to choose
    shared: bool  # with the other pool, on one node
    tp: int | None  # a data-parallel rank's TP size, where the recipe sets one
    source: Source

    @property
    def local_ranks(self) -> int:
        """Data-parallel ranks on one node."""
        return self.gpus // (self.tp or 1)

    @property
    def head(self) -> str:
        """The placeholder of the pool's first node."""
        return node_address(self.role, 1)


def node_address(role: str, number: int) -> str:
    """The placeholder of a pool's node; the first is 1."""
    return f"${role.upper()}_NODE_{number}"


def pool_plan(
    recipe: Recipe, strategy: Strategy, hardware: HardwareProfile, role: str, pools: Pools | None
) -> PoolPlan:
    """Decide one pool.

    Pools that nobody sized share one node, unless the recipe gives them nodes of their own.
    Raises NothingFits where the node has too few GPUs for it, UsageError for a rank that it has
    not.
    """
    overrides = recipe.strategy_overrides.get(strategy.name, NO_OVERRIDE)
    sizes = (role_override(overrides, each).nodes for each in ROLES)
    own_nodes = any(size_on(size, hardware) for size in sizes)
    asked = pools or Pools(shared=not own_nodes)
    pool: Pool = getattr(asked, role)
    override = role_override(overrides, role)
    nodes = pool.nodes or size_on(override.nodes, hardware) or 1
    share = hardware.gpu_count
    if asked.shared:
        nodes, share = 1, max(1, share // 2)
    gpus = min(share, size_on(override.gpus, hardware) or share)
    mode = _mode(recipe, strategy, hardware, role, pool.parallelism)
    tp = size_on(override.tp, hardware) if mode == "dep" else None
    if gpus < (tp or 1) or gpus % (tp or 1):
        half = "half of " if asked.shared else ""
        raise NothingFits(
            f"the {role} pool has {gpus} GPUs a node ({half}{hardware.id}), which TP "
            f"{tp or 1} does not divide",
            hint="give each pool a node of its own, or plan for hardware with more GPUs",
        )
    return PoolPlan(
        role=role,
        mode=mode,
        nodes=nodes,
        ranks=_ranks(role, pool.rank, nodes),
        gpus=gpus,
        first=share if asked.shared and role == "decode" else 0,
        shared=asked.shared,
        masked=not asked.shared or hardware.gpu_count > 1,
        tp=tp,
        source=Source(
            layer=f"strategies.{strategy.name}.{role}",
            file=strategy.where.file,
            line=role_of(strategy, role).where.line,
            detail=f"{mode} pool, {nodes} × {gpus} GPUs",
        ),
    )


def _ranks(role: str, asked: int | None, nodes: int) -> tuple[int, ...]:
    """The ranks to plan: the one asked for, else all. Raises UsageError."""
    if asked is None:
        return tuple(range(nodes))
    if asked >= nodes:
        raise UsageError(
            f"the {role} pool has no rank {asked}: it has {nodes} node{'s' * (nodes > 1)}",
            hint="ranks count from 0",
        )
    return (asked,)


def _mode(
    recipe: Recipe, strategy: Strategy, hardware: HardwareProfile, role: str, asked: str | None
) -> str:
    """The pool's mode, narrowed to those that the recipe allows."""
    override = recipe.strategy_overrides.get(strategy.name, NO_OVERRIDE)
    of_role = role_override(override, role).parallelism
    of_recipe = most_specific(of_role.by_key, hardware) if of_role is not None else None
    of_strategy = role_of(strategy, role).parallelism
    mode = asked or of_recipe or of_strategy or "tp"
    allowed = allowed_modes(recipe)
    return mode if mode in allowed else allowed[0]


def allowed_modes(recipe: Recipe) -> tuple[str, ...]:
    """The pool modes that the recipe's strategies allow, narrowed by its ``pool_modes``.

    Neither can leave none: what says nothing of modes allows them all.
    """
    suffixes = {_layout_of(name) for name in strategies_anywhere(recipe)}
    modes = tuple(mode for mode in _MODES if mode in suffixes) or _MODES
    override = recipe.strategy_overrides.get("pd_cluster", NO_OVERRIDE)
    return tuple(mode for mode in modes if mode in (override.pool_modes or modes)) or modes


def _layout_of(strategy: str) -> str:
    """What a strategy does inside a node, by its name: "tp" of multi_node_tp_pp."""
    return strategy.removesuffix("_pp").removesuffix("_dp").rpartition("_")[2]


def pool_arguments(pool: PoolPlan, rank: int) -> Arguments:
    """The parallelism flags of one node of a pool."""
    if pool.mode == "dep":
        return _data_parallel(pool, rank)
    tokens: list[object] = ["--tensor-parallel-size", pool.gpus * pool.nodes]
    if pool.mode == "tep":
        tokens.append("--enable-expert-parallel")
    if pool.nodes > 1:
        tokens += ["--nnodes", pool.nodes, "--node-rank", rank, "--master-addr", pool.head]
        if rank:
            tokens.append("--headless")
    return flags(pool.source, *tokens)


def _data_parallel(pool: PoolPlan, rank: int) -> Arguments:
    local = pool.local_ranks
    tokens: list[object] = ["--tensor-parallel-size", pool.tp] if pool.tp else []
    tokens += ["--data-parallel-size", pool.nodes * local]
    tokens += ["--data-parallel-size-local", local]
    tokens += ["--data-parallel-start-rank", rank * local]
    tokens += ["--data-parallel-address", pool.head]
    tokens += ["--data-parallel-rpc-port", f"${pool.role.upper()}_DP_RPC_PORT"]
    if pool.nodes > 1:
        tokens.append("--data-parallel-hybrid-lb")
    tokens.append("--enable-expert-parallel")
    return flags(pool.source, *tokens)


def placement(pool: PoolPlan, devices: tuple[str, ...] | None) -> Variables:
    """Which GPUs the pool uses on a node, and the interface between nodes.

    ``devices`` are those that the operator chose, by index or UUID.
    """
    indices = range(pool.first, pool.first + pool.gpus) if pool.masked else ()
    chosen = ",".join(devices[i] if devices else str(i) for i in indices)
    visible = (("CUDA_VISIBLE_DEVICES", chosen, pool.source),) if pool.masked else ()
    if pool.nodes == 1:
        return visible
    interfaces = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
    return (*visible, *((name, "$IFACE_NAME", pool.source) for name in interfaces))


def on_own_node(variables: Variables, pool: PoolPlan, rank: int) -> Variables:
    """A data-parallel follower names itself where the recipe names the pool's first node."""
    if pool.mode != "dep" or rank == 0:
        return variables
    own = node_address(pool.role, rank + 1)
    return tuple((n, own if v == pool.head else v, s) for n, v, s in variables)


def router_command(
    policy: str, pinned: int | None, pools: Sequence[PoolPlan], processes: Sequence[ProcessPlan]
) -> str:
    """The router's shell command, before the pools' processes."""
    lines = [f"vllm-router --policy {policy}", "--vllm-pd-disaggregation"]
    for pool in pools:
        entries = pool.nodes if pool.mode == "dep" else 1
        of_pool = [process for process in processes if process.role == pool.role]
        ports = (port for process in of_pool if (port := process.value("--port")))
        port = next(ports, _PORTS[pool.role])
        scheme = "https" if any(process.encrypted for process in of_pool) else "http"
        lines += [
            f"--{pool.role} {scheme}://{node_address(pool.role, i)}:{port}"
            for i in range(1, entries + 1)
        ]
    size = pinned or max((p.local_ranks for p in pools if p.mode == "dep"), default=1)
    lines += ["--host $ROUTER_HOST", "--port $ROUTER_PORT"]
    lines.append(f"--intra-node-data-parallel-size {size}")
    return " \\\n    ".join(lines)
