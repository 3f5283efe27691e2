"""--lock and --locked: what a launch stood on, written down, and demanded again."""

from __future__ import annotations

import json
import os

from ..drift import drift
from ..errors import CheckFailed, UsageError, not_json, of_a_newer
from ..export import ExportFile
from ..host.system import read_system
from ..model.system import Wanted
from ..streams import remark
from .written import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..model.deployment import ProcessPlan
    from ..model.host import HostFacts
    from ..resolve.container import ContainerSetup
    from ..settings import Settings
    from .plan import Plan

FORMAT = 1


def require_lock(plan: Plan, setup: ContainerSetup | None, settings: Settings) -> None:
    """Demand the lock of --locked.

    Raises CheckFailed with every field that differs, UsageError for a file that is no lock.
    """
    locked = _read(settings["locked"])
    _compare(settings["locked"], locked, lock_of(plan, setup, settings))


def write_lock(plan: Plan, setup: ContainerSetup | None, settings: Settings) -> None:
    """Write the lock of --lock. Raises UsageError where it cannot be written."""
    path = settings["lock"]
    save(path, lock_of(plan, setup, settings))
    remark(f"# wrote the lock {path}\n")


def save(path: str, lock: Mapping[str, Any]) -> None:
    """Write a lock whole or not at all. Raises UsageError."""
    document = {"kind": "lock", "format": FORMAT, "lock": lock}
    directory, name = os.path.split(os.path.abspath(path))
    file = ExportFile(name=name, text=json.dumps(document, indent=2) + "\n")
    write_all(directory, [file], hint="name another file for the lock")


def lock_of(plan: Plan, setup: ContainerSetup | None, settings: Settings) -> dict[str, Any]:
    """What a launch stands on, as plain data; no variable's value and no secret is in it."""
    deployment, origin = plan.deployment, plan.found.origin
    system = read_system(
        Wanted(
            memory=False,
            program="" if setup is not None else "vllm",
            engine="" if setup is None else setup.engine,
            image="" if setup is None else deployment.image or "",
        )
    )
    choice = deployment.choice
    return {
        "recipe": {
            "id": deployment.recipe.id,
            "source": origin.source,
            "revision": origin.revision or None,
            "digest": origin.digest,
            "overlays": [digest for _, digest in origin.overlays],
        },
        "choice": {
            "hardware": choice.hardware.id,
            "variant": choice.variant,
            "strategy": choice.strategy,
            "nodes": choice.nodes,
            "features": [n if mode is None else f"{n}={mode}" for n, mode in choice.features],
            "kv_offload": choice.kv_offload,
            "preset": choice.preset,
            "point": choice.point,
            "devices": list(choice.devices) if choice.devices is not None else None,
        },
        "runtime": settings["runtime"] or "native",
        "processes": [_process(each, plan) for each in plan.processes],
        "image": None
        if setup is None
        else {
            "reference": deployment.image,
            "digest": system.image.digest or None if system.image is not None else None,
        },
        "vllm": (system.vllm.version or None) if system.vllm is not None else None,
        "model": _model(plan),
        "hardware": _hardware(plan.facts),
    }


def _process(process: ProcessPlan, plan: Plan) -> dict[str, Any]:
    return {
        "name": f"{process.role}-{process.rank}",
        "argv": process.argv,
        "environment": sorted({*process.env, *plan.passed_by_name}),
        "values": _digest(process.env),
    }


def _digest(variables: Mapping[str, str]) -> str:
    """A hash over the values: a change shows, and what they are does not."""
    from hashlib import sha256

    text = "\0".join(f"{name}={value}" for name, value in sorted(variables.items()))
    return "sha256:" + sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _model(plan: Plan) -> list[dict[str, str | None]]:
    """Each model that is served, and the revision of it that the hub's cache has."""
    from ..host.checkpoint import find, revision

    names = dict.fromkeys(process.model for process in plan.processes)
    found = ((name, find(name, os.environ)) for name in names)
    return [{"name": name, "revision": revision(path) if path else None} for name, path in found]


def _hardware(facts: HostFacts | None) -> dict[str, Any] | None:
    """What of a machine a plan rests on: not which one it is, but what it is."""
    if facts is None:
        return None
    kinds: dict[str, int] = {}
    for gpu in facts.gpus:
        gib = f" {gpu.memory_bytes / 2**30:.0f} GiB" if gpu.memory_bytes else ""
        kind = f"{gpu.name}{gib}"
        kinds[kind] = kinds.get(kind, 0) + 1
    return {
        "gpus": [f"{count} × {kind}" for kind, count in sorted(kinds.items())],
        "driver": facts.nvidia_driver or facts.amd_driver,
        "cuda": facts.cuda_driver,
        "rocm": facts.rocm,
        "cpu": facts.cpu_model if not facts.gpus else None,
    }


def _compare(path: str, locked: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    differences = list(drift(locked, here))
    if not differences:
        return
    lines = [f"{field}: locked {locked}, here {now}" for field, locked, now in differences]
    raise CheckFailed(
        f"this launch is not the one that {path} holds, and nothing was started",
        problems=lines,
        hint=f"mend what differs, or write the lock anew: --lock {path}",
    )


def _read(path: str) -> Any:
    """A lock file's content. Raises UsageError."""
    hint = "give a file that --lock wrote"
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        document = json.loads(content)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no lock: {not_json(content, error)}", hint=hint) from None
    if not isinstance(document, dict) or document.get("kind") != "lock":
        raise UsageError(f"{path} is no lock: it is other JSON", hint=hint)
    if document.get("format") != FORMAT or not isinstance(document.get("lock"), dict):
        raise UsageError(
            f"{path}: found the format {document.get('format')!r}; expected {FORMAT}",
            hint=of_a_newer(document.get("format"), FORMAT) + "write it anew with --lock",
        )
    return document["lock"]
