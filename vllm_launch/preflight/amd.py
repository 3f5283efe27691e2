"""AMD: device files, partitions, ROCm."""

from __future__ import annotations

from ..model.finding import Check, Finding
from ..model.host import MAKE_WHOLE
from .devices import chosen, listed
from .driver import model_place, prerequisite
from .unread import unread
from .version import is_less

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation


def usable(situation: Situation) -> Iterable[Finding] | None:
    """/dev/kfd and the render nodes, for reading and writing."""
    if situation.brand != "AMD":
        return None
    devices = situation.system.amd_devices
    if devices is None:
        return unread(situation, "amd_devices", "AMD device files were not checked")
    refused = [(path, reason) for path, reason in devices if reason]
    if not refused:
        return []
    if not situation.native:
        refused = [(path, reason) for path, reason in refused if reason == "not there"]
    return [_refused(situation, refused)] if refused else []


def _refused(situation: Situation, refused: list[tuple[str, str]]) -> Finding:
    path, reason = refused[0]
    more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
    absent = reason == "not there"
    facts = situation.facts
    gids = (
        sorted({g for g in (facts.video_gid, facts.render_gid) if g}) if facts is not None else []
    )
    return Finding(
        severity="fail",
        what=f"{path}: {reason}{more}",
        why="ROCm opens /dev/kfd and a render node for each GPU.",
        remedy="Load the amdgpu driver; in a container, pass --device=/dev/kfd --device=/dev/dri."
        if absent
        else "Join the groups that own them, by number where names differ, and log in again.",
        command="sudo modprobe amdgpu" if absent else _join(gids),
    )


def _join(gids: list[int]) -> str:
    if not gids:
        return 'sudo usermod -aG video,render "$USER"'
    names = ",".join(f'"$(getent group {gid} | cut -d: -f1)"' for gid in gids)
    return f'sudo usermod -aG {names} "$USER"'


def unpartitioned(situation: Situation) -> Iterable[Finding] | None:
    """Whole GPUs: SPX and NPS1."""
    if situation.brand != "AMD" or situation.facts is None:
        return None
    cut = [gpu for gpu in chosen(situation) if gpu.partition != ("SPX", "NPS1")]
    if not cut:
        return []
    modes = "/".join(cut[0].partition)
    return [
        Finding(
            severity="fail",
            what=f"{listed(cut)}: partitioned as {modes}, SPX/NPS1 needed",
            why="A partition is a part of a GPU, and reports memory that misleads.",
            remedy="Set both modes back while nothing uses the GPUs.",
            command=MAKE_WHOLE,
        )
    ]


def rocm_new_enough(situation: Situation) -> Iterable[Finding] | None:
    """The recipe's minimum ROCm; in a container the image brings its own."""
    needed = prerequisite(situation, "min_rocm")
    if situation.brand != "AMD" or not situation.native or not needed or situation.facts is None:
        return None
    cause, source = "model.prerequisites.min_rocm", model_place(situation, "prerequisites.min_rocm")
    rocm = situation.facts.rocm
    if rocm is None:
        what = f"ROCm {needed} or newer needed, the installed version is not known"
        return [Finding(severity="note", what=what, cause=cause, source=source)]
    if not is_less(rocm, needed):
        return []
    return [
        Finding(
            severity="fail",
            what=f"ROCm {needed} or newer needed by the recipe, {rocm} is installed",
            why="Its kernels need libraries that older versions lack.",
            remedy="Update ROCm, or use a container: --runtime docker.",
            cause=cause,
            source=source,
        )
    ]


CHECKS = (
    Check(code="AMD_DEVICES", subject="AMD", about="/dev/kfd and render nodes", run=usable),
    Check(
        code="AMD_PARTITION",
        subject="AMD",
        about="GPUs that are not partitioned",
        run=unpartitioned,
    ),
    Check(
        code="ROCM_OLD",
        subject="AMD",
        about="ROCm against the recipe's minimum",
        run=rocm_new_enough,
    ),
)
