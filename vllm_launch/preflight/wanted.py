"""What has to be read off the machine for a plan's checks. Pure."""

from __future__ import annotations

from ..model.system import Wanted
from .beside import files, program
from .disk import reads_weights
from .hugepages import demands
from .layout import layout, neighbours, spans_nodes, uses
from .network import names
from .plan import is_on, value
from .ports import listeners, on_host
from .shm_limits import RDMA_CONNECTORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .situation import Situation


# What a container is told of these is in the plan alone.
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def _variables(situation: Situation) -> tuple[tuple[str, str], ...]:
    """The plan's variables, which say where files are; paths of a container are not this host's."""
    planned = situation.process.env
    if situation.native:
        return tuple(planned.items())
    return tuple((name, planned.get(name, "")) for name in _OFFLINE)


def wanted(situation: Situation, *, ask_hub: bool = False) -> Wanted:
    """What to read, so that nothing is looked at that the plan does not need.

    ``ask_hub`` allows one request over the network, to tell a gated model from one that is not.
    """
    if situation.beside is not None:
        return _beside(situation)
    process, native = situation.process, situation.native
    moves = uses(process, *RDMA_CONNECTORS) is not None and not neighbours(situation)
    across = spans_nodes(situation)
    return Wanted(
        ports=tuple(dict.fromkeys((port.address, port.port) for port in on_host(situation))),
        listeners=listeners(situation),
        names=names(situation) if across else (),
        interfaces=across and situation.on_host_network,
        model=process.model if reads_weights(situation) else "",
        download_dir=value(process, "--download-dir") or "",
        ask_hub=ask_hub,
        variables=_variables(situation),
        program="vllm" if native else "",
        files=files(situation),
        engine="" if native else situation.runtime,
        image="" if native else situation.deployment.image or "",
        huge_pages=bool(demands(situation)),
        limits=native,
        numa=is_on(process, "--numa-bind"),
        rdma=moves,
        imex=situation.brand == "NVIDIA" and process.env.get("NCCL_MNNVL_ENABLE") == "1",
        amd=situation.brand == "AMD",
        fabric=situation.brand == "NVIDIA" and layout(process).ranks > 1,
    )


def _beside(situation: Situation) -> Wanted:
    """What a router, a store or a companion needs: little of what a server does."""
    name = program(situation)
    return Wanted(
        ports=tuple((port.address, port.port) for port in on_host(situation)),
        programs=(name,) if name else (),
        files=files(situation),
        memory=False,
    )
