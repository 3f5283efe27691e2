"""The checkpoint's shape against the tensor parallel size."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .plan import number, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation

_FLAG = "--tensor-parallel-size"


def heads_divide(situation: Situation) -> Iterable[Finding] | None:
    """Attention heads and dimensions, where the config is at hand."""
    return _refused(situation, of_blocks=False)


def blocks_divide(situation: Situation) -> Iterable[Finding] | None:
    """Block-quantised dimensions: whole blocks on each rank."""
    return _refused(situation, of_blocks=True)


def _refused(situation: Situation, *, of_blocks: bool) -> Iterable[Finding] | None:
    shape = situation.shape
    if shape is None:
        return None
    if not shape.refused or ("block" in shape.refused) is not of_blocks:
        return []
    size = number(situation.process, _FLAG)
    legal = ", ".join(str(one) for one in shape.legal) or "none"
    return [
        Finding(
            severity="fail",
            what=f"tensor parallel size {size} cannot be: {shape.refused}",
            why="vLLM splits them evenly over the ranks, and refuses what does not divide.",
            remedy=f"Sizes that this checkpoint allows: {legal}.",
            cause=_FLAG,
            source=place(situation.process, _FLAG),
        )
    ]


CHECKS = (
    Check(
        code="TP_HEADS",
        subject="model",
        about="heads and dimensions against the tensor parallel size",
        run=heads_divide,
    ),
    Check(
        code="TP_BLOCK_QUANT",
        subject="model",
        about="quantisation blocks against the tensor parallel size",
        run=blocks_divide,
    ),
)
