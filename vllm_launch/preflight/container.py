"""The container engine and the image."""

from __future__ import annotations

from ..model.finding import Check, Finding
from .units import quoted
from .unread import not_saved, unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..model.system import Engine, Image
    from .situation import Situation

_MUTABLE = ("", "latest", "nightly", "main", "master", "dev", "stable")
_GPU_KIND = "nvidia.com/gpu"
_SHELLS = ("sh", "bash", "entrypoint.sh", "nvidia_entrypoint.sh", "docker-entrypoint.sh", "tini")


def engine_answers(situation: Situation) -> Iterable[Finding] | None:
    """Docker or podman on PATH, and its daemon."""
    if situation.native:
        return None
    engine = situation.system.engine
    if engine is None:
        return unread(situation, "engine", f"{situation.runtime} was not asked", cause="--runtime")
    if not engine.path:
        return [
            Finding(
                severity="fail",
                what=f"{engine.name} is not on PATH",
                why="The plan runs in a container.",
                remedy=f"Install {engine.name}, or leave --runtime out for a native server.",
                cause="--runtime",
            )
        ]
    return [_silent(engine)] if not engine.version else []


def _silent(engine: Engine) -> Finding:
    denied = "permission denied" in engine.error.lower()
    start = "sudo systemctl start docker" if engine.name == "docker" else "podman info"
    return Finding(
        severity="fail",
        what=f"{engine.name} does not answer: {engine.error or 'no reason given'}",
        why="No container can be started.",
        remedy="Join the docker group and log in again." if denied else "Start its service.",
        command='sudo usermod -aG docker "$USER"' if denied else start,
        cause="--runtime",
    )


def gpus_handed_in(situation: Situation) -> Iterable[Finding] | None:
    """The NVIDIA container toolkit, or CDI."""
    engine = situation.system.engine
    if situation.native or situation.brand != "NVIDIA":
        return None
    if engine is None:
        return not_saved(situation, "engine")
    if not engine.version:
        return None
    if _GPU_KIND in engine.cdi:
        return []
    if engine.name == "podman":
        return [
            Finding(
                severity="fail",
                what=f"podman has no CDI specification of {_GPU_KIND}",
                why="Its containers get GPUs by CDI names, rootless ones by nothing else.",
                remedy="Install the NVIDIA container toolkit and write the specification.",
                command="sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
                cause="--runtime",
            )
        ]
    if "nvidia" in engine.runtimes or engine.hook:
        return []
    return [
        Finding(
            severity="warn" if engine.remote else "fail",
            what="docker has neither the nvidia runtime nor a CDI specification of GPUs",
            why="docker stops at --gpus: it could not select a device driver.",
            remedy="Install nvidia-container-toolkit, then make it known to docker.",
            command="sudo nvidia-ctk runtime configure --runtime=docker && "
            "sudo systemctl restart docker",
            cause="--runtime",
        )
    ]


def starts_the_server(situation: Situation) -> Iterable[Finding] | None:
    """The entrypoint of an image that is here: what follows it is a model and its flags."""
    image = situation.system.image
    if situation.native:
        return None
    if image is None:
        return not_saved(situation, "image")
    if not image.local:
        return None
    words = [word.rpartition("/")[2] for word in image.entrypoint]
    if words[-2:] == ["vllm", "serve"] or (words and words[-1].startswith("vllm.entrypoints")):
        return []
    shown = " ".join(image.entrypoint) or "none"
    wrapped = bool(words) and (words[-1] in _SHELLS or words[-1].endswith(".sh"))
    return [
        Finding(
            severity="warn" if wrapped else "fail",
            what=f"the entrypoint of {image.reference} is {shown}, and vllm serve is expected",
            why="The model's name would be run as a program, or be handed to another one.",
            remedy="Use an image whose entrypoint is vllm serve.",
            command=f"{situation.runtime} image inspect -f '{{{{.Config.Entrypoint}}}}' "
            f"{quoted(image.reference)}",
            cause="--image",
            source=situation.deployment.image_source,
        )
    ]


def tag_fixed(situation: Situation) -> Iterable[Finding] | None:
    """A tag that may be another image tomorrow, and one that is not here yet."""
    reference = situation.deployment.image
    if situation.native or reference is None:
        return None
    image = situation.system.image
    return [*_mutable(situation, reference, image), *_absent(situation, reference, image)]


def _mutable(situation: Situation, reference: str, image: Image | None) -> Iterable[Finding]:
    name = reference.rpartition("/")[2]
    tag = name.partition(":")[2]
    if "@sha256:" in reference or tag not in _MUTABLE:
        return
    own = situation.deployment.image_source.layer == "operator"
    digest = image.digest if image is not None else ""
    yield Finding(
        severity="warn" if own else "note",
        what=f"the tag of {reference} moves",
        why="Nodes that pull on different days run different servers.",
        remedy=f"To hold what is here now: --image {digest}."
        if digest
        else "Pin it by digest: --image NAME@sha256:…",
        cause="--image",
        source=situation.deployment.image_source,
    )


def _absent(situation: Situation, reference: str, image: Image | None) -> Iterable[Finding]:
    if image is None or image.local:
        return
    yield Finding(
        severity="note",
        what=f"{reference} is not here yet, and {situation.runtime} will pull it",
        why="Some ten gigabytes; a tag that does not exist is found out only then.",
        command=f"{situation.runtime} pull {quoted(reference)}",
        cause="--image",
        source=situation.deployment.image_source,
    )


CHECKS = (
    Check(
        code="ENGINE",
        subject="container",
        about="docker or podman is there and answers",
        run=engine_answers,
    ),
    Check(
        code="TOOLKIT",
        subject="container",
        about="containers can be given NVIDIA GPUs",
        run=gpus_handed_in,
    ),
    Check(
        code="ENTRYPOINT",
        subject="container",
        about="the image's entrypoint is vllm serve",
        run=starts_the_server,
    ),
    Check(
        code="IMAGE_TAG",
        subject="container",
        about="a tag that moves, an image that is to be pulled",
        run=tag_fixed,
    ),
)
