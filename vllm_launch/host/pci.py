"""GPUs as the PCI bus has them: what is there even where no driver answers."""

from __future__ import annotations

from .reading import list_dir, read_file

_DEVICES = "sys/bus/pci/devices"
NVIDIA = "0x10de"
_DISPLAY = "0x03"  # the class of graphics and of compute accelerators without a display


def count(root: str, vendor: str) -> int:
    """How many of a vendor's GPUs are on the bus."""
    return sum(
        read_file(root, _DEVICES, name, "vendor") == vendor
        and (read_file(root, _DEVICES, name, "class") or "").startswith(_DISPLAY)
        for name in list_dir(root, _DEVICES)
    )
