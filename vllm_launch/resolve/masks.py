"""Which GPUs a server started from here would see: the masks in its environment. Pure.

A mask is what somebody decided before us, so it counts, once, by the rules of the runtime
that it is for. ``--gpus`` counts among the devices that are physically there, and is at odds
with a mask that hides one of them.
"""

from __future__ import annotations

from ..model.record import Record
from .masks_cuda import Mask, cuda_mask, instances, runtime_mask
from .masks_rocm import hip_mask, rocr_mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..model.host import Gpu

CUDA, RUNTIME, ORDER = "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
ROCR, HIP, ORDINAL = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"
_PCI = "PCI_BUS_ID"


class Visible(Record):
    """The GPUs that are left, in the order in which the server would number them."""

    gpus: tuple[Gpu, ...]
    notes: tuple[str, ...] = ()  # what an operator should know
    problems: tuple[str, ...] = ()  # what cannot be meant: masks that contradict each other
    masked: bool = False  # some GPU is hidden, or named
    mixed: bool = False  # CUDA numbers these NVIDIA GPUs otherwise than the driver does


def visible(gpus: Sequence[Gpu], environ: Mapping[str, str], asked: str | None = None) -> Visible:
    """The GPUs of a host that the environment leaves, or those asked for by name."""
    nvidia = _nvidia([gpu for gpu in gpus if gpu.vendor == "NVIDIA"], environ)
    amd = _amd([gpu for gpu in gpus if gpu.vendor != "NVIDIA"], environ, _cuda_is_hips(gpus))
    left = (*nvidia.gpus, *amd.gpus)
    notes, problems = (*nvidia.notes, *amd.notes), (*nvidia.problems, *amd.problems)
    if asked:
        left, problems = _asked(asked, gpus, left, environ)
        notes = ()
    return Visible(
        gpus=left,
        notes=(*notes, *_numbering(gpus, environ, asked)),
        problems=problems,
        masked=bool(asked) or len(left) < len(gpus),
        mixed=_is_mixed(gpus, environ),
    )


def _cuda_is_hips(gpus: Sequence[Gpu]) -> bool:
    """Whether HIP is who reads CUDA's variable, as its own: not where NVIDIA GPUs are."""
    return all(gpu.vendor != "NVIDIA" for gpu in gpus)


def _numbering(gpus: Sequence[Gpu], environ: Mapping[str, str], asked: str | None) -> list[str]:
    """Where CUDA's numbers, if any were used, may be others than the driver's."""
    words = asked or environ.get(CUDA, "")
    if not any(word.strip().isdecimal() for word in words.split(",")):
        return []
    notes = []
    if _is_mixed(gpus, environ):
        notes.append(
            f"CUDA numbers different GPUs fastest first, unlike the driver: these numbers hold "
            f"with {ORDER}={_PCI}"
        )
    notes += [
        f"GPU {gpu.index} does not answer, so CUDA may number those after it one lower: use UUIDs"
        for gpu in gpus
        if gpu.vendor == "NVIDIA" and gpu.fault
    ]
    return notes


def _is_mixed(gpus: Sequence[Gpu], environ: Mapping[str, str]) -> bool:
    names = {gpu.name for gpu in gpus if gpu.vendor == "NVIDIA" and not gpu.fault}
    return len(names) > 1 and environ.get(ORDER) != _PCI


def _nvidia(gpus: list[Gpu], environ: Mapping[str, str]) -> Mask:
    """CUDA's own mask, of all that the driver lists; the container runtime's only if there is
    none, for it was applied already where the container was made."""
    if not gpus:
        return Mask()
    runtime = runtime_mask(environ.get(RUNTIME), gpus, RUNTIME)
    if CUDA not in environ:
        return runtime
    cuda = cuda_mask(environ[CUDA], gpus, CUDA)
    allowed = {gpu.index for gpu in runtime.gpus}
    outside = [gpu for gpu in cuda.gpus if gpu.index not in allowed]
    if not outside:
        return cuda
    against = f"{CUDA}={environ[CUDA]} names {_numbers(outside)}, which {RUNTIME}"
    return cuda.replace(problems=(*cuda.problems, f"{against}={environ[RUNTIME]} hides"))


def _amd(gpus: list[Gpu], environ: Mapping[str, str], reads_cuda: bool) -> Mask:
    """ROCr's mask, then HIP's, which counts among what ROCr leaves."""
    if not gpus:
        return Mask()
    rocr = rocr_mask(environ[ROCR], gpus, ROCR) if ROCR in environ else Mask(gpus=tuple(gpus))
    names = [name for name in (HIP, *([CUDA] if reads_cuda else []), ORDINAL) if name in environ]
    if not names:
        return rocr
    among = ROCR if ROCR in environ else ""
    hip = hip_mask(environ[names[0]], rocr.gpus, names[0], among)
    problems = [*rocr.problems, *hip.problems]
    if names[:2] == [HIP, CUDA] and environ[HIP] != environ[CUDA]:
        problems.append(
            f"{HIP}={environ[HIP]} and {CUDA}={environ[CUDA]} differ: vLLM refuses to start"
        )
    return hip.replace(notes=(*rocr.notes, *hip.notes), problems=tuple(problems))


def _asked(
    asked: str, gpus: Sequence[Gpu], left: Sequence[Gpu], environ: Mapping[str, str]
) -> tuple[tuple[Gpu, ...], tuple[str, ...]]:
    """The GPUs named with --gpus, of all that are there, and what is wrong with the names."""
    picked: list[Gpu] = []
    faults: list[str] = []
    for word in (part.strip() for part in asked.split(",")):
        found = _named(word, gpus)
        if len(found) != 1:
            faults.append(_not_one(word, found, gpus))
        elif _key(found[0]) in map(_key, picked):
            faults.append(f"--gpus: GPU {word} is named twice")
        else:
            picked += found
    there = {(gpu.vendor, gpu.index) for gpu in left}
    hidden = [gpu for gpu in picked if (gpu.vendor, gpu.index) not in there]
    if hidden:
        masks = " ".join(f"{name}={environ[name]}" for name in _masks(hidden[0], environ))
        faults.append(f"--gpus names {_numbers(hidden)}, hidden by {masks}")
    return tuple(picked), tuple(faults)


def _named(word: str, gpus: Sequence[Gpu]) -> list[Gpu]:
    """By index, by a UUID or the beginning of one, or a MIG instance by its own."""
    if word.isdecimal():
        return [gpu for gpu in gpus if str(gpu.index) == word]
    if word.lower().startswith("mig-"):
        return instances(word, gpus)
    if not word.lower().startswith("gpu-"):
        return []
    return [gpu for gpu in gpus if (gpu.uuid or "").lower().startswith(word.lower())]


def _not_one(word: str, found: list[Gpu], gpus: Sequence[Gpu]) -> str:
    if found:
        kinds = {gpu.vendor for gpu in found}
        which = f" ({' and '.join(sorted(kinds))})" if len(kinds) > 1 else ""
        return f"--gpus: {word!r} names {len(found)} GPUs{which}: give a UUID, or more of it"
    there = ", ".join(str(gpu.index) for gpu in gpus) or "none"
    return f"--gpus: {word!r} names no GPU; here are {there}, or a UUID such as GPU-1a2b…"


def _key(gpu: Gpu) -> tuple[str, str]:
    return gpu.vendor, device_id(gpu)


def _numbers(gpus: Sequence[Gpu]) -> str:
    names = ", ".join(device_id(gpu) for gpu in gpus)
    return f"GPU {names}" if len(gpus) == 1 else f"GPUs {names}"


def _masks(gpu: Gpu, environ: Mapping[str, str]) -> list[str]:
    names = (CUDA, RUNTIME) if gpu.vendor == "NVIDIA" else (ROCR, HIP, CUDA, ORDINAL)
    return [name for name in names if name in environ]


def device_id(gpu: Gpu) -> str:
    """What a mask names a GPU by: its index, as some vLLM versions cannot read a UUID there;
    but a MIG instance has nothing else."""
    uuid = gpu.uuid or ""
    return uuid if uuid.startswith("MIG-") else str(gpu.index)


def mask_for(
    chosen: Sequence[Gpu], gpus: Sequence[Gpu], environ: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The variables that leave a server the chosen GPUs of a host's, and no others.

    None where its environment does so already: CUDA does not read the container runtime's.
    """
    read = {name: value for name, value in environ.items() if name != RUNTIME}
    if not chosen or [*map(_key, visible(gpus, read).gpus)] == [*map(_key, chosen)]:
        return ()
    if chosen[0].vendor != "NVIDIA":
        return _hip_mask_for(chosen, gpus, environ)
    if any(gpu.fault for gpu in gpus) and all(gpu.uuid for gpu in chosen):
        return ((CUDA, ",".join(gpu.uuid or "" for gpu in chosen)),)  # numbers may be others
    order = ((ORDER, _PCI),) if _is_mixed(gpus, environ) else ()
    return (*order, (CUDA, ",".join(map(device_id, chosen))))


def _hip_mask_for(
    chosen: Sequence[Gpu], gpus: Sequence[Gpu], environ: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Counted among what ROCr's mask leaves, which stays as it is."""
    places = {gpu.index: gpu.index for gpu in chosen}
    if ROCR in environ:
        left = rocr_mask(environ[ROCR], [gpu for gpu in gpus if gpu.vendor == "AMD"], ROCR).gpus
        places |= {gpu.index: place for place, gpu in enumerate(left)}
    value = ",".join(str(places[gpu.index]) for gpu in chosen)
    # vLLM compares the two where both are set.
    also = ((CUDA, value),) if CUDA in environ and _cuda_is_hips(gpus) else ()
    return ((HIP, value), *also)
