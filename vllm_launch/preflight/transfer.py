"""What KV transfer between nodes needs: side channel, RDMA, IMEX, both sides alike."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .layout import layout, neighbours, uses
from .network import resolved
from .plan import source_of
from .shm_limits import RDMA_CONNECTORS
from .units import counted
from .unread import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.deployment import ProcessPlan
    from .situation import Situation

_HOST = "VLLM_NIXL_SIDE_CHANNEL_HOST"
_LOCAL = ("localhost", "127.0.0.1", "::1")


def side_channel(situation: Situation) -> Iterable[Finding] | None:
    """NIXL's side channel: an address of this machine that others reach."""
    if uses(situation.process, "Nixl") is None or neighbours(situation):
        return None
    if layout(situation.process).rank:
        return None  # the engine's first node speaks for all of them
    host = situation.environment.get(_HOST, "")
    source = source_of(situation.process, _HOST)
    if "$" in host:
        return []  # an unfilled placeholder is said elsewhere
    if host in ("", *_LOCAL):
        return [
            Finding(
                severity="warn",
                what=f"{_HOST} is {host or 'not set'}, and the pools are on different nodes",
                why="The other pool is told to connect to localhost, its own.",
                remedy=f"Pass this node's address as the other reaches it: -e {_HOST}=ADDRESS.",
                cause=_HOST,
                source=source,
            )
        ]
    name = resolved(situation, host)
    if name is None or not situation.on_host_network:
        return []
    if name.error:
        what = f"{_HOST} names {host}, which has no address: {name.error}"
    elif name.loopback:
        what = f"{_HOST} names {host}, which resolves to loopback ({name.addresses[0]})"
    elif name.here is False:
        what = f"{_HOST} names {host}, which is no address of this machine"
    else:
        return []
    return [
        Finding(
            severity="fail",
            what=what,
            why="NIXL binds this address, and sends it to the other pool.",
            remedy=f"Pass this node's own address: -e {_HOST}=ADDRESS.",
            cause=_HOST,
            source=source,
        )
    ]


def sides_alike(situation: Situation) -> Iterable[Finding] | None:
    """Prefill and decode: tensor parallel sizes and cache layouts that go together."""
    pools = _pools(situation)
    if pools is None or uses(situation.process, "Nixl") is None:
        return None
    prefill, decode = pools
    return [*_sizes(prefill, decode), *_layouts(prefill, decode)]


def _pools(situation: Situation) -> tuple[ProcessPlan, ProcessPlan] | None:
    by_role = {plan.role: plan for plan in reversed(situation.deployment.processes)}
    if "prefill" not in by_role or "decode" not in by_role:
        return None
    return by_role["prefill"], by_role["decode"]


def _sizes(prefill: ProcessPlan, decode: ProcessPlan) -> Iterable[Finding]:
    ours, theirs = layout(prefill).world, layout(decode).world
    if ours <= theirs:
        return
    yield Finding(
        severity="warn",
        what=f"prefill splits tensors over {counted(ours, 'GPU')}, decode over {theirs}",
        why="NIXL hands KV cache to as many ranks or more; to fewer, for some models only.",
        remedy="Give decode as large a tensor parallel size as prefill.",
        cause="--tensor-parallel-size",
    )


def _layouts(prefill: ProcessPlan, decode: ProcessPlan) -> Iterable[Finding]:
    variable = "VLLM_KV_CACHE_LAYOUT"
    ours, theirs = prefill.env.get(variable), decode.env.get(variable)
    if ours == theirs:
        return
    yield Finding(
        severity="warn",
        what=f"{variable} is {ours or 'not set'} for prefill and {theirs or 'not set'} for decode",
        why="Blocks then lie differently on the two sides.",
        remedy=f"Set the same on both: -e {variable}={ours or theirs}.",
        cause=variable,
    )


def rdma_there(situation: Situation) -> Iterable[Finding] | None:
    """RDMA devices, and those that variables name."""
    connector = uses(situation.process, *RDMA_CONNECTORS)
    if connector is None or neighbours(situation):
        return None
    devices = situation.system.rdma_devices
    if devices is None:
        return unread(situation, "rdma_devices", "RDMA devices were not looked for")
    absent = _absent(situation, devices)
    if absent:
        return absent
    if devices:
        return []
    if situation.hardened and not situation.native:
        return [
            Finding(
                severity="fail",
                what="the container is given /dev/infiniband, and this host has no RDMA device",
                why="The engine refuses to start a container with a device that is not there.",
                remedy="Leave --hardened out, or use a host with RDMA.",
                cause=connector.flag,
                source=connector.source,
            )
        ]
    return [
        Finding(
            severity="warn",
            what=f"no RDMA device here, and {connector.name} moves KV cache between nodes",
            why="It falls back to TCP, many times slower, or fails where only RDMA is allowed.",
            remedy="Load the driver of the RDMA cards; in a container, pass /dev/infiniband.",
            command="ls /sys/class/infiniband /dev/infiniband",
            cause=connector.flag,
            source=connector.source,
        )
    ]


def _absent(situation: Situation, devices: tuple[str, ...]) -> list[Finding]:
    """Devices that UCX or NCCL are told to use and that are not here."""
    found = []
    for variable in ("UCX_NET_DEVICES", "NCCL_IB_HCA"):
        text = situation.environment.get(variable, "")
        if not text or text == "all" or "$" in text or text.startswith("^"):
            continue
        words = [word.partition(":")[0] for word in text.removeprefix("=").split(",")]
        there = (*devices, *(one.name for one in situation.system.interfaces or ()))
        lacking = [word for word in words if word and not _is_there(variable, word, there)]
        if lacking and situation.system.interfaces is not None:
            found.append(
                Finding(
                    severity="fail",
                    what=f"{variable} names {', '.join(lacking)}, "
                    f"this machine has {', '.join(devices) or 'no RDMA device'}",
                    why="The transport finds no device and does not start.",
                    remedy=f"Name devices that are there: -e {variable}=…",
                    cause=variable,
                    source=source_of(situation.process, variable),
                )
            )
    return found


def _is_there(variable: str, word: str, there: tuple[str, ...]) -> bool:
    """NCCL takes prefixes."""
    return word in there or (variable.startswith("NCCL") and any(n.startswith(word) for n in there))


def imex_channels(situation: Situation) -> Iterable[Finding] | None:
    """IMEX channels, where NCCL is told to use one NVLink domain of several trays."""
    if situation.environment.get("NCCL_MNNVL_ENABLE") != "1" or situation.brand != "NVIDIA":
        return None
    channels = situation.system.imex_channels
    if channels is None:
        return unread(situation, "imex_channels", "IMEX channels were not looked for")
    if channels:
        return []
    return [
        Finding(
            severity="fail",
            what="no IMEX channel here, and NCCL_MNNVL_ENABLE=1 needs one",
            why="GPUs of different trays share memory over NVLink through these channels alone.",
            remedy="Load the driver with NVreg_CreateImexChannel0=1 and start nvidia-imex; in a "
            "container of your own, pass /dev/nvidia-caps-imex-channels/channel0.",
            command="sudo systemctl start nvidia-imex && ls /dev/nvidia-caps-imex-channels",
            cause="NCCL_MNNVL_ENABLE",
            source=source_of(situation.process, "NCCL_MNNVL_ENABLE"),
        )
    ]


CHECKS = (
    Check(
        code="NIXL_HOST",
        subject="network",
        about="NIXL's side channel: an address of this machine",
        run=side_channel,
    ),
    Check(
        code="NIXL_SIDES",
        subject="network",
        about="prefill and decode have sizes and layouts that go together",
        run=sides_alike,
    ),
    Check(
        code="RDMA",
        subject="network",
        about="RDMA devices, where KV cache moves between nodes",
        run=rdma_there,
    ),
    Check(
        code="IMEX",
        subject="network",
        about="IMEX channels, with NCCL_MNNVL_ENABLE=1",
        run=imex_channels,
    ),
)
