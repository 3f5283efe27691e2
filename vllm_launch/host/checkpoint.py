"""Read a checkpoint's config where it is local or in the hub cache. Never downloads."""

from __future__ import annotations

import os

from .config import checkpoint_of, count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model.checkpoint import Checkpoint

_MAX_BYTES = 64 << 20  # an index of a large model lists some hundred thousand tensors


def find(model: str, environ: Mapping[str, str]) -> str | None:
    """The directory of a checkpoint: the path itself, or its newest snapshot in the hub cache."""
    if os.path.isfile(os.path.join(model, "config.json")):
        return model
    if model.count("/") != 1 or ".." in model:
        return None
    root = os.path.join(hub_directory(environ), "models--" + model.replace("/", "--"))
    try:
        with open(os.path.join(root, "refs", "main"), encoding="ascii") as file:
            revisions = [file.read(64).strip()]
    except (OSError, ValueError):
        revisions = []
    revisions += _newest_first(os.path.join(root, "snapshots"))
    for revision in revisions:
        path = os.path.join(root, "snapshots", revision)
        if revision and "/" not in revision and os.path.isfile(os.path.join(path, "config.json")):
            return path
    return None


def revision(path: str) -> str:
    """What a checkpoint's directory holds: the hub's commit, else a hash of its config.json."""
    parts = os.path.normpath(path).split(os.sep)
    if len(parts) > 1 and parts[-2] == "snapshots":
        return parts[-1]
    from hashlib import sha256

    try:
        with open(os.path.join(path, "config.json"), "rb") as file:
            return "config.json sha256:" + sha256(file.read(_MAX_BYTES)).hexdigest()
    except OSError:
        return ""


def hub_directory(environ: Mapping[str, str]) -> str:
    """Where the hub cache keeps models: HF_HUB_CACHE, else under HF_HOME."""
    named = environ.get("HF_HUB_CACHE")
    return os.path.expanduser(named) if named else os.path.join(hub_home(environ), "hub")


def hub_home(environ: Mapping[str, str]) -> str:
    """The directory that holds the hub cache and its token, as HF_HOME names it."""
    home = environ.get("HF_HOME") or os.path.join(
        environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface"
    )
    return os.path.expanduser(home)


def read(path: str) -> Checkpoint | None:
    """The checkpoint's shape, or None where its config cannot be read."""
    config = _json(os.path.join(path, "config.json"))
    return checkpoint_of(path, config, _weight_bytes(path)) if config is not None else None


def _json(path: str) -> dict[str, Any] | None:
    import json

    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _weight_bytes(path: str) -> int | None:
    index = _json(os.path.join(path, "model.safetensors.index.json"))
    if index is not None and isinstance(index.get("metadata"), dict):
        return count(index["metadata"], "total_size")
    try:
        return os.path.getsize(os.path.join(path, "model.safetensors"))
    except OSError:
        return None


def _newest_first(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            found = sorted(entries, key=lambda entry: entry.stat().st_mtime, reverse=True)
    except OSError:
        return []
    return [entry.name for entry in found]
