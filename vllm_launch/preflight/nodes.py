"""Machines that are to serve together: what has to be alike on them, as a table's rows."""

from __future__ import annotations

from ..model.host import HostFacts, LocalImage
from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

GIB = 1 << 30
_SLACK = 0.02  # memory that two drivers count differently
NOT_READ = "not read"
ABSENT = "not there"


class Node(Record):
    """One machine by its saved facts."""

    name: str  # the file, or the host's name where that was saved
    facts: HostFacts


class Compared(Record):
    """One thing on all machines: a row of the table."""

    what: str
    values: tuple[str, ...]  # one a machine
    alike: bool = True  # whether it has to be the same

    @property
    def usual(self) -> str:
        """The value that most machines have, the first one's where there are several."""
        known = [value for value in self.values if value != NOT_READ]
        return max(known, key=known.count) if known else NOT_READ

    @property
    def odd(self) -> tuple[int, ...]:
        """The machines whose value is another one."""
        if not self.alike:
            return ()
        return tuple(
            at for at, value in enumerate(self.values) if value not in (self.usual, NOT_READ)
        )


class Subject(Record):
    """Something that has to be alike."""

    code: str  # of the finding where it is not
    severity: str
    what: str
    why: str
    read: Callable[[HostFacts], str]  # NOT_READ: the facts do not say


def _driver(facts: HostFacts) -> str:
    return facts.nvidia_driver or facts.amd_driver or NOT_READ


def _cuda(facts: HostFacts) -> str:
    return facts.cuda_driver or ""


def _rocm(facts: HostFacts) -> str:
    return facts.rocm or ""


def _kernel(facts: HostFacts) -> str:
    return facts.kernel or NOT_READ


def _gpus(facts: HostFacts) -> str:
    kinds: dict[str, int] = {}
    for gpu in facts.gpus:
        kinds[gpu.name] = kinds.get(gpu.name, 0) + 1
    return ", ".join(f"{count} × {name}" for name, count in kinds.items()) or "none"


def _memory(facts: HostFacts) -> str:
    """Of one GPU, to the nearest step: drivers of one kind differ by some MiB."""
    sizes = [gpu.memory_bytes for gpu in facts.gpus if gpu.memory_bytes is not None]
    if not sizes:
        return NOT_READ
    least, most = min(sizes), max(sizes)
    shown = f"{round(least / GIB)} GiB"
    return shown if most - least <= _SLACK * most else f"{shown} to {round(most / GIB)} GiB"


def _vllm(facts: HostFacts) -> str:
    return NOT_READ if facts.vllm is None else facts.vllm or "none on PATH"


def _interfaces(facts: HostFacts) -> str:
    if facts.interfaces is None:
        return NOT_READ
    return ", ".join(one.name for one in facts.interfaces if one.up is not False) or "none"


def _speed(facts: HostFacts) -> str:
    speeds = [one.speed_mbps for one in facts.interfaces or () if one.speed_mbps]
    return f"{max(speeds) / 1000:g} Gb/s" if speeds else NOT_READ


def _rdma(facts: HostFacts) -> str:
    devices = facts.rdma_devices
    if devices is None:
        return NOT_READ
    active = [one for one in devices if one.state in (None, "ACTIVE")]
    rates = ", ".join(dict.fromkeys(one.rate for one in active if one.rate))
    if not active:
        return "none" if not devices else f"none of {len(devices)} active"
    return f"{len(active)}" + (f" × {rates}" if rates else "")


def uuids(facts: HostFacts) -> tuple[str, ...]:
    """The UUIDs of the GPUs."""
    return tuple(gpu.uuid for gpu in facts.gpus if gpu.uuid)


def addresses(facts: HostFacts) -> tuple[str, ...]:
    """The addresses of the interfaces that are up."""
    up = (one for one in facts.interfaces or () if one.up is not False)
    return tuple(address.partition("/")[0] for one in up for address in one.addresses)


def networks(facts: HostFacts) -> Iterator[str]:
    """The networks of these addresses."""
    from ipaddress import ip_network

    for one in facts.interfaces or ():
        for address in one.addresses if one.up is not False else ():
            try:
                yield str(ip_network(address, strict=False))
            except ValueError:  # a facts file may say anything
                continue


ALIKE = (
    Subject(code="NODE_GPUS", severity="fail", what="GPUs", read=_gpus,
            why="Every node has the same share of the model."),
    Subject(code="NODE_GPUS", severity="fail", what="GPU memory", read=_memory,
            why="Each node has as much KV cache as the smallest has room for."),
    Subject(code="NODE_DRIVER", severity="warn", what="driver", read=_driver,
            why="NCCL and RCCL are tried between equal drivers."),
    Subject(code="NODE_DRIVER", severity="warn", what="CUDA", read=_cuda,
            why="One node may be able to run the wheel, and another not."),
    Subject(code="NODE_DRIVER", severity="warn", what="ROCm", read=_rocm,
            why="One node may be able to run the wheel, and another not."),
    Subject(code="NODE_VLLM", severity="fail", what="vLLM", read=_vllm,
            why="Ranks of different releases do not understand each other."),
    Subject(code="NODE_KERNEL", severity="note", what="kernel", read=_kernel,
            why="It is seldom what matters."),
    Subject(code="NODE_NETWORK", severity="note", what="interfaces", read=_interfaces,
            why="An interface that is named for all nodes has to be on each."),
    Subject(code="NODE_NETWORK", severity="warn", what="speed", read=_speed,
            why="The slowest one holds up all."),
    Subject(code="NODE_RDMA", severity="warn", what="RDMA", read=_rdma,
            why="NCCL pairs the devices of nodes with each other."),
)  # fmt: skip


def alike(engine: str) -> tuple[Subject, ...]:
    """What has to be alike; in containers the image stands for the vLLM on PATH."""
    return tuple(one for one in ALIKE if not engine or one.code != "NODE_VLLM")


class Planned(Record):
    """What the plan runs on every machine."""

    engine: str = ""  # "docker" or "podman"; "": vLLM as it is installed
    image: str = ""


def image_row(nodes: Sequence[Node], planned: Planned) -> Compared:
    """The image on each machine: its digest, or where one was not pulled, the ids of all."""
    found = [planned_image(node.facts, planned) for node in nodes]
    there = [one for one in found if isinstance(one, LocalImage)]
    digests = all(one.digest for one in there)
    values = (_short((one.digest if digests else one.id) or "")
              if isinstance(one, LocalImage) else one for one in found)  # fmt: skip
    return Compared(what="image", values=tuple(values), alike=bool(planned.engine))


def planned_image(facts: HostFacts, planned: Planned) -> LocalImage | str:
    """The planned image on a machine, ABSENT or NOT_READ; only names with vllm are saved."""
    if facts.images is None or "vllm" not in planned.image:
        return NOT_READ
    wanted = _named(planned.image)
    for one in facts.images:
        repository = _named(one.reference).partition("@")[0].rpartition(":")[0]
        pinned = wanted == f"{repository}@{one.digest}"
        if planned.engine in ("", one.engine) and (pinned or _named(one.reference) == wanted):
            return one
    return ABSENT


def _named(reference: str) -> str:
    """A reference in full, but for the registry that all engines take where none is named."""
    name = reference.removeprefix("docker.io/")
    tagged = "@" in name or ":" in name.rpartition("/")[2]
    return name if tagged else f"{name}:latest"


def _short(digest: str) -> str:
    """As many characters as engines show."""
    return digest[: len("sha256:") + 12] or NOT_READ


def compared(nodes: Sequence[Node], planned: Planned) -> tuple[Compared, ...]:
    """Every row that says something of a machine."""
    rows = [
        Compared(what=one.what, values=tuple(one.read(node.facts) for node in nodes))
        for one in alike(planned.engine)
    ]
    own = tuple(", ".join(addresses(node.facts)) or NOT_READ for node in nodes)
    rows += [image_row(nodes, planned), Compared(what="addresses", values=own, alike=False)]
    return tuple(row for row in rows if any(value not in ("", NOT_READ) for value in row.values))
