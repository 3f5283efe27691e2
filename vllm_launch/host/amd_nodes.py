"""The device files of AMD GPUs: whether they can be opened, and whose they are."""

from __future__ import annotations

import os

from .reading import list_dir, read_file, why

_KFD = "dev/kfd"
_DRI = "dev/dri"
_AMD = "0x1002"


def access(root: str) -> tuple[tuple[str, str], ...]:
    """Each file, and "read and write" or why not. Opened, not asked of the permission bits:
    a container's device rules do not show in those."""
    names = [_KFD, *(f"{_DRI}/{name}" for name in _render_nodes(root))]
    return tuple((f"/{name}", _opened(os.path.join(root, name))) for name in names)


def _render_nodes(root: str) -> list[str]:
    """Those of AMD's, and those whose vendor is not told."""
    names = [name for name in list_dir(root, _DRI) if name.startswith("renderD")]
    vendors = [read_file(root, "sys/class/drm", name, "device/vendor") for name in names]
    return [name for name, vendor in zip(names, vendors, strict=True) if vendor in (None, _AMD)]


def _opened(path: str) -> str:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError as error:
        return why(error)
    return "read and write"


def render_gid(root: str) -> int | None:
    """The numeric group of the render nodes."""
    names = _render_nodes(root)
    return _gid(root, _DRI, names[0]) if names else None


def kfd_gid(root: str) -> int | None:
    """The numeric group of the compute device."""
    return _gid(root, _KFD)


def _gid(*path: str) -> int | None:
    try:
        return os.stat(os.path.join(*path)).st_gid
    except OSError:
        return None
