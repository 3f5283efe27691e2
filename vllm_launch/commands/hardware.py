"""What a request is planned for: a named profile, or the GPUs of a host."""

from __future__ import annotations

import os

from ..errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..catalog.shelf import Found
    from ..model.choice import Request
    from ..model.taxonomy import Taxonomy
    from ..resolve.on_host import Host
    from ..settings import Settings


def for_hardware(
    request: Request,
    settings: Settings,
    taxonomy: Taxonomy,
    found: Found,
    host: Host | None = None,
) -> tuple[Request, Host | None]:
    """Plan for the named profile or the preset's; else for the GPUs that are there.

    ``host`` is what was found there before, where it was.
    """
    named = settings["hardware"]
    detected = named in (None, "auto") or (
        named == "cpu" and "cpu" not in taxonomy.hardware_profiles
    )
    if not detected and not _facts_instead(settings):
        return request.replace(hardware=named, devices=_devices(settings)), None
    if request.preset is not None and named is None and settings["host_facts"] is None:
        return request.replace(devices=_devices(settings)), None
    from ..host.checkpoint import find, read
    from ..resolve.on_host import request_for_host
    from .host import find_host

    host = host or find_host(settings, taxonomy)
    path = find(found.model_path or found.recipe.model.model_id, os.environ)
    return request_for_host(host, request, read(path) if path is not None else None), host


def _facts_instead(settings: Settings) -> bool:
    """Whether --host-facts was set nearer to the command line than --hardware."""
    if settings["host_facts"] is None:
        return False
    if settings.outranks("host_facts", "hardware"):
        return True
    if settings.outranks("hardware", "host_facts"):
        return False
    raise UsageError(
        f"{settings.source('hardware')} and {settings.source('host_facts')} each name a machine",
        hint="leave one out",
    )


def _devices(settings: Settings) -> tuple[str, ...] | None:
    """The GPUs named with --gpus, of a machine that is not looked at. Raises UsageError."""
    if settings["gpus"] is None:
        return None
    devices = tuple(settings["gpus"].split(","))
    if len(set(devices)) < len(devices) or not all(map(_is_device, devices)):
        raise UsageError(
            f"{settings.source('gpus')}: found {settings['gpus']!r}; expected indices or UUIDs, "
            "each once, with commas between",
            hint="for example --gpus 0,1,2,3",
        )
    return devices


def _is_device(name: str) -> bool:
    """Whether a name has the form of an index, or of a GPU's or MIG instance's UUID."""
    if name.isascii() and name.isdecimal():
        return True
    return name.startswith(("GPU-", "MIG-")) and name.replace("-", "").isalnum()
