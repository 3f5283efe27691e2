"""Every check, in the order in which they are listed, and what runs them."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.record import Record
from . import (
    amd,
    arguments,
    asked,
    beside,
    conflicts,
    container,
    disk,
    driver,
    environment,
    gpu_memory,
    gpus,
    hub,
    hugetlb,
    json_values,
    mandatory,
    masks,
    memory,
    named_parts,
    network,
    numa,
    port_clash,
    ports,
    shape,
    shm_limits,
    switches,
    target,
    transfer,
    versions,
)
from .across import ACROSS
from .unread import NOT_SAVED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from .situation import Situation

CHECKS: tuple[Check, ...] = (
    *gpus.CHECKS,
    *gpu_memory.CHECKS,
    *driver.CHECKS,
    *amd.CHECKS,
    *versions.CHECKS,
    *target.CHECKS,
    *asked.CHECKS,
    *hugetlb.CHECKS,
    *memory.CHECKS,
    *shm_limits.CHECKS,
    *numa.CHECKS,
    *ports.CHECKS,
    *port_clash.CHECKS,
    *network.CHECKS,
    *transfer.CHECKS,
    *disk.CHECKS,
    *hub.CHECKS,
    *shape.CHECKS,
    *container.CHECKS,
    *arguments.CHECKS,
    *switches.CHECKS,
    *json_values.CHECKS,
    *named_parts.CHECKS,
    *mandatory.CHECKS,
    *conflicts.CHECKS,
    *environment.CHECKS,
    *masks.CHECKS,
    *beside.CHECKS,
)
# What can be said of a router, a store, or what else is no vLLM.
_BESIDE = (
    "PORT_BUSY", "ADDRESS", "PLACEHOLDER", "TILDE", "TOKEN_ARGV", "PROGRAM", "CONFIG_FILE",
)  # fmt: skip
_ORDER = {"fail": 0, "warn": 1, "note": 2}


class Review(Record):
    """What came of all checks."""

    findings: tuple[Finding, ...]  # failures first, then warnings, then notes
    passed: tuple[str, ...]  # codes of the checks that applied and found nothing
    skipped: tuple[str, ...]  # codes that the operator left out
    not_made: tuple[str, ...] = ()  # codes of those that need the machine, not its saved facts

    @property
    def failed(self) -> bool:
        """Whether a launch must not go on."""
        return any(finding.severity == "fail" for finding in self.findings)


def review(situation: Situation, skip: Collection[str] = ()) -> Review:
    """Run the checks that apply, but for those whose codes are to be skipped ("all": every one)."""
    findings: list[Finding] = []
    passed, skipped, not_made = [], [], []
    for check in CHECKS:
        if "all" in skip or check.code in skip:
            skipped.append(check.code)
            continue
        if situation.beside is not None and check.code not in _BESIDE:
            continue
        found = _run(check, situation)
        if found is None:
            continue
        told = [one for one in found if not one.what.endswith(NOT_SAVED)]
        findings += told
        if len(told) < len(found):
            not_made.append(check.code)
        elif not found:
            passed.append(check.code)
    ordered = sorted(findings, key=lambda finding: _ORDER[finding.severity])
    return Review(
        findings=tuple(ordered),
        passed=tuple(passed),
        skipped=tuple(skipped),
        not_made=tuple(not_made),
    )


def run_checks(situation: Situation, skip: Collection[str] = ()) -> tuple[Finding, ...]:
    """What the checks find, failures first."""
    return review(situation, skip).findings


def unknown_codes(codes: Collection[str]) -> tuple[str, ...]:
    """Those that are no check's."""
    known = {check.code for check in CHECKS} | {code for code, _ in ACROSS}
    return tuple(code for code in codes if code not in known and code != "all")


def _run(check: Check, situation: Situation) -> list[Finding] | None:
    """One check's findings. One that breaks says so: it stops no launch, and passes none."""
    try:
        found = check.run(situation)
        return None if found is None else [one.replace(code=check.code) for one in found]
    except Exception as error:
        what = f"{check.code} could not be checked: {type(error).__name__}: {error}"
        return [Finding(code=check.code, severity="note", what=what)]
