"""What a machine's saved facts say of what checks would else look at the machine for."""

from __future__ import annotations

from ..model.host import HostFacts
from ..model.system import Image, SystemFacts, Vllm
from .nodes import ABSENT, Planned, planned_image
from .unread import NOT_SAVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_USABLE = "read and write"
_NOT_THERE = "No such file or directory"  # as the system words it
# What a look at the vLLM on PATH tells beside its version.
_OF_VLLM = ("vllm.cuda", "vllm.python")


def system_of(facts: HostFacts, planned: Planned) -> SystemFacts:
    """The same facts as a look at the machine gives; what they lack is told to be so.

    Interfaces are not among them: those without addresses, and bridges, are not saved.
    """
    known: dict[str, Any] = {
        "memory_bytes": facts.memory_bytes,
        "memory_available_bytes": facts.memory_available_bytes,
        "numa_nodes": tuple(n.node for n in facts.numa_nodes if n.memory_bytes != 0) or None,
        "amd_devices": tuple((f, _why_not(how)) for f, how in facts.device_access) or None,
        "rdma_devices": _names(facts),
        "image": _image(facts, planned),
        "vllm": _vllm(facts.vllm),
    }
    lacking = (f for f in SystemFacts.__annotations__ if known.get(f) is None)
    return SystemFacts(**known, unknown=tuple((f, NOT_SAVED) for f in (*lacking, *_OF_VLLM)))


def _why_not(how: str) -> str:
    if how == _USABLE:
        return ""
    return "not there" if how == _NOT_THERE else how.lower()


def _names(facts: HostFacts) -> tuple[str, ...] | None:
    devices = facts.rdma_devices
    return None if devices is None else tuple(one.name for one in devices)


def _image(facts: HostFacts, planned: Planned) -> Image | None:
    """An image that is not there; of one that is, the entrypoint is not saved."""
    absent = planned.engine and planned_image(facts, planned) is ABSENT
    return Image(reference=planned.image, local=False) if absent else None


def _vllm(version: str | None) -> Vllm | None:
    """The vLLM on PATH; one without a path where there is none."""
    if version is None:
        return None
    return Vllm(path="vllm", version=version) if version else Vllm()
