"""The vLLM that would run: there, new enough, on a Python that suits the recipe."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .driver import model_place, prerequisite
from .target import minimum, of_image
from .units import quoted
from .unread import not_saved, unread
from .version import is_development, is_less

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .situation import Situation

_NIGHTLY = "uv pip install -U vllm --extra-index-url https://wheels.vllm.ai/nightly"


def installed(situation: Situation) -> Iterable[Finding] | None:
    """The vllm command on PATH, where that is what is started."""
    if not situation.native or situation.process.program[0] != "vllm":
        return None
    vllm = situation.system.vllm
    if vllm is None:
        return unread(situation, "vllm", "vLLM was not looked for")
    if not vllm.path:
        return [
            Finding(
                severity="fail",
                what="vllm is not on PATH",
                why="The command starts it.",
                remedy="Install vLLM in this environment and activate it, or use a container: "
                "--runtime docker.",
                command=_install(situation),
            )
        ]
    if not vllm.version:
        return [
            Finding(
                severity="note",
                what=f"the version of {vllm.path} is not known: {vllm.error}",
                why="Nothing was compared with it.",
            )
        ]
    return []


def _install(situation: Situation) -> str:
    """How to get a vLLM that is new enough; AMD has it as an image."""
    if situation.brand == "AMD":
        return (
            f"docker pull {quoted(situation.deployment.image)}"
            if situation.deployment.image
            else ""
        )
    if situation.brand != "NVIDIA":
        return ""
    if situation.deployment.recipe.model.nightly_required:
        return _NIGHTLY
    needed = minimum(situation)
    return f"uv pip install -U {quoted(f'vllm>={needed}')}" if needed else "uv pip install -U vllm"


def new_enough(situation: Situation) -> Iterable[Finding] | None:
    """Its version, or that of the image's tag, against the recipe's minimum."""
    needed = minimum(situation)
    if not needed:
        return None
    if situation.native:
        vllm = situation.system.vllm
        version, what = (vllm.version, "is installed") if vllm is not None else ("", "")
        remedy, command = _newer(situation, needed), _install(situation)
    else:
        version, what = of_image(situation.deployment.image or ""), "is in the image"
        remedy, command = _newer_image(situation), ""
    if situation.asked is not None and situation.asked.version:
        version = situation.asked.version
    if not version:
        return not_saved(situation, "vllm") if situation.native else None
    if not is_less(version.partition("+")[0], needed):
        return []
    unsure = is_development(version)
    cause, source = "model.min_vllm_version", model_place(situation, "min_vllm_version")
    if situation.variant.min_vllm_version:
        source = situation.variant.where
        cause = f"variants.{situation.variant.id}.min_vllm_version"
    return [
        Finding(
            severity="warn" if unsure else "fail",
            what=f"vLLM {needed} or newer needed by the recipe, {version} {what}",
            why="A build between releases carries the number of the release before: "
            "whether it has what the recipe needs cannot be told."
            if unsure
            else "Older ones lack the model, or fail later, during inference.",
            remedy=remedy,
            command=command,
            cause=cause,
            source=source,
        )
    ]


def _newer(situation: Situation, needed: str) -> str:
    if is_less(of_image(situation.deployment.image or ""), needed):
        return "Update it."
    return "Update it, or use a container: --runtime docker."


def _newer_image(situation: Situation) -> str:
    if situation.deployment.image_source.layer == "operator":
        return "Use the recipe's own image, or a newer tag."
    return "Name a newer one with --image; the recipe's own is older than the recipe allows."


def python_suits(situation: Situation) -> Iterable[Finding] | None:
    """The Python beside the vllm command against the recipe's range."""
    needed = prerequisite(situation, "python")
    vllm = situation.system.vllm
    if not needed or not situation.native:
        return None
    if vllm is None or not vllm.python:
        return not_saved(situation, "vllm.python")
    least, _, most = (part.strip() for part in needed.partition("-"))
    too_old = is_less(vllm.python, least)
    too_new = bool(most) and is_less(most, vllm.python)
    if not too_old and not too_new:
        return []
    return [
        Finding(
            severity="warn",
            what=f"Python {needed} named by the recipe, vllm runs on {vllm.python}",
            why="Wheels of what vLLM needs may be missing for it.",
            remedy="Install vLLM in an environment with such a Python.",
            cause="model.prerequisites.python",
            source=model_place(situation, "prerequisites.python"),
        )
    ]


CHECKS = (
    Check(
        code="VLLM_MISSING",
        subject="vLLM",
        about="the vllm command is on PATH",
        run=installed,
    ),
    Check(
        code="VERSION",
        subject="vLLM",
        about="its version against the recipe's minimum, without importing it",
        run=new_enough,
    ),
    Check(
        code="PYTHON",
        subject="vLLM",
        about="the Python beside it against the recipe's range",
        run=python_suits,
    ),
)
