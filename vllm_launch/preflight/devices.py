"""Which of the host's GPUs a process uses."""

from __future__ import annotations

from .layout import MASKS, layout, mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.host import Gpu
    from .situation import Situation


def of_brand(situation: Situation) -> tuple[Gpu, ...]:
    """The host's GPUs of the brand that is planned for."""
    gpus = situation.facts.gpus if situation.facts is not None else ()
    return tuple(gpu for gpu in gpus if gpu.vendor == situation.brand)


def mask_words(situation: Situation) -> tuple[str, ...] | None:
    """The devices that the process sees, as named by the plan or around it; None: all."""
    planned = mask(situation.process)
    if planned is not None:
        return planned
    around = situation.environment
    text = next((around[name] for name in MASKS if around.get(name)), None)
    return tuple(word.strip() for word in text.split(",")) if text is not None else None


def visible(situation: Situation) -> tuple[Gpu, ...]:
    """The GPUs that the process sees, in its order."""
    gpus, words = of_brand(situation), mask_words(situation)
    if words is None:
        return gpus
    found = [gpu for word in words if (gpu := _named(gpus, word)) is not None]
    return tuple(found)


def _named(gpus: tuple[Gpu, ...], word: str) -> Gpu | None:
    for gpu in gpus:
        if word == str(gpu.index) or (word.startswith("GPU-") and _is(gpu, word)):
            return gpu
    return None


def _is(gpu: Gpu, word: str) -> bool:
    return (gpu.uuid or "").startswith(word)


def chosen(situation: Situation) -> tuple[Gpu, ...]:
    """The GPUs that the process uses: the first of those that it sees."""
    return visible(situation)[: layout(situation.process).ranks]


def listed(gpus: tuple[Gpu, ...] | list[Gpu]) -> str:
    """GPUs by number: "GPU 3", "GPUs 0, 1"."""
    numbers = ", ".join(str(gpu.index) for gpu in gpus)
    return f"GPU {numbers}" if len(gpus) == 1 else f"GPUs {numbers}"
