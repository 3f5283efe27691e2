"""A cluster as far as exports need one: it reads manifests, and knows what each pod would run.

Written from the documentation of Kubernetes and LeaderWorkerSet alone: nothing here is the
exporter's.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.fast_yaml import documents

INDEX_LABEL = "leaderworkerset.sigs.k8s.io/worker-index"
NAMESPACE = "default"


def expand(text: str, mapping: dict[str, str]) -> str:
    """``$(NAME)`` as its value where there is one, ``$$`` as one dollar sign."""
    out, at = [], 0
    while at < len(text):
        rest = text[at + 1 :]
        if text[at] != "$" or not rest:
            out.append(text[at])
            at += 1
        elif rest[0] == "$":
            out.append("$")
            at += 2
        elif rest[0] == "(" and ")" in rest:
            name = rest[1 : rest.index(")")]
            out.append(mapping.get(name, f"$({name})"))
            at += len(name) + 3
        else:
            out.append("$" + rest[0])
            at += 2
    return "".join(out)


@dataclass
class Container:
    """What a container would be started with."""

    argv: list[str]
    env: dict[str, str]
    image: str
    spec: dict[str, Any]


@dataclass
class Pod:
    """A pod that a cluster would make of a template."""

    name: str
    ip: str
    labels: dict[str, str]
    spec: dict[str, Any]
    annotations: dict[str, str]
    given: dict[str, str] = field(default_factory=dict)  # variables that a controller sets

    @property
    def component(self) -> str:
        return self.labels["app.kubernetes.io/component"]

    @property
    def rank(self) -> int:
        return int(self.labels.get(INDEX_LABEL, "0"))

    @property
    def main(self) -> Container:
        (spec,) = self.spec["containers"]
        return self._started(spec)

    @property
    def sidecars(self) -> list[Container]:
        return [self._started(spec) for spec in self.spec.get("initContainers", ())]

    def _started(self, spec: dict[str, Any]) -> Container:
        env = dict(self.given)
        for entry in spec.get("env", ()):
            env[entry["name"]] = self._value(entry, env)
        words = [expand(w, env) for w in (*spec["command"], *spec.get("args", ()))]
        return Container(argv=words, env=env, image=spec["image"], spec=spec)

    def _value(self, entry: dict[str, Any], env: dict[str, str]) -> str:
        source = entry.get("valueFrom")
        if source is None:
            return expand(entry.get("value", ""), env)
        if "fieldRef" in source:
            assert source["fieldRef"] == {"fieldPath": "status.podIP"}
            return self.ip
        return "secret:" + source["secretKeyRef"]["name"]


class Cluster:
    """The pods and Services of a stream of objects."""

    def __init__(self, text: str) -> None:
        self.objects: list[dict[str, Any]] = documents(text)
        self.services = {o["metadata"]["name"]: o for o in self.of("Service")}
        self.pods: list[Pod] = []
        for one in self.of("Deployment"):
            self._add(one["metadata"]["name"], one["spec"]["template"])
        for one in self.of("LeaderWorkerSet"):
            self._add_set(one["metadata"]["name"], one["spec"])
        for one in self.of("DisaggregatedSet"):
            for role in one["spec"]["roles"]:
                name = f"{one['metadata']['name']}-0-7d9f8b6c5d-{role['name']}"
                self._add_set(name, role["spec"])

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.objects if one["kind"] == kind]

    def _add(self, name: str, template: dict[str, Any], **more: Any) -> None:
        labels = {**template["metadata"]["labels"], **more.pop("labels", {})}
        self.pods.append(
            Pod(
                name=name,
                ip=f"10.1.0.{len(self.pods) + 1}",
                labels=labels,
                spec=template["spec"],
                annotations=template["metadata"].get("annotations", {}),
                **more,
            )
        )

    def _add_set(self, name: str, spec: dict[str, Any]) -> None:
        templates = spec["leaderWorkerTemplate"]
        size = templates.get("size", 1)
        for index in range(size):
            worker = templates["workerTemplate"]
            template = worker if index else templates.get("leaderTemplate", worker)
            self._add(
                f"{name}-0-{index}" if index else f"{name}-0",
                template,
                labels={INDEX_LABEL: str(index)},
                given={
                    "LWS_LEADER_ADDRESS": f"{name}-0.{name}.{NAMESPACE}",
                    "LWS_GROUP_SIZE": str(size),
                    "LWS_WORKER_INDEX": str(index),
                },
            )

    def pod(self, component: str, rank: int = 0) -> Pod:
        (found,) = (p for p in self.pods if (p.component, p.rank) == (component, rank))
        return found

    def behind(self, service: str) -> list[Pod]:
        """The pods that a Service leads to."""
        wanted = self.services[service]["spec"]["selector"]
        return [pod for pod in self.pods if wanted.items() <= pod.labels.items()]

    def at(self, address: str) -> Pod:
        """The only pod that answers at an address: an IP, a leader's name or a Service's."""
        if address in self.services:
            (found,) = self.behind(address)
        else:
            (found,) = (p for p in self.pods if address in (p.ip, f"{p.name}.{_set_of(p)}"))
        return found


def _set_of(pod: Pod) -> str:
    return pod.given.get("LWS_LEADER_ADDRESS", "").partition(".")[2]


_RECORDER = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@"
"""


@cache
def _recorder() -> tempfile.TemporaryDirectory[str]:
    """A directory with a ``vllm`` that tells its words."""
    found = tempfile.TemporaryDirectory(prefix="recorder-")
    path = Path(found.name, "vllm")
    path.write_text(_RECORDER)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return found


def executed(container: Container) -> list[str]:
    """The words that the server itself gets: what a shell before it does is done by one."""
    if container.argv[0] != "/bin/sh":
        return container.argv
    env = {**container.env, "PATH": f"{_recorder().name}:{os.environ['PATH']}"}
    done = subprocess.run(container.argv, env=env, capture_output=True, check=True, timeout=120)
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


PLACEHOLDER = re.compile(r"\$(?:\{([A-Z][A-Z0-9_]*)\}|([A-Z][A-Z0-9_]*))")


def values_in(planned: str, actual: str) -> list[tuple[str, str]] | None:
    """Each placeholder of a planned text with what stands in its place; None: another text."""
    pattern, names, end = "", [], 0
    for match in PLACEHOLDER.finditer(planned):
        pattern += re.escape(planned[end : match.start()]) + "(.*?)"
        names.append(match[1] or match[2])
        end = match.end()
    found = re.fullmatch(pattern + re.escape(planned[end:]), actual, re.DOTALL)
    return list(zip(names, found.groups(), strict=True)) if found else None
