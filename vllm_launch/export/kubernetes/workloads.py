"""The objects: what runs the pods, what leads to them, and their config files."""

from __future__ import annotations

from ...errors import UsageError
from .addresses import entry_of, service_name
from .pods import Pods, port_of, selector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from .. import Brief
    from .addresses import Addresses
    from .groups import Group
    from .settings import Settings

_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"


def documents(
    brief: Brief, settings: Settings, groups: Sequence[Group], addresses: Addresses
) -> list[dict[str, Any]]:
    """Every object, in the order in which it is needed."""
    config = _config_files(groups, addresses)
    pods = Pods(brief, settings, addresses, _digest(config))
    made = [_config_map(settings, config)] if config else []
    in_set = [g for g in groups if settings.disaggregated_set and g.leader.role in _POOLS]
    for group in groups:
        made += _services(settings, groups, group)
        if group in in_set:
            if group is in_set[-1]:
                made.append(_disaggregated_set(settings, in_set, pods))
        elif group.size > 1:
            made.append(_leader_worker_set(settings, group, pods))
        else:
            made.append(_deployment(settings, group, pods))
    for each in made:
        each["metadata"].setdefault("annotations", {}).update(_annotations(brief))
    return made


_POOLS = ("prefill", "decode")


def _metadata(settings: Settings, name: str, component: str) -> dict[str, Any]:
    place = {"namespace": settings.namespace} if settings.namespace else {}
    return {
        "name": name,
        **place,
        "labels": {
            "app.kubernetes.io/name": "vllm",
            "app.kubernetes.io/instance": settings.name,
            **({"app.kubernetes.io/component": component} if component else {}),
            "app.kubernetes.io/managed-by": "vllm-launch",
        },
    }


def _annotations(brief: Brief) -> dict[str, str]:
    """What the header says of the recipe and the choice, where the cluster keeps it."""
    said = dict(line.partition(": ")[::2] for line in brief.header)
    return {
        f"vllm-launch/{key}": said[key].replace("×", "x")
        for key in ("recipe", "choice")
        if key in said
    }


def _name(settings: Settings, group: Group) -> str:
    if group.component == "server" and group.size == 1:
        return settings.name
    return f"{settings.name}-{group.component}"


def _deployment(settings: Settings, group: Group, pods: Pods) -> dict[str, Any]:
    """One pod. A new one starts when the old one has gone: its GPUs cannot be had twice."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(settings, _name(settings, group), group.component),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            # Time to pull the image as well, before a start counts as failed.
            "progressDeadlineSeconds": pods.startup(group) + 1800,
            "selector": {"matchLabels": selector(settings, group.component)},
            "template": pods.leader(group),
        },
    }


def _leader_worker_set(settings: Settings, group: Group, pods: Pods) -> dict[str, Any]:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": _metadata(settings, _name(settings, group), group.component),
        "spec": _set_spec(group, pods),
    }


def _set_spec(group: Group, pods: Pods) -> dict[str, Any]:
    """One group of pods; where one of them fails, all are made anew: they are one engine."""
    template: dict[str, Any] = {
        "size": group.size,
        "restartPolicy": "RecreateGroupOnPodRestart",
    }
    if group.size > 1:
        template["leaderTemplate"] = pods.leader(group)
        template["workerTemplate"] = pods.workers(group)
    else:
        template["workerTemplate"] = pods.leader(group)
    return {"replicas": 1, "leaderWorkerTemplate": template}


def _disaggregated_set(settings: Settings, pools: Sequence[Group], pods: Pods) -> dict[str, Any]:
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": _metadata(settings, settings.name, ""),
        "spec": {
            "roles": [{"name": pool.component, "spec": _set_spec(pool, pods)} for pool in pools]
        },
    }


def _services(
    settings: Settings, groups: Sequence[Group], group: Group
) -> Iterator[dict[str, Any]]:
    """A name for every rank that is asked something.

    Where requests enter and each rank answers for its own GPUs, one name stands for all.
    """
    entry = group is entry_of(groups)
    answering = [(rank, part) for rank, part in enumerate(group.parts) if port_of(part) is not None]
    together = entry and len(answering) == group.size
    in_set = settings.disaggregated_set and group.leader.role in _POOLS
    for rank, part in answering[:1] if together else answering:
        leads = selector(settings, group.component)
        if (group.size > 1 and not together) or in_set:
            leads[_WORKER_INDEX] = str(rank)
        kind = "http" if part.port is not None else "rpc"
        name = service_name(settings, group, rank, entry)
        yield {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": _metadata(settings, name, group.component),
            "spec": {
                "type": "ClusterIP",
                "selector": leads,
                "ports": [{"name": kind, "port": port_of(part), "targetPort": kind}],
            },
        }


def _config_files(groups: Sequence[Group], addresses: Addresses) -> dict[str, str]:
    """The config files of all parts, by name, with placeholders filled."""
    from json import dumps

    from ...resolve.endpoints import fill_json

    found: dict[str, str] = {}
    for group in groups:
        for part in group.parts:
            for file in part.files:
                values = _outside(addresses.values[part.name])
                text = dumps(fill_json(file.content, values), indent=2, ensure_ascii=False) + "\n"
                if found.setdefault(file.name, text) != text:
                    raise UsageError(f"{file.name} is not the same for each instance")
    return found


def _outside(values: Mapping[str, str]) -> dict[str, str]:
    """The values that a file may hold: nothing in it is expanded where it runs."""
    return {name: value for name, value in values.items() if not value.startswith("$(")}


def _config_map(settings: Settings, files: dict[str, str]) -> dict[str, Any]:
    from ..yamltext import Block

    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(settings, f"{settings.name}-config", ""),
        "data": {name: Block(text) for name, text in files.items()},
    }


def _digest(files: dict[str, str]) -> str:
    """Of the files: pods are made anew when it changes."""
    from hashlib import sha256

    text = "".join(f"{name}\n{text}" for name, text in files.items())
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
