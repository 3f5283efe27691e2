"""The GPUs of the plan: there, whole, healthy, alike."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .devices import chosen, listed, mask_words, of_brand, visible
from .layout import layout
from .units import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.host import Gpu
    from .situation import Situation

GPU_BRANDS = ("NVIDIA", "AMD")


def host_known(situation: Situation) -> Iterable[Finding] | None:
    """Without facts of this host, nothing is said of its GPUs."""
    if situation.brand not in GPU_BRANDS:
        return None
    if situation.facts is not None:
        return []
    hardware = situation.deployment.choice.hardware.id
    return [
        Finding(
            severity="note",
            what=f"GPUs were not checked: the plan is for the profile {hardware}, not this host",
            remedy="Leave --hardware out, or give --host-facts, to have them checked.",
        )
    ]


def enough(situation: Situation) -> Iterable[Finding] | None:
    """As many GPUs as the process has ranks on this node."""
    facts = situation.facts
    if facts is None or situation.brand not in GPU_BRANDS:
        return None
    needed, there = layout(situation.process).ranks, of_brand(situation)
    seen = visible(situation)
    if len(seen) >= needed or any(word.startswith("MIG-") for word in mask_words(situation) or ()):
        return []
    what = f"{counted(needed, f'{situation.brand} GPU')} needed, {len(seen)} there"
    if len(there) > len(seen):
        masked = ",".join(mask_words(situation) or ())
        what = (
            f"{counted(needed, 'GPU')} needed, {len(seen)} visible of {len(there)} (mask {masked})"
        )
    looked = "; ".join(f"{what}: {outcome}" for what, outcome in facts.looked_for)
    return [
        Finding(
            severity="fail",
            what=what,
            why="Each rank takes a GPU of its own." + f" Looked for: {looked}." * (not there),
            remedy="Lower --tp, pick a strategy that fits, or make more GPUs visible.",
            cause="--tensor-parallel-size",
        )
    ]


def answering(situation: Situation) -> Iterable[Finding] | None:
    """GPUs that have fallen off the bus, or never answer."""
    if situation.facts is None:
        return None
    used = chosen(situation)
    return [
        Finding(
            severity="fail" if gpu in used else "warn",
            what=f"GPU {gpu.index} does not answer: {gpu.fault}",
            why="The driver counts it and cannot use it; other GPUs may hang with it.",
            remedy="Reset it or reboot; look at the kernel's log for its Xid or RAS message.",
            command="sudo dmesg | grep -iE 'xid|ras|amdgpu' | tail",
        )
        for gpu in of_brand(situation)
        if gpu.fault
    ]


def memory_errors(situation: Situation) -> Iterable[Finding] | None:
    """Uncorrected ECC errors, and rows that wait for a reset to be mapped out."""
    if situation.facts is None:
        return None
    found = []
    for gpu in chosen(situation):
        if gpu.ecc_pending:
            found.append(_ecc(gpu, f"GPU {gpu.index} has bad memory that waits to be mapped out"))
        elif gpu.ecc_uncorrected:
            errors = counted(gpu.ecc_uncorrected, "uncorrected ECC error")
            found.append(_ecc(gpu, f"GPU {gpu.index} has had {errors} since its driver was loaded"))
    return found


def _ecc(gpu: Gpu, what: str) -> Finding:
    reset = (
        "sudo nvidia-smi --gpu-reset" if gpu.vendor == "NVIDIA" else "sudo amd-smi reset --gpureset"
    )
    flag = "-i" if gpu.vendor == "NVIDIA" else "--gpu"
    return Finding(
        severity="warn",
        what=what,
        why="A server on it may stop with a memory error at any time.",
        remedy="Reset the GPU while nothing uses it; if errors return, replace it.",
        command=f"{reset} {flag} {gpu.index}",
    )


def alike(situation: Situation) -> Iterable[Finding] | None:
    """One kind of GPU for all ranks, and numbers that mean the same to CUDA."""
    if situation.facts is None or situation.brand != "NVIDIA":
        return None
    used, there = chosen(situation), of_brand(situation)
    names = _kinds(used)
    if len(names) > 1:
        return [
            Finding(
                severity="warn",
                what=f"{listed(used)} are of {len(names)} kinds: {', '.join(names)}",
                why="Ranks wait for the slowest, and memory is sized by the smallest.",
                remedy="Name GPUs of one kind with --gpus.",
            )
        ]
    order = situation.environment.get("CUDA_DEVICE_ORDER")
    if len(_kinds(there)) < 2 or order == "PCI_BUS_ID":
        return []
    return [
        Finding(
            severity="warn",
            what=f"this host has {len(_kinds(there))} kinds of GPU, "
            "and CUDA numbers the fastest first",
            why="Without CUDA_DEVICE_ORDER=PCI_BUS_ID, its numbers are not those of the driver.",
            remedy="Pass the variable to the server: -e CUDA_DEVICE_ORDER=PCI_BUS_ID.",
            cause="CUDA_DEVICE_ORDER",
        )
    ]


def _kinds(gpus: tuple[Gpu, ...]) -> list[str]:
    """The different names, those that differ in memory alone apart too."""
    return list(dict.fromkeys(gpu.name for gpu in gpus if not gpu.fault))


def whole(situation: Situation) -> Iterable[Finding] | None:
    """GPUs that are cut into MIG instances."""
    if situation.facts is None or situation.brand != "NVIDIA":
        return None
    cut = [gpu for gpu in chosen(situation) if gpu.mig_enabled]
    if not cut:
        return []
    return [
        Finding(
            severity="fail",
            what=f"{listed(cut)}: MIG is on, whole GPUs needed",
            why="A process sees one MIG instance, and instances cannot serve as ranks together.",
            remedy="Switch MIG off while nothing uses the GPU, or name other GPUs with --gpus.",
            command="\n".join(f"sudo nvidia-smi -i {gpu.index} -mig 0" for gpu in cut),
        )
    ]


CHECKS = (
    Check(
        code="HOST_FACTS",
        subject="GPUs",
        about="the plan is for this host, so that its GPUs can be checked",
        run=host_known,
    ),
    Check(code="GPU_MISSING", subject="GPUs", about="a GPU for each rank", run=enough),
    Check(code="GPU_LOST", subject="GPUs", about="every GPU answers its driver", run=answering),
    Check(code="GPU_ECC", subject="GPUs", about="uncorrected memory errors", run=memory_errors),
    Check(
        code="MIXED_GPUS",
        subject="GPUs",
        about="GPUs of one kind, and numbers that mean the same to CUDA",
        run=alike,
    ),
    Check(code="GPU_MIG", subject="GPUs", about="GPUs that are not cut into instances", run=whole),
)
