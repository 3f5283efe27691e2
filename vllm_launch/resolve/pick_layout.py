"""Choosing the number of nodes and the strategy that lays a model out on them."""

from __future__ import annotations

from ..errors import NothingFits, UsageError, instead
from .choosing import is_multi_node
from .suitability import ceil, least_gpus, strategies_anywhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.recipe import Variant
    from ..model.strategy import Strategy
    from ..model.taxonomy import HardwareProfile
    from .choosing import Choosing

_MULTI_NODE_PREFERENCE = ("multi_node_tp", "multi_node_dep", "multi_node_tep")


def pick_nodes(choosing: Choosing, variant: Variant, hardware: HardwareProfile) -> int:
    """The nodes asked for, or as many as the weights need."""
    if choosing.nodes is not None:
        why = choosing.set_by(choosing.request.nodes)
        choosing.because("nodes", str(choosing.nodes), why)
        return choosing.nodes
    if choosing.request.profile is not None or not hardware.scalable:
        return 1
    named = choosing.strategy
    candidates = (named,) if named else _automatic(choosing, hardware)
    on_several = [is_multi_node(name) for name in candidates]
    needed = variant.vram_minimum_gb or 0
    if not any(on_several) or (needed <= hardware.vram_gb and not all(on_several)):
        return 1
    floor = least_gpus(choosing.recipe, _usual(choosing, candidates, 2) or "", hardware)
    least = max(2, ceil(floor / hardware.gpu_count))
    enough = max(least, ceil(needed / hardware.vram_gb))
    if choosing.request.hardware is None and enough > least:
        # Nobody's machine: the recorded choices show the smallest layout there.
        choosing.notes.append(
            f"the weights of variant {variant.id} need {enough} nodes of {hardware.id}; this "
            f"is the layout for {least}: name --hardware to plan for real nodes"
        )
        enough = least
    choosing.because("nodes", str(enough), _why_several(needed, floor, enough, hardware))
    return enough


def _why_several(needed: float, floor: int, nodes: int, hardware: HardwareProfile) -> str:
    """What asks for so many nodes: the weights, the recipe's floor, or the layout alone."""
    if needed > (nodes - 1) * hardware.vram_gb:
        return f"{needed:g} GB are needed, and a node has {hardware.vram_gb:g} GB"
    if floor > (nodes - 1) * hardware.gpu_count:
        return f"the recipe asks for {floor} GPUs, and a node has {hardware.gpu_count}"
    return "the strategy is for several"


def _automatic(choosing: Choosing, hardware: HardwareProfile) -> tuple[str, ...]:
    """The strategies to pick among unasked.

    A recipe whose usual strategy is for several nodes is for several nodes; one node must
    meet a strategy's floor; pools are for who asks for them, or for what has nothing else.
    """
    offered = choosing.chooser.offered(hardware)
    default = choosing.recipe.default_strategy or ""
    if default in offered and (is_multi_node(default) or default == "pd_cluster"):
        return (default,)
    gpus = hardware.gpu_count
    engines = [name for name in offered if name != "pd_cluster"]
    return tuple(
        name
        for name in engines or offered
        if is_multi_node(name) or least_gpus(choosing.recipe, name, hardware) <= gpus
    )


def check_pools(choosing: Choosing, strategy: Strategy) -> None:
    """Raise UsageError for pools that the operator sized, and a strategy that has none."""
    pools = choosing.request.pools
    if pools is not None and not pools.shared and strategy.deploy_type != "pd_cluster":
        raise UsageError(
            f"prefill and decode pools are for pd_cluster, not for {strategy.name}",
            hint="drop --prefill and --decode, or give --strategy pd_cluster",
        )


def settled_nodes(
    choosing: Choosing, strategy: Strategy, nodes: int, hardware: HardwareProfile
) -> int:
    """The nodes that the strategy goes with.

    Raises NothingFits for hardware that stands alone, UsageError for a strategy of other sizes.
    """
    if not hardware.scalable and (nodes > 1 or strategy.deploy_type == "multi_node"):
        raise NothingFits(
            f"{hardware.id} cannot be joined with others, so it is one node alone",
            hint="drop --nodes, and use a single_node strategy",
        )
    if strategy.deploy_type == "single_node" and nodes > 1:
        if choosing.request.nodes is not None:
            raise UsageError(
                f"the strategy {strategy.name} is for one node, not {nodes}",
                hint="drop --nodes, or use a multi_node strategy",
            )
        return 1
    if strategy.deploy_type == "multi_node" and nodes < 2:
        raise UsageError(
            f"the strategy {strategy.name} needs at least two nodes",
            hint="give --nodes 2 or more, or use a single_node strategy",
        )
    if strategy.deploy_type != "pd_cluster":
        return nodes
    if (choosing.request.nodes or 1) > 1:
        raise UsageError(
            f"--nodes {choosing.request.nodes} does not say how the pools of pd_cluster share them",
            hint="give --prefill NODES[:MODE] and --decode NODES[:MODE]",
        )
    return 1


def pick_strategy(choosing: Choosing, hardware: HardwareProfile, nodes: int) -> str:
    """The strategy asked for, or the usual one on so many nodes.

    Raises UsageError for one that is not offered, NothingFits where none is for so many.
    """
    offered = choosing.chooser.offered(hardware)
    asked = choosing.strategy
    if asked is not None:
        check_offered(choosing, hardware)
        choosing.because("strategy", asked, choosing.set_by(choosing.request.strategy))
        return asked
    noun = "node" if nodes == 1 else "nodes"
    name = usual_strategy(choosing, hardware, nodes)
    if name is None:
        raise NothingFits(
            f"{choosing.recipe.id} offers no strategy for {nodes} {noun} of {hardware.id}",
            hint=f"strategies: {', '.join(offered) or 'none'}",
        )
    why = "the recipe's default" if name in _defaults(choosing) else "the usual layout"
    choosing.because("strategy", name, f"{why} on {nodes} {noun}")
    return name


def usual_strategy(choosing: Choosing, hardware: HardwareProfile, nodes: int) -> str | None:
    """The strategy for so many nodes where nobody asks for one; None where none is for them."""
    return _usual(choosing, _automatic(choosing, hardware), nodes) or _usual(
        choosing, choosing.chooser.offered(hardware), nodes
    )


def _defaults(choosing: Choosing) -> tuple[str, str]:
    """The recipe's usual strategy, if it offers that anywhere, and what it is on several nodes."""
    default = choosing.recipe.default_strategy or ""
    if default not in strategies_anywhere(choosing.recipe):
        default = ""
    return default, default.replace("single_node", "multi_node")


def _usual(choosing: Choosing, names: Sequence[str], nodes: int) -> str | None:
    """The strategy to pick on so many nodes, unasked; None where none is for them."""
    default, sibling = _defaults(choosing)
    several = [name for name in names if is_multi_node(name)]
    if nodes > 1:
        preferred = [sibling, *_MULTI_NODE_PREFERENCE, *several]
    else:
        others = [name for name in names if name not in several]
        preferred = [default if default in others else "", "single_node_tp", *others]
    return next((name for name in preferred if name in names), None)


def check_offered(choosing: Choosing, hardware: HardwareProfile) -> None:
    """Raise UsageError for a strategy that is asked for, and not offered on the hardware."""
    asked, offered = choosing.strategy, choosing.chooser.offered(hardware)
    if asked is not None and asked not in offered:
        raise UsageError(
            f"{choosing.recipe.id} does not offer the strategy {asked!r} on {hardware.id}",
            hint=instead(asked, f"strategies on {hardware.id}", offered),
        )
