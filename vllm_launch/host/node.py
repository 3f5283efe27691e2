"""What has to be alike on machines that serve together, beside their GPUs."""

from __future__ import annotations

import os

from ..model.host import HostFacts, LocalImage, NetworkInterface, RdmaDevice
from .reading import list_dir, read_file
from .system.engine import local_images
from .system.server import read as read_vllm

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NET, _RDMA = "sys/class/net", "sys/class/infiniband"
_DOWN = ("down", "lowerlayerdown", "notpresent")
_ENGINES = ("docker", "podman")


def with_node(
    facts: HostFacts, root: str = "/", environ: Mapping[str, str] | None = None
) -> HostFacts:
    """Facts with kernel, vLLM, interfaces and RDMA devices; what cannot be read stays None."""
    return facts.replace(
        kernel=read_file(root, "proc/sys/kernel/osrelease") or None,
        vllm=_vllm(root, os.environ if environ is None else environ),
        interfaces=interfaces(root, _addresses(root)),
        rdma_devices=rdma_devices(root),
    )


def with_images(
    facts: HostFacts, root: str = "/", environ: Mapping[str, str] | None = None
) -> HostFacts:
    """Facts with the images of vLLM that are here; None where an engine does not answer."""
    around = os.environ if environ is None else environ
    found: list[LocalImage] = []
    try:
        for engine in _ENGINES:
            found += local_images(engine, root, around)
    except OSError:
        return facts
    return facts.replace(images=tuple(found))


def _vllm(root: str, environ: Mapping[str, str]) -> str | None:
    """The version behind the vllm on PATH, by its files; "" where there is none."""
    found = read_vllm(root, environ)["vllm"]
    return None if found.error else str(found.version)


def _addresses(root: str) -> Mapping[str, Iterable[str]] | None:
    if root != "/":
        return None
    from .netlink import own_addresses

    try:
        return own_addresses()
    except OSError:
        return None


def interfaces(
    root: str, addresses: Mapping[str, Iterable[str]] | None
) -> tuple[NetworkInterface, ...] | None:
    """The interfaces that lead to other machines: no loopback, no bridge of containers."""
    if addresses is None:
        return None
    found = []
    for name in list_dir(root, _NET):
        own = tuple(one for one in addresses.get(name, ()) if not _stays_here(one))
        if own and not _is_inner(root, name):
            found.append(_interface(root, name, own))
    return tuple(found)


def _stays_here(address: str) -> bool:
    return address.startswith(("127.", "169.254.", "fe80:", "::1/"))


def _is_inner(root: str, name: str) -> bool:
    """Whether it joins containers on this machine: a bridge, a port of one, or a dummy."""
    parts = ("bridge", "brport")
    return name == "kube-ipvs0" or any(os.path.isdir(os.path.join(root, _NET, name, p))
                                       for p in parts)  # fmt: skip


def _interface(root: str, name: str, addresses: tuple[str, ...]) -> NetworkInterface:
    state = read_file(root, _NET, name, "operstate")
    speed = read_file(root, _NET, name, "speed")
    return NetworkInterface(
        name=name,
        up=None if state is None else state not in _DOWN,
        speed_mbps=int(speed) if speed is not None and speed.isdecimal() else None,
        addresses=addresses,
    )


def rdma_devices(root: str) -> tuple[RdmaDevice, ...] | None:
    """RDMA devices with the state of their first port."""
    if not os.path.isdir(os.path.join(root, "sys/class")):
        return None
    return tuple(_rdma_device(root, name) for name in list_dir(root, _RDMA))


def _rdma_device(root: str, name: str) -> RdmaDevice:
    ports = list_dir(root, f"{_RDMA}/{name}/ports")
    place = f"{_RDMA}/{name}/ports/{ports[0] if ports else '1'}"
    state = read_file(root, place, "state") or ""
    rate = read_file(root, place, "rate") or ""
    return RdmaDevice(
        name=name,
        state=state.partition(":")[2].strip() or None,  # "4: ACTIVE"
        rate=rate.partition("(")[0].strip() or None,  # "400 Gb/sec (4X NDR)"
    )
