"""Two benchmark results, side by side."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..resolve.benchmark import Compared

_MARKS = {True: "better", False: "worse", None: ""}


def comparison(
    names: Sequence[str],
    metrics: Sequence[Compared],
    differences: Sequence[tuple[str, str, str]] | None,
) -> str:
    """The metrics with their ratio, then what the two servers stood on."""
    lines = [f"first   {names[0]}", f"second  {names[1]}", ""]
    lines.append(f"{'':24}{'first':>12}{'second':>12}{'ratio':>8}")
    for metric in metrics:
        ratio = f"{metric.ratio:.3f}" if metric.ratio is not None else "—"
        lines.append(
            f"{metric.name:24}{metric.first:>12.2f}{metric.second:>12.2f}{ratio:>8}  "
            f"{_MARKS[metric.better]}".rstrip()
        )
    lines.append("")
    if differences is None:
        lines.append("What the servers stood on is not known: a lock is missing beside a result.")
    elif not differences:
        lines.append("Both stood on the same: recipe, choice, command, image and hardware.")
    for field, one, other in differences or ():
        lines.append(f"{field}: {one} → {other}")
    return "\n".join(lines) + "\n"
