"""Drivers and GPU generations against what wheels, images and recipes need."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .devices import chosen, listed
from .layout import layout
from .unread import not_saved
from .version import is_less, major

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.host import Gpu
    from ..model.source import Source
    from .situation import Situation

_DRIVER_OF = {12: 525, 13: 580}  # the oldest driver branch that serves a CUDA version


def prerequisite(situation: Situation, key: str) -> str:
    """One of the recipe's structured prerequisites; "" where it names none."""
    found = situation.deployment.recipe.model.prerequisites
    value = found.get(key) if isinstance(found, dict) else None
    return str(value) if value is not None else ""


def model_place(situation: Situation, key: str) -> Source:
    """Where a key of the recipe's model stands, "prerequisites.python"."""
    recipe = situation.deployment.recipe
    return dict(recipe.model.places).get(key, recipe.where)


def cuda_served(situation: Situation) -> Iterable[Finding] | None:
    """The CUDA version of the wheel or image against the driver's."""
    facts = situation.facts
    needed, where = _cuda_needed(situation)
    if facts is None or situation.brand != "NVIDIA":
        return None
    if not needed:
        return not_saved(situation, "vllm.cuda" if situation.native else "image")
    serves = _cuda_served(facts.cuda_driver, facts.nvidia_driver)
    wanted = major(needed)
    if serves is None or wanted is None:
        return [
            Finding(
                severity="note", what=f"CUDA {needed} needed by {where}, the driver is not known"
            )
        ]
    if wanted <= serves:
        return []
    least = f" (driver {_DRIVER_OF[wanted]} or newer)" if wanted in _DRIVER_OF else ""
    driver = f"driver {facts.nvidia_driver}" if facts.nvidia_driver else "the driver"
    compatible = situation.environment.get("VLLM_ENABLE_CUDA_COMPATIBILITY", "0") not in ("", "0")
    return [
        Finding(
            severity="warn" if compatible else "fail",
            what=f"CUDA {needed} needed by {where}{least}, {driver} serves CUDA {serves}",
            why="CUDA programs do not start on a driver of an older major version.",
            remedy=f"Update the driver, or take a wheel or image for CUDA {serves}.",
        )
    ]


def _cuda_needed(situation: Situation) -> tuple[str, str]:
    """A CUDA version, and what needs it."""
    if situation.native:
        vllm = situation.system.vllm
        return (vllm.cuda, "the installed vLLM") if vllm is not None else ("", "")
    image = situation.system.image
    if image is not None and image.cuda:
        return image.cuda, f"the image {image.reference}"
    tag = (situation.deployment.image or "").rpartition(":")[2]
    for part in tag.replace("_", "-").split("-"):
        digits = part.removeprefix("cu")
        if part.startswith("cu") and digits.isdecimal() and len(digits) >= 3:
            return f"{digits[:2]}.{digits[2:]}", f"the image {situation.deployment.image}"
    return "", ""


def _cuda_served(cuda: str | None, driver: str | None) -> int | None:
    if cuda is not None:
        return major(cuda)
    branch = major(driver)
    if branch is None:
        return None
    return max((c for c, least in _DRIVER_OF.items() if branch >= least), default=11)


def driver_new_enough(situation: Situation) -> Iterable[Finding] | None:
    """The recipe's minimum driver."""
    facts, needed = situation.facts, prerequisite(situation, "min_nvidia_driver")
    if facts is None or facts.nvidia_driver is None or not needed or situation.brand != "NVIDIA":
        return None
    driver = facts.nvidia_driver
    if not is_less(driver, needed):
        return []
    wheel = major(_cuda_needed(situation)[0])
    serves = _cuda_served(facts.cuda_driver, driver)
    suits = wheel is not None and serves is not None and wheel <= serves
    return [
        Finding(
            severity="fail" if situation.native and not suits else "warn",
            what=f"NVIDIA driver {needed} or newer needed by the recipe, {driver} is installed",
            why="The recipe was made for builds that older drivers do not serve.",
            remedy="Update the driver.",
            cause="model.prerequisites.min_nvidia_driver",
            source=model_place(situation, "prerequisites.min_nvidia_driver"),
        )
    ]


def generation_fits(situation: Situation) -> Iterable[Finding] | None:
    """The recipe's minimum compute capability, and whether it lists the hardware."""
    return [*_capability(situation), *_listed(situation)]


def _capability(situation: Situation) -> Iterable[Finding]:
    needed = prerequisite(situation, "min_compute_capability")
    if not needed or situation.brand != "NVIDIA":
        return []
    old = [gpu for gpu in chosen(situation) if _older(gpu, needed)]
    if not old:
        return []
    return [
        Finding(
            severity="fail",
            what=f"{listed(old)}: compute capability {old[0].compute_capability}, {needed} needed",
            why="The recipe's kernels do not run on an older generation.",
            remedy="Use newer GPUs, or another model.",
            cause="model.prerequisites.min_compute_capability",
            source=model_place(situation, "prerequisites.min_compute_capability"),
        )
    ]


def _older(gpu: Gpu, needed: str) -> bool:
    return gpu.compute_capability is not None and bool(is_less(gpu.compute_capability, needed))


def _listed(situation: Situation) -> Iterable[Finding]:
    recipe = situation.deployment.recipe
    support = recipe.meta.hardware
    hardware = situation.deployment.choice.hardware.id
    if hardware in support or set(support.values()) <= {"unverified"}:
        return []
    return [
        Finding(
            severity="note",
            what=f"{hardware} is not among what the recipe lists: {', '.join(support)}",
            why="Nobody has said that its settings suit this hardware.",
            cause="meta.hardware",
            source=dict(recipe.meta.places).get("hardware", recipe.where),
        )
    ]


def fabric_ready(situation: Situation) -> Iterable[Finding] | None:
    """NVSwitch: the GPUs have joined their fabric, and its manager is the driver's version."""
    if situation.facts is None or situation.brand != "NVIDIA":
        return None
    if layout(situation.process).ranks < 2:
        return None
    waiting = [g for g in chosen(situation) if g.fabric_state not in (None, "completed")]
    if waiting:
        return [_fabric(f"{listed(waiting)}: NVLink fabric {waiting[0].fabric_state}")]
    fabric = situation.system.fabric
    if fabric is None and not any(g.fabric_state for g in chosen(situation)):
        return not_saved(situation, "fabric") or []
    if fabric is None or not fabric.switches:
        return []
    driver = situation.facts.nvidia_driver
    if fabric.manager is False and not any(g.fabric_state for g in chosen(situation)):
        return [_fabric("the fabric manager does not run, and this host has NVSwitches")]
    if fabric.version and driver and fabric.version != driver:
        return [_fabric(f"fabric manager {fabric.version} does not match driver {driver}")]
    return []


def _fabric(what: str) -> Finding:
    return Finding(
        severity="fail",
        what=what,
        why="CUDA starts with error 802, system not yet initialized.",
        remedy="Start the fabric manager, in the very version of the driver.",
        command="sudo systemctl restart nvidia-fabricmanager",
    )


CHECKS = (
    Check(
        code="DRIVER_CUDA",
        subject="driver",
        about="the driver against the CUDA version of the wheel or image",
        run=cuda_served,
    ),
    Check(
        code="DRIVER_OLD",
        subject="driver",
        about="the driver against the recipe's minimum",
        run=driver_new_enough,
    ),
    Check(
        code="HARDWARE_FIT",
        subject="driver",
        about="the GPUs' generation against what the recipe names",
        run=generation_fits,
    ),
    Check(
        code="FABRIC_802",
        subject="driver",
        about="NVSwitch: fabric state, and its manager's version",
        run=fabric_ready,
    ),
)
