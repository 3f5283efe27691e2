"""What the operator may say about a Kubernetes export, checked."""

from __future__ import annotations

from ...errors import UsageError
from ...model.image import is_image_reference, no_reference, told
from ...model.part import OTHERS
from ...model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import Brief

# A generated pod carries its set's name, revision and rank in labels of 63 characters.
_LONGEST_NAME = 36
_LONGEST_NAME_IN_SET = 28
_OWN_IMAGES = ("etcd", "nats")  # no image of a server has them
_GPU_RESOURCES = {
    "NVIDIA": "nvidia.com/gpu",
    "AMD": "amd.com/gpu",
    "Google": "google.com/tpu",
    "Intel": "gpu.intel.com/xe",
    "Huawei": "huawei.com/Ascend910",
}


class Settings(Record):
    """One export's own settings. Empty texts: not asked for."""

    name: str
    namespace: str = ""
    image: str
    images: Mapping[str, str] = {}  # of parts that have another, by role
    secret: str
    gpu_resource: str
    rdma: tuple[str, int] | None = None  # resource, and how many a pod
    claim: str = ""  # of a volume with the hub cache
    cache_path: str = ""  # on the node, with the hub cache
    node_selector: Mapping[str, str] = {}
    runtime_class: str = ""
    claim_template: str = ""
    host_network: bool = False
    privileged: bool = False
    disaggregated_set: bool = False
    startup_seconds: int | None = None


def settings_of(brief: Brief) -> Settings:
    """The settings of a brief. Raises UsageError for what Kubernetes would not take."""
    asked = brief.options
    image = _image(brief)
    name = _name(brief.name, bool(asked.get("disaggregated_set")))
    minutes = asked.get("startup_minutes")
    return Settings(
        name=name,
        namespace=_dns(asked.get("namespace"), "--namespace"),
        image=image,
        images=_images(brief),
        secret=_dns(asked.get("secret_name"), "--secret-name") or f"{name}-env",
        gpu_resource=asked.get("gpu_resource")
        or _GPU_RESOURCES.get(brief.deployment.choice.hardware.brand, ""),
        rdma=_rdma(asked.get("rdma_resource")),
        claim=_dns(asked.get("hub_cache_claim"), "--hub-cache-claim"),
        cache_path=_cache_path(brief),
        node_selector=_labels(asked.get("node_selector") or ()),
        runtime_class=_dns(asked.get("runtime_class"), "--runtime-class"),
        claim_template=_dns(asked.get("resource_claim_template"), "--resource-claim-template"),
        host_network=bool(asked.get("host_network")),
        privileged=bool(asked.get("privileged")),
        disaggregated_set=_in_set(brief),
        startup_seconds=minutes * 60 if minutes else None,
    )


def _name(name: str, in_set: bool) -> str:
    """A name that a Service may have too: it has to begin with a letter."""
    name = name if name[:1].isalpha() else f"vllm-{name}"
    longest = _LONGEST_NAME_IN_SET if in_set else _LONGEST_NAME
    if len(name) > longest:
        raise UsageError(
            f"{name} has {len(name)} characters, and names of pods leave room for {longest}",
            hint="give a shorter --name",
        )
    return name


def _image(brief: Brief) -> str:
    image = brief.deployment.image
    if image is None:
        raise UsageError(
            f"no image is known for {brief.deployment.choice.hardware.brand}",
            hint="give --image REF",
        )
    dynamo = brief.deployment.dynamo
    if dynamo is not None and brief.deployment.image_source.layer != "operator":
        raise UsageError(
            f"{image} has no Dynamo in it",
            hint=f"install {' '.join(dynamo.requirements) or 'ai-dynamo'} on top of it, and name "
            "what comes out with --image; or serve with vLLM alone: --frontend vllm",
        )
    return _reference(image, "--image")


def _images(brief: Brief) -> dict[str, str]:
    """Images of parts that do not run from the server's. Raises UsageError where one has to."""
    found = {}
    roles = {part.role for part in brief.parts if part.argv}
    beside = ", ".join(role for role in OTHERS if role in roles) or "none"
    for text in brief.options.get("part_image") or ():
        role, _, image = text.partition("=")
        if role not in roles or role not in OTHERS or not image:
            raise UsageError(
                f"--part-image: found {told(text)}; expected ROLE=REF",
                hint=f"parts beside the servers here: {beside}",
            )
        found[role] = _reference(image, "--part-image")
    for role in _OWN_IMAGES:
        if role in roles and role not in found:
            raise UsageError(f"no image is known for {role}", hint=f"give --part-image {role}=REF")
    return found


def _reference(image: str | None, option: str) -> str:
    if image and not is_image_reference(image):
        raise UsageError(f"{option}: {no_reference(image)}", hint="write NAME:TAG or NAME@sha256:…")
    return image or ""


def _dns(name: str | None, option: str) -> str:
    """The name of an object. Raises UsageError for one that Kubernetes would not take."""
    if name is None:
        return ""
    kept = name.replace("-", "a").replace(".", "a")
    plain = kept.isascii() and kept.isalnum() and name == name.lower()
    if not plain or not (name[0].isalnum() and name[-1].isalnum()) or len(name) > 63:
        raise UsageError(
            f"{option}: found {name!r}; expected lower case letters, digits and dashes",
            hint=f"for example {option} models",
        )
    return name


def _rdma(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    name, equals, count = text.partition("=")
    if not name or (equals and not (count.isascii() and count.isdecimal() and int(count) > 0)):
        raise UsageError(
            f"--rdma-resource: found {text!r}; expected NAME[=COUNT]",
            hint="for example --rdma-resource rdma/hca_shared_devices_a=1",
        )
    return name, int(count or 1)


def _cache_path(brief: Brief) -> str:
    path = brief.options.get("hub_cache_path")
    if path is None:
        return ""
    if brief.options.get("hub_cache_claim"):
        raise UsageError(
            "--hub-cache-claim and --hub-cache-path each say where the hub cache is",
            hint="leave one out",
        )
    if not path.startswith("/"):
        raise UsageError(
            f"--hub-cache-path: found {path!r}; expected a whole path on the nodes",
            hint="for example --hub-cache-path /mnt/models/huggingface",
        )
    return str(path)


def _labels(texts: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise UsageError(
                f"--node-selector: found {text!r}; expected KEY=VALUE",
                hint="for example --node-selector nvidia.com/gpu.product=NVIDIA-H200",
            )
        found[name] = value
    return found


def _in_set(brief: Brief) -> bool:
    if not brief.options.get("disaggregated_set"):
        return False
    if {"prefill", "decode"} - {part.role for part in brief.parts}:
        raise UsageError(
            "--disaggregated-set is for a prefill and a decode pool together",
            hint="give --strategy pd_cluster, or leave it out",
        )
    return True
