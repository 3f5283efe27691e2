"""Read a file into a tree, through a cache that the file's own bytes invalidate."""

from __future__ import annotations

import marshal
import os
import stat
import sys
from _imp import source_hash  # what bytecode files are checked with, and in memory already

from .. import __version__, private
from ..errors import RecipeError
from ..model.problem import Problem
from ..model.secrets import holds_token, is_secret
from .tree import MAX_BYTES, SyntaxFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .tree import Node

_HASH_KEY = 0x766C6C6D
_MAX_CACHED = 64 << 20
_FORMAT = f"{__version__} 1"  # the number grows with the tree's form
_HASH_BYTES = 8


def read_tree(path: str, shown: str) -> Node:
    """The tree of a YAML or JSON file; ``shown`` is how messages name the file.

    Raises RecipeError with every syntax fault in it.
    """
    tree, problems, _ = read_past(path, shown)
    if problems:
        raise broken(shown, problems)
    return tree


def read_past(path: str, shown: str) -> tuple[Node, list[Problem], bytes]:
    """The tree, the faults that a reader can see past, such as duplicate keys, and the bytes.

    Raises RecipeError for a file that cannot be read as YAML or JSON at all.
    """
    data = read_bytes(path, shown)
    cached = _cache_path(path)
    tree = _from_cache(cached, data)
    if tree is not None:
        return tree, [], data
    tree, problems = parse(data, shown, is_json=path.endswith(".json"))
    if not problems and not _holds_secret(data):
        _to_cache(cached, data, tree)
    return tree, problems, data


def _holds_secret(data: bytes) -> bool:
    """Whether a file may give a value to a name that says it is a secret, or has a token in it."""
    import re

    assigned = (
        rb"(?m)(?:^|[{\[,])[ \t]*(?:- )?[\"']?([A-Z][A-Z0-9_]*)[\"']?[ \t]*[:=][ \t]*[^\s$<#]"
    )
    named = any(is_secret(name.decode()) for name in re.findall(assigned, data))
    return named or holds_token(data.decode("latin-1"))


def read_bytes(path: str, shown: str) -> bytes:
    """A regular file's bytes. Raises RecipeError where there is none or it is over 1 MiB."""
    try:
        with open(path, "rb", opener=_no_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise RecipeError(f"{shown} is not a file")
            return file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise RecipeError(f"{shown} is a directory, not a file") from None
    except OSError as error:
        raise RecipeError(f"cannot read {shown}: {error.strerror}") from None


def _no_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def parse(data: bytes, shown: str, *, is_json: bool) -> tuple[Node, list[Problem]]:
    """The tree of bytes and the faults that can be seen past, without the cache."""
    if is_json:
        from .jsontext import parse as parse_text
    else:
        from .yamltext import parse as parse_text
    faults: list[SyntaxFault] = []
    try:
        tree = parse_text(data, faults)
    except SyntaxFault as fault:
        raise broken(shown, [_problem(each, shown) for each in (*faults, fault)]) from None
    return tree, [_problem(fault, shown) for fault in faults]


def broken(shown: str, problems: list[Problem], overlays: Iterable[str] = ()) -> RecipeError:
    """The error for a file with faults, in the order in which they stand in it and its overlays.

    Where none of them stands in an overlay, any may be to blame, so all are named.
    """
    ordered = sorted(problems, key=lambda p: (p.file != shown, p.file, p.line, p.column))
    errors = sum(not problem.warning for problem in ordered)
    noun = "error" if errors == 1 else "errors"
    others = dict.fromkeys(p.file for p in ordered if p.file != shown and not p.warning)
    if not others:
        others = dict.fromkeys(overlays)
    if others:
        shown = f"{shown} with {' and '.join(others)}"
    return RecipeError(f"{shown} cannot be used: {errors} {noun}", problems=ordered)


def _problem(fault: SyntaxFault, shown: str) -> Problem:
    return Problem(
        file=shown,
        line=fault.line,
        column=fault.column,
        path=fault.path,
        message=fault.message,
        hint=fault.hint,
    )


def cache_directory() -> str:
    """Where things that can be made again are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "vllm-launch")


def config_directory() -> str:
    """Where a user's own settings are."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.config")
    return os.path.join(base, "vllm-launch")


def _cache_path(path: str) -> str:
    """The cache's file for a file; empty, which is no file's name, without a home."""
    directory = cache_directory()
    if not os.path.isabs(directory):
        return ""
    name = os.fsencode(os.path.abspath(path).replace("%", "%%").replace(os.sep, "%"))
    folder = f"trees-{sys.implementation.cache_tag}"
    return os.path.join(directory, folder, os.fsdecode(name[-200:]))


def _from_cache(cached: str, data: bytes) -> Node | None:
    """The cached tree, if it is whole and was made by this version from these very bytes."""
    kept = load_kept(cached)
    if not isinstance(kept, tuple) or len(kept) != 3:
        return None
    version, source, tree = kept
    return tree if version == _FORMAT and source == data else None


def _to_cache(cached: str, data: bytes, tree: Node) -> None:
    """Keep the tree."""
    if cached:
        keep(cached, (_FORMAT, data, tree))


def load_kept(path: str) -> Any:
    """Plain data that was kept in a file of the cache; None where it is not whole or not ours."""
    try:
        with open(path, "rb", opener=_no_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None  # not what this user wrote
            content = file.read(_MAX_CACHED)
        if source_hash(_HASH_KEY, content[_HASH_BYTES:]) != content[:_HASH_BYTES]:
            return None
        return marshal.loads(content[_HASH_BYTES:])
    except (OSError, ValueError, EOFError, TypeError):
        return None


def keep(path: str, value: Any) -> None:
    """Keep plain data in a file of the cache; one that cannot be written is no fault."""
    partial = f"{path}.{os.getpid()}"
    content = marshal.dumps(value)
    try:
        private.make(os.path.dirname(path))
        with open(private.create(partial), "wb") as file:
            file.write(source_hash(_HASH_KEY, content) + content)
        os.replace(partial, path)
    except OSError:
        _discard(partial)


def forget(path: str) -> None:
    """Remove what is cached of a file that is about to go."""
    cached = _cache_path(path)
    if cached:
        _discard(cached)


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
