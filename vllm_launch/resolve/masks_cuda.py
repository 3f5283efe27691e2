"""The masks of NVIDIA's: CUDA's variable, and the container runtime's. Pure."""

from __future__ import annotations

from ..model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.host import Gpu, MigDevice

# What hides every GPU and is meant to. The word is what Slurm writes for a job without any.
_NOTHING = frozenset({"", "-1", "NoDevFiles"})


class Mask(Record):
    """What one variable leaves."""

    gpus: tuple[Gpu, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def cuda_mask(value: str, gpus: Sequence[Gpu], name: str) -> Mask:
    """By CUDA's rules: indices as C's strtol reads them, or UUIDs by any unambiguous beginning.

    The first decides which. At a name of nothing the list ends; a GPU named twice empties it.
    """
    said = f"{name}={value}"
    if value.strip() in _NOTHING:
        return Mask(notes=(f"{said} hides every NVIDIA GPU",))
    words = [word.strip() for word in value.split(",")]
    if words[0].startswith("MIG-"):
        return _instance(words, gpus, said)
    by_uuid = words[0].startswith("GPU-")
    left: list[Gpu] = []
    for place, word in enumerate(words):
        found = _by_uuid(word, gpus) if by_uuid else _by_index(word, gpus)
        if found is None:
            return _ended(left, words, place, gpus, said)
        if found in left:
            return Mask(problems=(f"{said} names GPU {found.index} twice: CUDA then sees none",))
        left.append(found)
    return Mask(gpus=tuple(left), notes=_uuid_notes(left, said) if by_uuid else ())


def _by_index(word: str, gpus: Sequence[Gpu]) -> Gpu | None:
    number = leading_number(word)
    return next((gpu for gpu in gpus if gpu.index == number), None)


def leading_number(word: str) -> int:
    """The number that text begins with, as C reads it; -1 where there is none."""
    digits = word.removeprefix("+")
    end = next((i for i, char in enumerate(digits) if char not in "0123456789"), len(digits))
    return int(digits[: min(end, 9)]) if end else -1


def _by_uuid(word: str, gpus: Sequence[Gpu]) -> Gpu | None:
    """The one GPU whose UUID begins so. The prefix alone begins all of them."""
    if not word.startswith("GPU-") or len(word) == len("GPU-"):
        return None
    found = [gpu for gpu in gpus if (gpu.uuid or "").lower().startswith(word.lower())]
    return found[0] if len(found) == 1 else None


def _ended(left: list[Gpu], words: list[str], place: int, gpus: Sequence[Gpu], said: str) -> Mask:
    """A list cut short: on purpose by -1; one of which nothing is left was made for other GPUs."""
    word = words[place]
    if word.startswith("-"):
        hidden = ", ".join(words[place + 1 :]) or "every other GPU"
        return Mask(gpus=tuple(left), notes=(f"{said}: {word} hides {hidden}",))
    there = ", ".join(str(gpu.index) for gpu in gpus)
    reason = f"{said}: {word!r} names no GPU here (there are {there})"
    if left:
        return Mask(gpus=tuple(left), notes=(f"{reason}; CUDA stops there",))
    hint = "a mask from outside of a container counts differently inside"
    return Mask(problems=(f"{reason}; {hint}",))


def _uuid_notes(left: list[Gpu], said: str) -> tuple[str, ...]:
    numbers = ",".join(str(gpu.index) for gpu in left)
    return (f"{said}: some vLLM versions read no UUIDs there; the same GPUs by index: {numbers}",)


def _instance(words: list[str], gpus: Sequence[Gpu], said: str) -> Mask:
    """CUDA uses one MIG instance, the first that is named."""
    found = instances(words[0], gpus)
    if len(found) != 1:
        which = f"{len(found)} MIG instances" if found else "no MIG instance"
        return Mask(problems=(f"{said}: {words[0]!r} names {which} here",))
    notes = [f"{said}: CUDA uses the first MIG instance alone"] if len(words) > 1 else []
    notes.append(f"{said}: some vLLM versions read no MIG ids there; a container can be given one")
    return Mask(gpus=tuple(found), notes=tuple(notes))


def instances(beginning: str, gpus: Sequence[Gpu]) -> list[Gpu]:
    """The MIG instances whose UUID begins so."""
    return [
        instance_of(gpu, one)
        for gpu in gpus
        for one in gpu.mig_devices or ()
        if (one.uuid or "").lower().startswith(beginning.lower())
    ]


def instance_of(gpu: Gpu, instance: MigDevice) -> Gpu:
    """A MIG instance as the GPU that a server would see in it."""
    total, used = instance.memory_bytes, instance.memory_used_bytes
    return gpu.replace(
        name=f"{gpu.name} MIG {instance.profile or 'instance'}",
        uuid=instance.uuid,
        memory_bytes=total,
        memory_used_bytes=used,
        memory_free_bytes=None if total is None or used is None else max(0, total - used),
        processes=None,
        mig_enabled=False,
        mig_devices=None,
        nvlink_active=0,
        nvlink_peers=(),
        fabric_state=None,
        fabric_clique=None,
        fabric_cluster=None,
        unknown=instance.unknown,
    )


def runtime_mask(value: str | None, gpus: Sequence[Gpu], name: str) -> Mask:
    """What NVIDIA's container runtime was told. CUDA does not read it.

    Inside of a container it was applied when that was made, and the GPUs were numbered anew;
    that as many GPUs are there as it names is the sign of it. Elsewhere it is somebody's wish.
    """
    said = f"{name}={value}"
    words = [word.strip() for word in (value or "").split(",")]
    if words[0] == "none":
        return Mask(notes=(f"{said} hides every NVIDIA GPU",))
    if words[0] in ("", "all", "void") or len(words) >= len(gpus):
        return Mask(gpus=tuple(gpus))
    named = [_by_uuid(word, gpus) or _by_plain_index(word, gpus) for word in words]
    left = tuple(gpu for gpu in gpus if gpu in named)
    if not left:
        return Mask(gpus=tuple(gpus), notes=(f"{said} names no GPU here: not followed",))
    return Mask(gpus=left, notes=(f"{said}: the other GPUs are left alone, though CUDA sees them",))


def _by_plain_index(word: str, gpus: Sequence[Gpu]) -> Gpu | None:
    return _by_index(word, gpus) if word.isdecimal() else None
