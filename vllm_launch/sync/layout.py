"""Which files of a source are taken: those of a recipes directory, under harmless names."""

from __future__ import annotations

from ..catalog.library import is_plain_name
from .limits import SourceError, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .limits import Limits

# Folder: how many names below it, and how the last one may end.
_FOLDERS = {
    "models": (2, (".yaml", ".yml", ".json")),
    "overlays": (2, (".yaml",)),
    "strategies": (1, (".yaml",)),
    "kv_store": (1, (".yaml",)),
}
_TAXONOMY = "taxonomy.yaml"
_LONGEST = 150  # characters of a name; file systems hold 255 bytes


def is_ours(path: str) -> bool:
    """Whether a path is where a recipes directory has something, whatever its name or kind."""
    return path == _TAXONOMY or path.partition("/")[0] in _FOLDERS


def is_taken(path: str) -> bool:
    """Whether a file at this path is part of a recipes directory; hidden ones are not."""
    if path == _TAXONOMY:
        return True
    folder, *names = path.split("/")
    depth, suffixes = _FOLDERS.get(folder, (0, ()))
    hidden = any(name.startswith(".") and name.strip(".") for name in names)
    return len(names) == depth and path.endswith(suffixes) and not hidden


def check_names(paths: Iterable[str], url: str) -> None:
    """Raise SourceError for a name that leads elsewhere or that some disk takes for another."""
    seen: dict[str, str] = {}
    for path in paths:
        for part in path.split("/"):
            if not is_plain_name(part) or "\\" in part or len(part) > _LONGEST:
                raise SourceError(f"{url} has a file with the name {_quoted(path)}")
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            raise SourceError(
                f"{url} has two files that differ only in case: {_quoted(other)}, {_quoted(path)}"
            )
        for folder in _folders(path):
            other = seen.setdefault(f"{folder.casefold()}/", folder)
            if other != folder:
                raise SourceError(
                    f"{url} has two folders that differ only in case: {_quoted(other)}, "
                    f"{_quoted(folder)}"
                )


def _folders(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def _quoted(path: str) -> str:
    return shown(repr(path[:100]))


def check_sizes(sizes: Mapping[str, int], limits: Limits, url: str) -> None:
    """Raise SourceError for too many files, for one that is too large, or for all of them."""
    if len(sizes) > limits.files:
        raise SourceError(f"{url} has {len(sizes)} files; at most {limits.files} are taken")
    for path, size in sizes.items():
        if size > limits.file_bytes:
            raise SourceError(
                f"{url}: {shown(path)} has {size} bytes; a recipe has at most {limits.file_bytes}"
            )
    if sum(sizes.values()) > limits.bytes:
        raise SourceError(f"{url} has more than {limits.bytes} bytes of recipes")
