"""Weights: there, or room for them."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .plan import value
from .units import counted, size
from .unread import not_saved, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation

_HEADROOM = 1.2  # that recipes' vram_minimum_gb has over the weights
_SURE = 0.8  # of an estimate: less than this is too little by any reckoning


def reads_weights(situation: Situation) -> bool:
    """Whether the process reads the model's files from the hub or a directory."""
    model = situation.process.model
    if value(situation.process, "--load-format") == "dummy" or "://" in model or "$" in model:
        return False
    if not situation.native and value(situation.process, "--download-dir"):
        return False  # a directory of the container's own
    return situation.environment.get("VLLM_USE_MODELSCOPE", "0") in ("", "0")


def room(situation: Situation) -> Iterable[Finding] | None:
    """Free space under the hub's cache against the bytes still to be downloaded."""
    if not reads_weights(situation):
        return None
    weights, disk = situation.system.weights, situation.system.disk
    if weights is None:
        return unread(situation, "weights", "the model's files were not looked for")
    if weights.local:
        return None
    if weights.complete or (situation.system.hub is not None and situation.system.hub.offline):
        return []
    if disk is None:
        return unread(situation, "disk", "disk space was not measured")
    missing, estimated = _missing(situation)
    if missing is None or missing <= disk.free:
        return []
    certain = not estimated or disk.free < missing * _SURE
    about = "about " if estimated else ""
    return [
        Finding(
            severity="fail" if certain else "warn",
            what=f"{size(disk.free)} free under {disk.path}, "
            f"{about}{size(missing)} still to be downloaded",
            why="The download fills the disk and fails, and whatever else writes there with it.",
            remedy="Free space, or put the cache elsewhere: HF_HOME=/large/disk.",
            cause="HF_HOME",
        )
    ]


def _missing(situation: Situation) -> tuple[int | None, bool]:
    """Bytes to be downloaded, and whether that is an estimate by the recipe's memory figure."""
    weights = situation.system.weights
    present = weights.present_bytes if weights is not None else 0
    if weights is not None and weights.total_bytes is not None:
        return max(0, weights.total_bytes - present), False
    gigabytes = situation.variant.vram_minimum_gb
    if gigabytes is None:
        return None, True
    return max(0, int(gigabytes / _HEADROOM * 1e9) - present), True


def complete(situation: Situation) -> Iterable[Finding] | None:
    """A local directory: every weight file that the index names."""
    weights = situation.system.weights
    if not reads_weights(situation):
        return None
    if weights is None and situation.process.model.startswith(("/", ".", "~")):
        return not_saved(situation, "weights")
    if weights is None or not weights.local:
        return None
    if not weights.present:
        return [_incomplete(f"{weights.path} is not there")]
    if not weights.config:
        return [_incomplete(f"{weights.path} has no config.json")]
    if weights.expected is None and not weights.present_bytes:
        return [_incomplete(f"{weights.path} has no weights")]
    if weights.missing:
        lacking = counted(len(weights.missing), "weight file")
        what = f"{lacking} of {weights.expected} missing in {weights.path}: {weights.missing[0]}"
        return [_incomplete(what + (", …" if len(weights.missing) > 1 else ""))]
    return []


def _incomplete(what: str) -> Finding:
    return Finding(
        severity="fail",
        what=what,
        why="The server stops when it comes to that file.",
        remedy="Download the model again into this directory, or name its repository.",
    )


CHECKS = (
    Check(
        code="DISK",
        subject="model",
        about="free space in the hub's cache against what is still to be downloaded",
        run=room,
    ),
    Check(
        code="MODEL_INCOMPLETE",
        subject="model",
        about="a local directory has every file that its index names",
        run=complete,
    ),
)
