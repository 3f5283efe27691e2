"""Docker and podman: the daemon, GPU support, and an image."""

from __future__ import annotations

from ...model.host import LocalImage
from ...model.system import Engine, Image
from ..reading import list_dir, read_file
from .files import at, program
from .runner import NoAnswer, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_CDI = ("/etc/cdi", "/var/run/cdi")
_HOOKS = ("nvidia-container-runtime-hook", "nvidia-container-toolkit", "nvidia-container-runtime")
_NOT_HERE = ("no such image", "no such object", "image not known", "not found")


def read(name: str, root: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The engine's own account of itself."""
    path = program(name, environ, root)
    if not path:
        return {"engine": Engine(name=name)}
    shown = "{{json .}}" if name == "docker" else "json"
    engine = Engine(
        name=name,
        path=path,
        hook=any(program(hook, environ, root) for hook in _HOOKS),
        remote=environ.get("DOCKER_HOST", "").startswith(("tcp://", "ssh://")),
    )
    try:
        _, output, error = run([at(root, path), "info", "--format", shown], environ)
    except NoAnswer as failure:
        return {"engine": engine.replace(error=str(failure))}
    return {"engine": _from_info(engine, _mapping(output), error, root)}


def _from_info(engine: Engine, info: dict[str, Any], error: str, root: str) -> Engine:
    """What docker or podman info says."""
    if engine.name == "podman":
        version = (info.get("version") or {}).get("Version", "")
        security = (info.get("host") or {}).get("security") or {}
        rootless, runtimes = bool(security.get("rootless")), ()
    else:
        version = info.get("ServerVersion") or ""
        options = info.get("SecurityOptions") or ()
        rootless = any("rootless" in str(option) for option in options)
        runtimes = tuple(info.get("Runtimes") or ())
    return engine.replace(
        version=str(version),
        error="" if version else error or "its answer has no version",
        runtimes=runtimes,
        cdi=_cdi_kinds(root, tuple(info.get("CDISpecDirs") or ())),
        rootless=rootless,
    )


def _mapping(text: str) -> dict[str, Any]:
    import json

    try:
        found = json.loads(text)
    except ValueError:
        return {}
    if isinstance(found, list):
        found = found[0] if found else {}
    return found if isinstance(found, dict) else {}


def _cdi_kinds(root: str, more: tuple[str, ...]) -> tuple[str, ...]:
    """The kinds of devices that CDI specifications offer."""
    import re

    kinds: dict[str, None] = {}
    for directory in dict.fromkeys((*_CDI, *more)):
        for name in list_dir(at(root, directory)):
            if name.endswith((".yaml", ".yml", ".json")):
                text = read_file(at(root, directory, name)) or ""
                found = re.search(r"[\"']?kind[\"']?\s*:\s*[\"']?([\w.\-]+/[\w.\-]+)", text)
                if found:
                    kinds[found[1]] = None
    return tuple(kinds)


def local_images(name: str, root: str, environ: Mapping[str, str]) -> tuple[LocalImage, ...]:
    """The images with "vllm" in their names that an engine has; none where it is not on PATH.

    Nothing is pulled. Raises OSError where the engine does not answer.
    """
    path = program(name, environ, root)
    if not path:
        return ()
    words = ["image", "ls", "--no-trunc", "--digests", "--format", _IMAGE_FIELDS]
    status, output, error = run([at(root, path), *words], environ)
    if status:
        raise OSError(error or f"{name} image ls ended with {status}")
    found = (_local_image(name, line.split()) for line in output.splitlines() if "vllm" in line)
    return tuple(dict.fromkeys(image for image in found if image is not None))


_IMAGE_FIELDS = "{{.Repository}} {{.Tag}} {{.Digest}} {{.ID}}"
_NOTHING = "<none>"


def _local_image(engine: str, fields: list[str]) -> LocalImage | None:
    """An image out of one line; None for one that has lost its name."""
    if len(fields) != 4 or fields[0] == _NOTHING or "vllm" not in fields[0]:
        return None
    repository, tag, digest, identity = fields
    if tag == digest == _NOTHING:
        return None
    return LocalImage(
        engine=engine,
        reference=f"{repository}@{digest}" if tag == _NOTHING else f"{repository}:{tag}",
        id=identity,
        digest=None if digest == _NOTHING else digest,
    )


def image(name: str, reference: str, root: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """An image, where the engine has it."""
    path = program(name, environ, root)
    if not path:
        raise OSError(f"{name} is not on PATH")
    status, output, error = run([at(root, path), "image", "inspect", reference], environ)
    found = _mapping(output)
    if status or not found:
        if any(words in error.lower() for words in _NOT_HERE):
            return {"image": Image(reference=reference, local=False)}
        raise OSError(error or f"{name} image inspect ended with {status}")
    config = found.get("Config") or {}
    entrypoint = config.get("Entrypoint") or ()
    digests = found.get("RepoDigests") or ("",)
    variables = dict(str(one).partition("=")[::2] for one in config.get("Env") or ())
    words = (entrypoint,) if isinstance(entrypoint, str) else entrypoint
    return {
        "image": Image(
            reference=reference,
            local=True,
            entrypoint=tuple(str(word) for word in words),
            digest=str(digests[0]),
            id=str(found.get("Id") or ""),
            cuda=variables.get("CUDA_VERSION", ""),
        )
    }
