"""One request on its way to a choice: what it names, and the reasons so far."""

from __future__ import annotations

from .presets import asked_preset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.choice import Reason, Request
    from .choose import Chooser


class Choosing:
    """What is asked for, by the operator or by the preset, and what was picked."""

    def __init__(self, chooser: Chooser, request: Request) -> None:
        self.chooser = chooser
        self.recipe = chooser.recipe
        self.request = request
        self.preset, self.blocks = asked_preset(self.recipe, request)
        self.reasons: list[Reason] = []
        self.notes: list[str] = []

    def because(self, subject: str, picked: str, why: str) -> None:
        """Keep why something was picked."""
        self.reasons.append((subject, picked, why))

    def set_by(self, asked: object) -> str:
        """Who names something: the operator where they ask for it, else the preset."""
        return "asked for" if asked else f"the preset {self.request.preset} sets it"

    @property
    def strategy(self) -> str | None:
        """The strategy that the operator names, or the preset."""
        return self.request.strategy or (self.preset.strategy if self.preset else None)

    @property
    def nodes(self) -> int | None:
        """The nodes that the operator names, or the preset's point, or the preset."""
        if self.request.nodes is not None:
            return self.request.nodes
        return next((b.select.nodes for b in reversed(self.blocks) if b.select.nodes), None)

    @property
    def kv_offload(self) -> str | None:
        """The KV offload that the operator names, or the preset's point, or the preset."""
        asked = self.request.kv_offload
        if asked is None:
            selected = (b.select.kv_offload for b in reversed(self.blocks))
            asked = next((name for name in selected if name), None)
        return None if asked == "off" else asked


def is_multi_node(strategy: str) -> bool:
    """Whether a strategy is for several nodes, by its name."""
    return strategy.startswith("multi_node")
