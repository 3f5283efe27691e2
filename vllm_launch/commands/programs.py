"""Where the programs of a deployment are on this machine, and whose they are."""

from __future__ import annotations

import os

from ..errors import MissingProgram, UsageError
from ..launch import program_path
from ..streams import remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..model.part import Part
    from ..settings import Settings

_ELSEWHERE = "/opt/vllm/bin"  # where nothing says where they are
_ENGINES = ("docker", "podman")


def programs_of(parts: Sequence[Part], settings: Settings) -> dict[str, str]:
    """Each program's whole path: in the directory named, on this machine's PATH, or a guess.

    A guess is told on the standard error. Raises UsageError for a directory that is no whole path.
    """
    engine = settings["runtime"] if settings["runtime"] in _ENGINES else None
    names = [engine] if engine else [part.argv[0] for part in parts if part.argv]
    directory = settings["program_dir"]
    if directory is None:
        return _found(dict.fromkeys(names))
    if not os.path.isabs(directory):
        raise UsageError(
            f"{settings.source('program_dir')}: found {directory!r}; expected a whole path",
            hint="for example --program-dir /opt/vllm/bin",
        )
    return {name: os.path.normpath(os.path.join(directory, name)) for name in names}


def _found(names: dict[str, None]) -> dict[str, str]:
    paths, missing = {}, []
    for name in names:
        try:
            paths[name] = os.path.abspath(program_path(name, os.environ.get("PATH")))
        except MissingProgram:
            directory = "/usr/bin" if name in _ENGINES else _ELSEWHERE
            paths[name] = f"{directory}/{name}"
            missing.append(paths[name])
    if missing:
        remark(
            f"# not on this machine's PATH, so a guess: {', '.join(missing)}; "
            "--program-dir says where\n"
        )
    return paths


def service_user(settings: Settings) -> str | None:
    """Who runs the services: the user named, or who exports them; None for root.

    Containers are run by root where nobody is named: a container engine is root's.
    """
    if settings["service_user"] is not None:
        return str(settings["service_user"])
    if settings["runtime"] in _ENGINES or os.getuid() == 0:
        return None
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
