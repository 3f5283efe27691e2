"""Host facts as JSON: what ``detect --save`` writes and ``--host-facts`` loads.

The file may come from anywhere, so nothing of it is believed: each value has
the type of its field, and every fault is named with its place at once.
"""

from __future__ import annotations

from ..errors import UsageError, first_of, not_json, of_a_newer
from ..model.host import (
    Gpu,
    GpuProcess,
    HostFacts,
    LocalImage,
    MigDevice,
    NetworkInterface,
    NumaNode,
    RdmaDevice,
)
from ..model.record import Record
from .reading import why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FORMAT = "vllm-launch host facts"
VERSION = 1
LARGEST_BYTES = 1 << 20
_LARGEST_INT = (1 << 63) - 1
_SHOWN_FAULTS = 20
_HEADER = ("format", "version")
_REQUIRED: dict[Any, tuple[str, ...]] = {
    HostFacts: ("gpus",),
    Gpu: ("index", "vendor", "name"),
    GpuProcess: ("pid",),
    MigDevice: (),
    NumaNode: ("node", "cpus"),
    LocalImage: ("engine", "reference"),
    NetworkInterface: ("name",),
    RdmaDevice: ("name",),
}
_VENDORS = ("NVIDIA", "AMD")
_ANEW = "write it again with this version's: vllm-launch detect --save FILE"
_UNKNOWN = ": no such key"
_HINT = "such a file is written by: vllm-launch detect --save FILE"


def save(facts: HostFacts, path: str) -> None:
    """Write the facts. They name devices, versions and network addresses; no user."""
    import json

    text = json.dumps(to_dict(facts), indent=2) + "\n"
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot write host facts to {path}: {why(error)}", hint="name another file"
        ) from error


def load(path: str) -> HostFacts:
    """The facts in a file; UsageError says all that is wrong with it."""
    import json

    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read host facts from {path}: {why(error)}", hint=_HINT) from error
    if len(content) > LARGEST_BYTES:
        raise UsageError(f"{path} is over 1 MiB: no host facts file", hint=_HINT)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {not_json(content, error)}", hint=_HINT) from error
    return from_dict(value, path)


def to_dict(facts: HostFacts) -> dict[str, Any]:
    """The versioned form of the facts: plain values, keys in the records' order."""
    return {"format": FORMAT, "version": VERSION, **_plain(facts)}


def from_dict(value: object, source: str = "host facts") -> HostFacts:
    """The facts that a decoded JSON value states; ``source`` names it in the error."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise UsageError(f'{source} has no "format": "{FORMAT}"', hint=_HINT)
    version = value.get("version")
    if type(version) is not int or version != VERSION:
        raise UsageError(
            f"{source} is of version {version!r}; this vllm-launch reads version {VERSION}",
            hint=of_a_newer(version, VERSION) + _ANEW,
        )
    faults: list[str] = []
    body = {key: item for key, item in value.items() if key not in _HEADER}
    facts = _record(HostFacts, body, "", faults)
    faults += _contradictions(facts) if isinstance(facts, HostFacts) else []
    if faults or not isinstance(facts, HostFacts):
        shown = "\n  ".join(first_of(faults, _SHOWN_FAULTS))
        newer = all(fault.endswith(_UNKNOWN) for fault in faults)
        hint = f"a newer vllm-launch may have written it: {_ANEW}" if newer else _HINT
        raise UsageError(f"{source} is not valid:\n  {shown}", hint=hint)
    return facts


def _plain(value: object) -> Any:
    if isinstance(value, Record):
        return {field: _plain(getattr(value, field)) for field in type(value).__annotations__}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _record(cls: Any, value: object, where: str, faults: list[str]) -> Any:
    """A record of what its annotations say, or None with the faults noted."""
    if not isinstance(value, dict):
        faults.append(f"{where or 'the file'}: must be an object")
        return None
    before, fields, prefix = len(faults), cls.__annotations__, f"{where}." if where else ""
    faults += [f"{prefix}{_printed(key)}{_UNKNOWN}" for key in value if key not in fields]
    faults += [f"{prefix}{key}: is missing" for key in _REQUIRED[cls] if key not in value]
    parsed = {
        field: _field(annotation, value[field], prefix + field, faults)
        for field, annotation in fields.items()
        if field in value
    }
    return cls(**parsed) if len(faults) == before else None


def _printed(key: str) -> str:
    """A key of someone's file, safe to print."""
    return ascii(key[:80]).strip("'\"")


def _field(annotation: str, value: object, where: str, faults: list[str]) -> Any:
    plain = annotation.removesuffix(" | None")
    if value is None and plain != annotation:
        return None
    if plain in _LISTS:
        return _list(_LISTS[plain], value, where, faults)
    says, is_valid = _SCALARS[plain]
    if not is_valid(value):
        faults.append(f"{where}: must be {says}{'' if plain == annotation else ' or null'}")
    return value


def _list(parse: Callable[..., Any], value: object, where: str, faults: list[str]) -> Any:
    if not isinstance(value, list):
        faults.append(f"{where}: must be a list")
        return ()
    return tuple(parse(item, f"{where}[{index}]", faults) for index, item in enumerate(value))


def _one(cls: type[Record]) -> Callable[..., Any]:
    return lambda value, where, faults: _record(cls, value, where, faults)


def _text(value: object, where: str, faults: list[str]) -> object:
    if not _is_text(value):
        faults.append(f"{where}: must be a string of printable characters")
    return value


def _pair(value: object, where: str, faults: list[str]) -> tuple[str, ...]:
    if isinstance(value, list) and len(value) == 2 and all(_is_text(item) for item in value):
        return tuple(value)
    faults.append(f"{where}: must be a list of two strings")
    return ()


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_INT


def _is_text(value: object) -> bool:
    """Of one line and printable: these strings are shown in a terminal."""
    return isinstance(value, str) and value.isprintable()


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


_SCALARS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "int": ("a whole number, 0 or more", _is_count),
    "str": ("a string of printable characters", _is_text),
    "bool": ("true or false", _is_bool),
}
_LISTS: dict[str, Callable[..., Any]] = {
    "tuple[Gpu, ...]": _one(Gpu),
    "tuple[GpuProcess, ...]": _one(GpuProcess),
    "tuple[LocalImage, ...]": _one(LocalImage),
    "tuple[MigDevice, ...]": _one(MigDevice),
    "tuple[NumaNode, ...]": _one(NumaNode),
    "tuple[NetworkInterface, ...]": _one(NetworkInterface),
    "tuple[RdmaDevice, ...]": _one(RdmaDevice),
    "tuple[str, ...]": _text,
    "tuple[tuple[str, str], ...]": _pair,
}


def _contradictions(facts: HostFacts) -> list[str]:
    faults = [
        f"gpus[{place}].vendor: must be one of {', '.join(_VENDORS)}"
        for place, gpu in enumerate(facts.gpus)
        if gpu.vendor not in _VENDORS
    ]
    seen: set[tuple[str, int]] = set()
    for place, gpu in enumerate(facts.gpus):
        if (gpu.vendor, gpu.index) in seen:
            faults.append(f"gpus[{place}].index: a second {gpu.vendor} GPU {gpu.index}")
        seen.add((gpu.vendor, gpu.index))
    return faults
