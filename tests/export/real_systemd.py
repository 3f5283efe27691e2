"""systemd itself: what its own manager makes of units, in its test mode.

The manager reads the units, prints what it loaded and ends; nothing is started, and it does so
for somebody who may do nothing. What dollar signs mean is asked of its library.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

MANAGER = next(
    (p for p in map(Path, ("/lib/systemd/systemd", "/usr/lib/systemd/systemd")) if p.exists()), None
)
VERIFY = shutil.which("systemd-analyze")
_NOBODY = 65534
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_SINGLE = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


@contextmanager
def directory() -> Iterator[Path]:
    """A directory that everybody may read."""
    path = Path(tempfile.mkdtemp(prefix="units-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def loaded(units: Mapping[str, str]) -> dict[str, tuple[list[bytes], list[bytes]]]:
    """The words of ExecStart= and the assignments of Environment= of each service."""
    assert MANAGER is not None, "systemd is not installed"
    with directory() as place:
        run = place / "run"
        run.mkdir()
        for name, text in units.items():
            path = place / name
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            path.chmod(0o644)
        wants = " ".join(name for name in units if name.endswith(".service"))
        (place / "all.target").write_text(
            f"[Unit]\nDefaultDependencies=no\nWants={wants}\n", encoding="utf-8"
        )
        (place / "all.target").chmod(0o644)
        how: dict[str, object] = {}
        if os.geteuid() == 0:  # who is not let into the test mode
            os.chown(run, _NOBODY, _NOBODY)
            how = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        done = subprocess.run(  # type: ignore[call-overload]
            [MANAGER, "--test", "--user", "--unit=all.target", "--no-pager"],
            env={
                "HOME": "/nonexistent",
                "XDG_RUNTIME_DIR": str(run),
                "SYSTEMD_UNIT_PATH": str(place),
                "SYSTEMD_LOG_TARGET": "console",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
            cwd="/",
            **how,
        )
    return {name: _read(_block(done.stdout, name)) for name in wants.split()}


def _block(printed: bytes, name: str) -> bytes:
    _, found, rest = printed.partition(f"-> Unit {name}:\n".encode())
    assert found, printed[-2000:].decode(errors="replace")
    return rest.partition(b"\t-> Unit ")[0]


def _read(block: bytes) -> tuple[list[bytes], list[bytes]]:
    start = block.partition(b"-> ExecStart:\n")[2]
    line = start.partition(b"Command Line: ")[2].partition(b"\n")[0]
    env = re.search(
        rb"\t\tEnvironment: (.*?)\n\t\t(?:EnvironmentFile|RuntimeDirectory)", block, re.DOTALL
    )
    assignments = env[1].split(b"\n\t\tEnvironment: ") if env else []
    return replaced(_unquoted(line)), assignments


def _unquoted(line: bytes) -> list[bytes]:
    """The words of a line that systemd printed: bare ones, or escaped between double quotes."""
    words = re.findall(rb'"((?:[^"\\]|\\.)*)"|(\S+)', line, re.DOTALL)
    return [bare if bare else _ESCAPED.sub(_unescaped, quoted) for quoted, bare in words]


def _unescaped(match: re.Match[bytes]) -> bytes:
    if len(match[1]) == 3:
        return bytes([int(match[1], 8)])
    return _SINGLE.get(match[1], match[1])


def replaced(argv: list[bytes]) -> list[bytes]:
    """The words with variables put in, of which there are none, by systemd's own function."""
    library = _library()
    if library is None:  # another release, whose function is called in another way
        from tests.export.unit_reader import expanded

        return [argv[0], *map(expanded, argv[1:])]
    given = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
    none = (ctypes.c_char_p * 1)(None)
    found = library.replace_env_argv(given, none)
    words = []
    while found[len(words)] is not None:
        words.append(found[len(words)])
    return words


def _library() -> ctypes.CDLL | None:
    places = [*Path("/usr/lib").glob("*/systemd/libsystemd-shared-252*.so")]
    places += [*Path("/usr/lib/systemd").glob("libsystemd-shared-252*.so")]
    if not places:
        return None
    library = ctypes.CDLL(str(places[0]))
    library.replace_env_argv.restype = ctypes.POINTER(ctypes.c_char_p)
    return library
