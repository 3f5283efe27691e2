"""A host's facts and the profile that they match, as a table of 80 columns and as data.

Plain ASCII: the same in a terminal, in a pipe and in a log.
"""

from __future__ import annotations

from ..resolve.gpus import indices
from .gpu_table import GIB, gpu_tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ..model.host import Gpu, HostFacts, MigDevice
    from ..resolve.masks import Visible
    from ..resolve.match import Match

_WIDTH = 80
_LABEL = 10
# What is said of a vendor that a host simply has not.
_ABSENT = ("not found", "not installed", "not loaded", "installed, but not its library", "no GPU")


def detection(facts: HostFacts, match: Match, visible: Visible | None = None) -> str:
    """The GPUs, then the profile and why, then the rest of the host and what is unknown of it."""
    lines = [*gpu_tables(facts.gpus)] or ["no GPU", ""]
    for label, text in (
        *_profile(match),
        *_masks(visible),
        *_host(facts),
        *_trouble(facts.gpus),
        *_unknown(facts.gpus),
        *_looked_for(facts),
    ):
        lines += _wrapped(label, text)
    return "\n".join(lines) + "\n"


def _profile(match: Match) -> Iterator[tuple[str, str]]:
    made = match.profile
    yield "profile", match.profile_id or (made.id if made else "none")
    yield "", match.reason
    if made and match.gpus:
        of = indices(match.gpus)
        size = "memory unread" if match.vram_gb is None else f"{match.vram_gb:.1f} GB measured"
        yield "", f"{of}; {size}"
    for note in match.notes:
        yield "note", note
    if match.named_by:
        yield "note", f"--hardware {match.named_by} names a profile instead"


def _masks(visible: Visible | None) -> Iterator[tuple[str, str]]:
    if visible is None:
        return
    if visible.masked:
        yield "visible", indices(visible.gpus) if visible.gpus else "no GPU"
    for problem in visible.problems:
        yield "problem", problem
    for note in visible.notes:
        yield "note", note


def _host(facts: HostFacts) -> Iterator[tuple[str, str]]:
    cuda = f", CUDA {facts.cuda_driver}" if facts.cuda_driver else ""
    if facts.nvidia_driver:
        yield "driver", f"NVIDIA {facts.nvidia_driver}{cuda}"
    if facts.amd_driver or facts.rocm:
        rocm = f"ROCm {facts.rocm}" if facts.rocm else ""
        driver = f"amdgpu {facts.amd_driver}" if facts.amd_driver else ""
        yield "driver", ", ".join(filter(None, (driver, rocm)))
    for state, gpus in _by(facts.gpus, _fabric).items():
        yield "fabric", f"{state} ({indices(gpus)})"
    yield from _access(facts)
    if facts.cpu_model:
        sockets = f"{facts.cpu_sockets} x " if facts.cpu_sockets else ""
        yield "CPU", f"{sockets}{facts.cpu_model}"
    if facts.numa_nodes or facts.cpu_flags:
        nodes = sum(node.cpus > 0 for node in facts.numa_nodes)
        count = f"{nodes} NUMA node{'s' * (nodes != 1)}" if facts.numa_nodes else ""
        yield "", ", ".join(filter(None, (count, " ".join(facts.cpu_flags))))
    if facts.memory_bytes:
        available = facts.memory_available_bytes
        free = "" if available is None else f", {available / GIB:.1f} GiB available"
        yield "memory", f"{facts.memory_bytes / GIB:.1f} GiB{free}"


def _fabric(gpu: Gpu) -> str:
    clique = "" if gpu.fabric_clique is None else f", clique {gpu.fabric_clique}"
    domain = f" of domain {gpu.fabric_cluster}" if gpu.fabric_cluster else ""
    return f"{gpu.fabric_state}{clique if domain else ''}{domain}" if gpu.fabric_state else ""


def _access(facts: HostFacts) -> Iterator[tuple[str, str]]:
    refused = [(file, why) for file, why in facts.device_access if why != "read and write"]
    for file, why in refused:
        yield "device", f"{file}: {why}"
    if facts.device_access and not refused:
        yield (
            "devices",
            f"{facts.device_access[0][0]} and {len(facts.device_access) - 1} render nodes",
        )


def _trouble(gpus: Sequence[Gpu]) -> Iterator[tuple[str, str]]:
    for gpu in gpus:
        if gpu.fault:
            yield "faulty", f"{gpu.vendor} GPU {gpu.index}: {gpu.fault}"
        if gpu.ecc_uncorrected:
            yield "errors", f"GPU {gpu.index}: {gpu.ecc_uncorrected} uncorrected memory errors"
        if gpu.ecc_pending:
            yield "errors", f"GPU {gpu.index}: bad memory is mapped out at the next reset"
    slow = [gpu for gpu in gpus if gpu.persistence_mode is False]
    if slow:
        yield "driver", f"persistence mode is off, so that it starts slowly ({indices(slow)})"


def _unknown(gpus: Sequence[Gpu]) -> Iterator[tuple[str, str]]:
    """Each reason once, with the fields and the GPUs that it is of."""
    for gpu in gpus:
        for reason in dict.fromkeys(_unread(one) for one in gpu.mig_devices or () if one.unknown):
            yield "unknown", f"MIG instances of GPU {gpu.index}: {reason}"
    for reason, some in _by([gpu for gpu in gpus if not gpu.fault], _unread).items():
        yield "unknown", f"{indices(some)}: {reason}"


def _unread(device: Gpu | MigDevice) -> str:
    fields: dict[str, list[str]] = {}
    for field, why in device.unknown:
        word = "memory" if field.startswith("memory_") else field.replace("_", " ")
        fields.setdefault(why, []).append(word)
    return "; ".join(f"{', '.join(dict.fromkeys(of))} ({why})" for why, of in fields.items())


def _by(gpus: Iterable[Gpu], says: Any) -> dict[str, list[Gpu]]:
    """GPUs by what is said of them, without those of which nothing is."""
    found: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        found.setdefault(says(gpu), []).append(gpu)
    found.pop("", None)
    return found


def _looked_for(facts: HostFacts) -> Iterator[tuple[str, str]]:
    """Without any GPU, all that was tried; else only what went wrong."""
    for what, outcome in facts.looked_for:
        told = " GPU " in what or outcome.startswith(_ABSENT) or "GPU" in outcome.split(",")[0]
        if not facts.gpus or not told or "left out" in outcome:
            yield "looked for", f"{what}: {outcome}"


def _wrapped(label: str, text: str) -> list[str]:
    """Under its label, which is not repeated."""
    lines, start = [], f"{label:{_LABEL}} "
    line = start
    for word in text.split():
        if len(line) + len(word) + 1 > _WIDTH and line.strip() != label:
            lines.append(line.rstrip())
            line = " " * len(start)
        line += word + " "
    return [*lines, line.rstrip()]


def detection_record(facts: HostFacts, match: Match) -> dict[str, Any]:
    """The facts in the form that --host-facts reads, with the match beside them."""
    from ..host.facts_file import to_dict

    made = match.profile
    effective = made and {
        "id": made.id,
        "brand": made.brand,
        "generation": made.generation,
        "gpu_count": made.gpu_count,
        "vram_gb": made.vram_gb,
    }
    return {
        "facts": to_dict(facts),
        "profile": match.profile_id,
        "effective_profile": effective,
        "reason": match.reason,
        "gpus": [gpu.index for gpu in match.gpus],
        "vram_gb": match.vram_gb,
        "notes": list(match.notes),
    }
