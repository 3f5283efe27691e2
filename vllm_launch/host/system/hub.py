"""The hub's cache, a model's files in it or elsewhere, and access to the hub."""

from __future__ import annotations

import os

from ...model.system import Filesystem, Hub, Weights
from ..checkpoint import hub_directory
from ..reading import read_file
from .files import at, nearest_directory
from .memory import filesystem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_INDEX = "model.safetensors.index.json"
_LARGEST_INDEX = 64 << 20
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_YES = ("1", "ON", "YES", "TRUE")
_TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def cache(environ: Mapping[str, str], download_dir: str) -> str:
    """The directory that downloaded models go to."""
    if download_dir:
        return os.path.expanduser(download_dir)
    home = environ.get("HOME")
    if home and not any(environ.get(n) for n in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME")):
        return os.path.join(home, ".cache", "huggingface", "hub")
    return hub_directory(environ)


def is_local(model: str, root: str) -> bool:
    """Whether a model is named by its directory."""
    return model.startswith(("/", "./", "../", "~")) or os.path.isdir(at(root, model))


def access(root: str, environ: Mapping[str, str], directory: str, model: str) -> dict[str, Any]:
    """Whether there is a token, and whether downloads are forbidden. No value is kept."""
    return {
        "hub": Hub(
            cache=directory,
            token=bool(token(root, environ)),
            offline=next((n for n in _OFFLINE if environ.get(n, "").upper() in _YES), ""),
            elsewhere=_of_caller(root, environ, directory, model),
        )
    }


def _of_caller(root: str, environ: Mapping[str, str], directory: str, model: str) -> str:
    """The cache of the user who called sudo, where it is another one and has the model."""
    caller = environ.get("SUDO_USER")
    for line in (read_file(root, "etc/passwd") or "").splitlines() if caller else ():
        words = line.split(":")
        if words[0] == caller and len(words) > 5:
            theirs = os.path.join(words[5], ".cache", "huggingface", "hub")
            there = _snapshot(at(root, theirs, _folder(model))) is not None
            return theirs if there and theirs != directory else ""
    return ""


def _folder(model: str) -> str:
    """A model's directory in the cache."""
    return "models--" + model.replace("/", "--")


def token(root: str, environ: Mapping[str, str]) -> str:
    """The token that the hub's client would send; "" for none."""
    for name in _TOKENS:
        if environ.get(name):
            return environ[name]
    home = environ.get("HF_HOME") or os.path.join(
        environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "~", ".cache"),
        "huggingface",
    )
    path = environ.get("HF_TOKEN_PATH") or os.path.join(os.path.expanduser(home), "token")
    return read_file(at(root, path)) or ""


def disk(root: str, directory: str) -> dict[str, Any]:
    """Space where downloads go; the directory itself need not be there yet."""
    found: Filesystem = filesystem(nearest_directory(at(root, directory)), directory)
    return {"disk": found}


def weights(root: str, model: str, directory: str) -> dict[str, Any]:
    """A model's files: in its own directory, or in the newest snapshot of the cache."""
    if is_local(model, root):
        return {"weights": _in_directory(at(root, os.path.expanduser(model)), model, local=True)}
    repository = at(root, directory, _folder(model))
    snapshot = _snapshot(repository)
    if snapshot is None:
        shown = os.path.join(directory, os.path.basename(repository))
        begun = _begun(repository)
        return {"weights": Weights(path=shown, present=False, present_bytes=begun)}
    found = _in_directory(snapshot, snapshot, local=False)
    return {"weights": found.replace(present_bytes=found.present_bytes + _begun(repository))}


def _snapshot(repository: str) -> str | None:
    """The snapshot that the main branch is at, or the only one."""
    snapshots = os.path.join(repository, "snapshots")
    revision = read_file(repository, "refs", "main", limit=64) or ""
    if revision and "/" not in revision and os.path.isdir(os.path.join(snapshots, revision)):
        return os.path.join(snapshots, revision)
    try:
        names = os.listdir(snapshots)
    except OSError:
        return None
    return os.path.join(snapshots, names[0]) if len(names) == 1 else None


def _begun(repository: str) -> int:
    """Bytes of downloads that were begun and not finished."""
    try:
        with os.scandir(os.path.join(repository, "blobs")) as entries:
            return sum(e.stat().st_size for e in entries if e.name.endswith(".incomplete"))
    except OSError:
        return 0


def _in_directory(directory: str, shown: str, *, local: bool) -> Weights:
    names, total = _index(directory)
    present = _weight_files(directory)
    return Weights(
        path=shown,
        present=os.path.isdir(directory),
        local=local,
        config=os.path.isfile(os.path.join(directory, "config.json")),
        expected=_expected(names, present),
        missing=tuple(sorted(name for name in names if name not in present)),
        total_bytes=total,
        present_bytes=sum(present.values()),
    )


def _expected(names: set[str], present: Mapping[str, int]) -> int | None:
    """How many weight files there must be: by the index, or the single file that needs none."""
    if names:
        return len(names)
    return 1 if "model.safetensors" in present else None


def _weight_files(directory: str) -> dict[str, int]:
    """Weight files that are there, with their sizes; a link to nothing is none."""
    found = {}
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(_WEIGHTS):
                    try:
                        found[entry.name] = entry.stat().st_size
                    except OSError:
                        continue
    except OSError:
        return {}
    return found


def _index(directory: str) -> tuple[set[str], int | None]:
    """The file names in an index and the bytes of their tensors, without parsing megabytes."""
    import re

    try:
        with open(os.path.join(directory, _INDEX), "rb") as file:
            text = file.read(_LARGEST_INDEX)
    except OSError:
        return set(), None
    names = {name.decode() for name in re.findall(rb':\s*"([\w.\-]+\.safetensors)"', text)}
    total = re.search(rb'"total_size"\s*:\s*(\d+)', text)
    return names, int(total[1]) if total else None


def status(root: str, environ: Mapping[str, str], model: str, seconds: float = 3.0) -> int:
    """The hub's answer for a model's config: 200, 401, 403 or 404. Raises OSError."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import quote, urlsplit

    endpoint = urlsplit(environ.get("HF_ENDPOINT") or "https://huggingface.co")
    secret = token(root, environ)
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    kind = HTTPSConnection if endpoint.scheme == "https" else HTTPConnection
    connection = kind(endpoint.netloc, timeout=seconds)
    try:
        path = f"{endpoint.path.rstrip('/')}/{quote(model)}/resolve/main/config.json"
        connection.request("HEAD", path, headers=headers)
        answer = connection.getresponse().status
    except HTTPException as error:
        raise OSError(f"{endpoint.netloc}: {type(error).__name__}") from None
    finally:
        connection.close()
    return 200 if 200 <= answer < 400 else answer
