"""The masks of AMD's: ROCr's variable, and HIP's, which counts among what ROCr leaves. Pure."""

from __future__ import annotations

from .masks_cuda import Mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.host import Gpu

_SHORTEST_UUID, _LONGEST_UUID = 5, 20  # of ROCr's "GPU-…", 16 hex digits at most


def rocr_mask(value: str, gpus: Sequence[Gpu], name: str) -> Mask:
    """By ROCr's rules: the list ends at a name of nothing, and at a GPU named a second time."""
    said = f"{name}={value}"
    if not value:
        return Mask(notes=(f"{said} hides every AMD GPU",))
    left: list[Gpu] = []
    for word in (word.strip() for word in value.split(",")):
        if word.upper().startswith("G"):
            found = _by_uuid(word, gpus)
        else:
            number = _integer(word)
            if _is_left_out(number, gpus):
                continue
            found = _by_index(number, gpus)
        if found is None or found in left:
            return _ended(left, word, gpus, said)
        left.append(found)
    return Mask(gpus=tuple(left))


def _by_uuid(word: str, gpus: Sequence[Gpu]) -> Gpu | None:
    if not _SHORTEST_UUID <= len(word) <= _LONGEST_UUID:
        return None
    found = [gpu for gpu in gpus if (gpu.uuid or "").upper().startswith(word.upper())]
    return found[0] if len(found) == 1 else None


def _integer(word: str) -> int:
    """As C's strtol reads it with base 0, the whole of it; -1 where that cannot be."""
    octal = word.startswith("0") and word.isdecimal()
    try:
        return int(word, 8) if octal else int(word, 0)
    except ValueError:
        return -1


def _by_index(number: int, gpus: Sequence[Gpu]) -> Gpu | None:
    return next((gpu for gpu in gpus if gpu.index == number), None)


def _is_left_out(number: int, gpus: Sequence[Gpu]) -> bool:
    """Whether it is a device of the runtime's that is no GPU to serve on: integrated graphics."""
    indices = {gpu.index for gpu in gpus}
    return 0 <= number < max(indices) and number not in indices


def hip_mask(value: str, gpus: Sequence[Gpu], name: str, among: str) -> Mask:
    """By HIP's rules: the list ends at a name of nothing; a second mention counts for nothing.

    ``among`` names the mask that was applied before, if one was: it counts among those.
    """
    said = f"{name}={value}"
    if not gpus:
        return Mask()
    if value in ("", "-1"):
        return Mask(notes=(f"{said} hides every AMD GPU",))
    left: list[Gpu] = []
    for word in value.split(","):
        number = int(word) if word.isdecimal() and str(int(word)) == word else -1
        if not among and _is_left_out(number, gpus):
            continue
        found = _by_hip(word, number, gpus, among)
        if found is None:
            return _ended(left, word, gpus, said, among)
        if found not in left:
            left.append(found)
    return Mask(gpus=tuple(left))


def _by_hip(word: str, number: int, gpus: Sequence[Gpu], among: str) -> Gpu | None:
    if word.startswith("GPU-"):
        return next((gpu for gpu in gpus if word.lower() in (gpu.uuid or "").lower()), None)
    if among:
        return gpus[number] if 0 <= number < len(gpus) else None
    return _by_index(number, gpus)


def _ended(left: list[Gpu], word: str, gpus: Sequence[Gpu], said: str, among: str = "") -> Mask:
    """A list cut short. One of which nothing is left was made for other GPUs; and PyTorch
    refuses one that counts on past those that another mask leaves."""
    if among and not word.startswith("-"):
        reason = f"there are 0 to {len(gpus) - 1} among those that {among} leaves"
        return Mask(gpus=tuple(left), problems=(f"{said}: {word!r} is no GPU: {reason}",))
    there = ", ".join(str(gpu.index) for gpu in gpus)
    reason = f"{said}: {word!r} names no GPU here, or one twice (there are {there})"
    if left or word.startswith("-"):
        return Mask(gpus=tuple(left), notes=(f"{reason}; the list ends there",))
    return Mask(problems=(reason,))
