"""The containers of a deployment's parts, for engines that run them on machines by name."""

from __future__ import annotations

from ..errors import UsageError
from ..model.image import is_image_reference, told
from ..model.part import SERVERS
from ..resolve.container import Access, Container, container_of
from ..resolve.parts import parts as parts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..model.part import Part
    from . import Brief

_OWN_IMAGES = ("etcd", "nats")  # which are in no image of vLLM's
_NEED_GPUS = ("companion",)
_NEED_MACHINE = ("companion", "store")  # shared memory, and the network cards


def images_of(brief: Brief) -> dict[str, str]:
    """The images of parts beside the servers, by role. Raises UsageError where one has to be."""
    images = {}
    roles = tuple(dict.fromkeys(p.role for p in brief.parts if p.role not in SERVERS and p.argv))
    for text in brief.options.get("part_image") or ():
        role, _, image = text.partition("=")
        if role not in roles or not is_image_reference(image):
            raise UsageError(
                f"--part-image: found {told(text)}; expected ROLE=REF",
                hint=f"parts beside the servers here: {', '.join(roles) or 'none'}",
            )
        images[role] = image
    for role in _OWN_IMAGES:
        if role in roles and role not in images:
            raise UsageError(f"no image is known for {role}", hint=f"give --part-image {role}=REF")
    return images


def image_notes(parts: Sequence[Part], images: Mapping[str, str]) -> Iterator[str]:
    """Which parts run from the servers' image for want of another."""
    for part in parts:
        if part.role not in SERVERS and part.role not in images:
            module = part.argv[2] if part.argv[1:2] == ("-m",) else ""  # of Python
            yield (
                f"The image of the servers must have {module or part.argv[0]} in it; "
                f"another one for it: --part-image {part.role}=REF"
            )


def by_name(brief: Brief) -> tuple[str, ...]:
    """Variables that reach the servers from the environment, where they are set."""
    return tuple(dict.fromkeys(("HF_TOKEN", *brief.passed_by_name)))


def container_for(
    part: Part, brief: Brief, images: Mapping[str, str], outside: str, inside: str
) -> Container:
    """The container of a server, or of what runs beside the servers.

    Configuration files are in the directory ``outside``, and are mounted into ``inside``.
    """
    container = _server(part, brief) if part.plan is not None else _beside(part, brief, images)
    files = {f"{inside}/{file.name}": f"{outside}/{file.name}" for file in part.files}
    others = tuple(mount for mount in container.mounts if mount[1] not in files)
    mounts = (*others, *((path, target, False) for target, path in files.items()))
    return container.replace(mounts=mounts, name=None)


def _server(part: Part, brief: Brief) -> Container:
    setup = brief.setup
    if setup is None or part.plan is None:
        raise UsageError("this target runs containers", hint="leave --runtime native out")
    deployment = brief.deployment
    setup = setup.replace(passed_by_name=by_name(brief), host_network=deployment.on_host_network)
    return container_of(part.plan, deployment.choice.hardware, deployment.image or "", setup)


def _beside(part: Part, brief: Brief, images: Mapping[str, str]) -> Container:
    """A part that is no server, with what it needs of a server's access to the machine."""
    server = _server(next(p for p in parts_of(brief.deployment) if p.plan is not None), brief)
    access = server.access if part.role in _NEED_MACHINE else (Access(host_network=True),)
    if part.role not in _NEED_GPUS:
        access = tuple(each.replace(gpus=None) for each in access)
    return Container(
        engine=server.engine,
        access=access,
        mounts=tuple((path, path, False) for path in part.reads),
        variables=part.env,
        image=images.get(part.role, server.image),
        entrypoint=part.argv[0],
        command=part.argv[1:],
    )
