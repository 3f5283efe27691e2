"""Device masks: the plan's, and one that is set around it."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .devices import listed, mask_words, of_brand
from .layout import MASKS, layout
from .plan import source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .situation import Situation


def masks_agree(situation: Situation) -> Iterable[Finding] | None:
    """The plan's device mask, and one that is set around it."""
    around = dict(situation.system.variables) if situation.native else {}
    merged = situation.environment
    return [*_amd_masks(situation, merged), *_replaced(situation, around)]


def _amd_masks(situation: Situation, merged: dict[str, str]) -> Iterator[Finding]:
    cuda, hip = (merged.get(name, "") for name in MASKS)
    if situation.brand != "AMD":
        return
    if cuda and hip and cuda != hip:
        yield Finding(
            severity="fail",
            what=f"HIP_VISIBLE_DEVICES is {hip}, CUDA_VISIBLE_DEVICES is {cuda}",
            why="vLLM refuses masks that differ.",
            remedy="Unset the one that is not the plan's.",
            command=f"unset {'HIP_VISIBLE_DEVICES' if _planned(situation, MASKS[0]) else MASKS[0]}",
            cause="HIP_VISIBLE_DEVICES",
        )
    rocr = merged.get("ROCR_VISIBLE_DEVICES", "")
    if rocr and (hip or cuda):
        yield Finding(
            severity="warn",
            what=f"ROCR_VISIBLE_DEVICES is {rocr}, and {hip or cuda} is masked on top of it",
            why="The second mask counts the devices that the first one leaves.",
            remedy="Keep one of them.",
            command="unset ROCR_VISIBLE_DEVICES",
            cause="ROCR_VISIBLE_DEVICES",
        )


def _planned(situation: Situation, name: str) -> bool:
    return source_of(situation.process, name) is not None


def _replaced(situation: Situation, around: dict[str, str]) -> Iterator[Finding]:
    """A mask of the environment's that the plan's own takes the place of."""
    for name in MASKS:
        planned, outside = situation.process.env.get(name), around.get(name)
        source = source_of(situation.process, name)
        own = source is not None and source.layer == "operator"
        if planned and outside and planned != outside and not own:
            yield Finding(
                severity="warn",
                what=f"{name} is {outside} here, and the plan makes it {planned}",
                why="The server then uses GPUs that were masked off.",
                remedy=f"Plan for those GPUs alone: --gpus {outside}.",
                cause=name,
                source=source,
            )


def masks_by_number(situation: Situation) -> Iterable[Finding] | None:
    """Masks that name devices by UUID, which not every vLLM can read."""
    words = mask_words(situation)
    if words is None:
        return None
    ranks = layout(situation.process).ranks
    migs = [word for word in words if word.startswith("MIG-")]
    if migs:
        several = ranks > 1
        return [
            Finding(
                severity="fail" if several else "warn",
                what=f"the device mask names the MIG instance {migs[0]}"
                + (f", and the plan has {ranks} ranks" if several else ""),
                why="A process sees one MIG instance; some vLLM versions stop at such a name.",
                remedy="Use whole GPUs, or hand the instance to a container: docker's --gpus "
                "device=…",
                cause=MASKS[0],
            )
        ]
    named = [word for word in words if not word.strip().isdecimal() and "$" not in word]
    if not named:
        return []
    lost = [gpu for gpu in of_brand(situation) if gpu.fault]
    if lost and situation.brand == "NVIDIA":
        return [
            Finding(
                severity="note",
                what=f"the device mask names UUIDs, as {listed(lost)} cannot be used",
                why="CUDA may number the GPUs behind it one lower. Some vLLM versions stop at "
                "UUIDs: they can serve here once all GPUs answer.",
                cause=MASKS[0],
            )
        ]
    return [
        Finding(
            severity="fail" if situation.brand == "AMD" else "warn",
            what=f"the device mask names {named[0]}, a number is expected",
            why="vLLM on ROCm stops at anything but numbers."
            if situation.brand == "AMD"
            else "Some vLLM versions stop at UUIDs.",
            remedy="Name the GPUs by number: --gpus 0,1.",
            cause=MASKS[0],
        )
    ]


CHECKS = (
    Check(
        code="MASK",
        subject="environment",
        about="the plan's device mask and that of the environment",
        run=masks_agree,
    ),
    Check(
        code="CVD_UUID",
        subject="environment",
        about="device masks by number, not by UUID",
        run=masks_by_number,
    ),
)
