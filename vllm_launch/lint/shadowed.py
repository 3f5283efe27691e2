"""Arguments that a later layer replaces wherever they are put forward."""

from __future__ import annotations

from .fault import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..model.deployment import ProcessPlan
    from ..model.source import Argument
    from .fault import Fault

    Place = tuple[int, str, tuple[str, ...]]

# What an operator leaves out or picks: what it replaces counts without it.
_OPTIONAL = ("features.", "presets.", "kv_offload.")


class Shadows:
    """Which arguments of one file held somewhere, and what replaced the others."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._put: dict[Place, Argument] = {}
        self._held: set[Place] = set()
        self._winner: dict[Place, Argument] = {}

    def see(self, process: ProcessPlan) -> None:
        """One process's arguments, those that held and those that did not."""
        holding = {id(argument[2]) for argument in process.arguments}
        for argument in process.layers:
            if argument[2].file != self.file:
                continue
            place = (argument[2].line, argument[2].layer, argument[1])
            self._put[place] = argument
            winner = None if id(argument[2]) in holding else _winner(process, argument)
            if winner is None or winner[2].layer.startswith(_OPTIONAL):
                self._held.add(place)
            else:
                self._winner[place] = winner

    def faults(self) -> Iterator[Fault]:
        """Those that never hold; what one list says twice is told elsewhere."""
        for place, argument in self._put.items():
            if place in self._held:
                continue
            winner = self._winner[place]
            if _list(winner[2].layer) != _list(argument[2].layer):
                yield _fault(argument, winner)


def _winner(process: ProcessPlan, loser: Argument) -> Argument | None:
    """What holds for the same flag; None where the flag was taken away, or has its keys merged."""
    flag = _flag(loser)
    return next((one for one in process.arguments if _flag(one) == flag), None)


def _flag(argument: Argument) -> str:
    return argument[0].partition("=")[0]


def _list(layer: str) -> str:
    return layer.partition("[")[0]


def _fault(argument: Argument, winner: Argument) -> Fault:
    source = winner[2]
    same = source.line and source.file == argument[2].file
    by = f"{source.layer}, line {source.line}" if same else source.layer
    return at(
        argument[2], "LINT_SHADOWED", "note" if argument[1] == winner[1] else "warning",
        f"{' '.join(argument[1])} never holds: a later layer replaces it everywhere, last {by}",
        "Take it away, or the later ones.",
    )  # fmt: skip
