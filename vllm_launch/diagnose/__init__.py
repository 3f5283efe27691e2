"""Read a server's log for failures that are known. Pure: lines in, records out."""

from __future__ import annotations

from ..model.secrets import concealed
from .containers import CONTAINERS
from .gpus import GPUS
from .hub import HUB
from .memory import MEMORY
from .network import NETWORK
from .plan import PLAN
from .symptom import Diagnosis, Try

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .symptom import Symptom

__all__ = ["SYMPTOMS", "Diagnosis", "Try", "diagnose"]

SYMPTOMS: tuple[Symptom, ...] = (*MEMORY, *PLAN, *GPUS, *NETWORK, *HUB, *CONTAINERS)
_LONGEST = 4096  # characters of a line that are looked at
# What was typed or asked, and is no word of the server's own.
_OTHERS = (
    r"# started as: |\b(?:Received request|Generated response) \S+"
    r"|\bRequest \S+ (?:details|JSON body):"
)


def diagnose(lines: Iterable[str]) -> tuple[Diagnosis, ...]:
    """The known failures in a log, the likely cause first; each kind of failure once."""
    import re

    others = re.compile(_OTHERS)
    waiting = [(symptom, re.compile(symptom.pattern, re.IGNORECASE)) for symptom in SYMPTOMS]
    found: list[Diagnosis] = []
    for number, line in enumerate(lines, 1):
        text = (
            line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]}…{line[-_LONGEST // 2 :]}"
        )
        lower = text.lower()
        for entry in [each for each in waiting if each[0].hint in lower]:
            symptom, pattern = entry
            match = None if others.search(text) else pattern.search(text)
            if match is None:
                continue
            waiting.remove(entry)
            values = {name: value for name, value in match.groupdict().items() if value}
            step = symptom.next if isinstance(symptom.next, Try) else symptom.next(values)
            found.append(
                Diagnosis(
                    symptom=symptom, line=number, text=concealed(_plain(text)), next=step or Try()
                )
            )
    return _causes_first(found)


def _causes_first(found: list[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Sorted, with a code once: what says more of it came earlier in the table."""
    order = {symptom: place for place, symptom in enumerate(SYMPTOMS)}
    best: dict[str, Diagnosis] = {}
    for each in sorted(found, key=lambda each: order[each.symptom]):
        best.setdefault(each.symptom.code, each)
    return tuple(sorted(best.values(), key=lambda each: (each.symptom.consequence, each.line)))


def _plain(text: str) -> str:
    """A line that does no harm to a terminal."""
    import re

    without_colours = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    return "".join(c for c in without_colours if c.isprintable() or c == "\t").strip()
