"""Container engines and images."""

from __future__ import annotations

from .symptom import Symptom, Try

CONTAINERS = (
    Symptom(
        code="TOOLKIT",
        hint="device driver",
        pattern=r"could not select device driver .*gpu",
        what="Docker has no NVIDIA container toolkit",
        remedy="Install nvidia-container-toolkit and have it configure Docker.",
        next=Try(instead="sudo nvidia-ctk runtime configure --runtime=docker"),
    ),
    Symptom(
        code="ROOTLESS",
        hint="cdi",
        pattern=r"unresolvable CDI devices nvidia\.com/gpu|stat nvidia\.com/gpu=all: no such file",
        what="podman finds no description of the GPUs",
        remedy="Write it with the NVIDIA container toolkit.",
        next=Try(instead="sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"),
    ),
    Symptom(
        code="IMAGE_TAG",
        hint="manifest",
        pattern=r"manifest (?:for \S+ not found|unknown)|manifest unknown",
        what="the registry has no such tag",
        remedy="Name an image that it has.",
        next=Try(subcommand="explain"),
    ),
    Symptom(
        code="IMAGE_TAG",
        hint="pull access denied",
        pattern=r"pull access denied",
        what="the registry has no such image, or wants a login for it",
        remedy="Name an image that it has, or log in to it.",
        next=Try(subcommand="explain"),
    ),
    Symptom(
        code="NAME_BUSY",
        hint="the container name",
        pattern=r"Conflict\. The container name \"/?(?P<name>[\w.-]+)\" is already in use"
        r"|the container name \"(?P<podmans>[\w.-]+)\" is already in use",
        what="a container has that name",
        remedy="Remove it where it is not needed any more, or take another name.",
        next=lambda values: Try(options=("--name", f"{values.get('name') or values['podmans']}-2")),
    ),
    Symptom(
        code="ENGINE",
        hint="docker",
        pattern=r"(?:permission denied|Cannot connect).*(?:Docker daemon|docker\.sock)"
        r"|docker: (?:command )?not found",
        what="Docker is not running, or this user may not use it",
        remedy="Start it, or join its group and log in anew.",
        next=Try(instead="sudo systemctl start docker"),
    ),
    Symptom(
        code="ENTRYPOINT",
        hint="serve",
        pattern=r'exec: "?serve"?: executable file not found'
        r"|unrecognized arguments: (?:vllm )?serve\b|unrecognized command.*serve serve",
        what="the image's entry point and the command do not go together",
        remedy="Leave the command to the launcher: it knows what the image starts.",
        next=Try(options=("--runtime", "docker")),
    ),
    Symptom(
        code="TILDE",
        hint="~",
        pattern=r'includes invalid characters for a local volume name.*|"~/?\S*": (?:No such file'
        r"|invalid)|'~/\S+'.*No such file",
        what="a ~ reached the container engine as it stands",
        remedy="Print the command by the launcher: it writes the whole path.",
        next=Try(options=("--runtime", "docker", "--dry-run")),
    ),
)
