"""The pods: containers, what is mounted in them, and what they may do."""

from __future__ import annotations

from ...errors import UsageError
from ...resolve.container import files_read, own_hub_cache
from ..readiness import health_url, startup_seconds, stop_seconds
from .addresses import CONFIG_DIRECTORY, ENTRIES, OWN, POD_IP
from .needs import masks, needs_of, page_resource, quantity
from .probes import listening_probes, router_probes, server_probes, sidecar_probe
from .ranks import run_of, run_of_workers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ...model.part import Part
    from .. import Brief
    from .addresses import Addresses
    from .groups import Group
    from .needs import Needs
    from .ranks import Run
    from .settings import Settings

_HUB_CACHE = "/root/.cache/huggingface"  # where the images' user has it
_SHM = "/dev/shm"  # noqa: S108 - the mount itself
_GRACE = 30  # seconds to end in, of what is no server
# Where those that speak no HTTP listen, unless their words say otherwise.
_PORTS = {"master": 50051, "etcd": 2379, "nats": 4222}


class Pods:
    """Makes the pod templates of one export."""

    def __init__(self, brief: Brief, settings: Settings, addresses: Addresses, config: str) -> None:
        self.brief = brief
        self.settings = settings
        self.addresses = addresses
        self.config = config  # a digest of the ConfigMap
        self.companions = [part for part in brief.parts if part.role == "companion" and part.argv]

    def leader(self, group: Group) -> dict[str, Any]:
        """The template of a group's first rank, or its only one."""
        part = group.leader
        run = run_of(part, self.addresses, masks(part, self.brief.deployment))
        return self._template(group, part, run)

    def workers(self, group: Group) -> dict[str, Any]:
        """The template of all other ranks."""
        parts = group.parts[1:]
        masked = masks(parts[0], self.brief.deployment)
        run = run_of_workers(parts, self.addresses, masked)
        return self._template(group, parts[0], run)

    def startup(self, group: Group) -> int:
        """Seconds in which a group may start: a router's are those of the servers behind it."""
        if self.settings.startup_seconds is not None:
            return self.settings.startup_seconds
        parts = self.brief.parts if group.component in ENTRIES else group.parts
        plans = [part.plan for part in parts if part.plan is not None]
        return max((startup_seconds(self.brief.deployment, p) for p in plans), default=600)

    def _template(self, group: Group, part: Part, run: Run) -> dict[str, Any]:
        needs = needs_of(part, self.brief.deployment, alone=group.size == 1)
        spec: dict[str, Any] = {
            "terminationGracePeriodSeconds": stop_seconds(part) if group.serves else _GRACE,
            # A Service named "vllm" would set VLLM_PORT in here, which vLLM takes for its own.
            "enableServiceLinks": False,
            "automountServiceAccountToken": False,
        }
        spec.update(self._placing(group, part, needs))
        if group.serves and self.companions:
            spec["initContainers"] = [self._sidecar(each, part) for each in self.companions]
        spec["containers"] = [self._container(group, part, run, needs)]
        volumes = self._volumes(part, needs)
        if volumes:
            spec["volumes"] = volumes
        metadata: dict[str, Any] = {"labels": labels(self.settings, group)}
        if part.files:
            metadata["annotations"] = {"vllm-launch/config": self.config}
        return {"metadata": metadata, "spec": spec}

    def _placing(self, group: Group, part: Part, needs: Needs) -> dict[str, Any]:
        """Where a pod may run."""
        settings = self.settings
        found: dict[str, Any] = {}
        if settings.host_network and (group.serves or needs.rdma):
            found["hostNetwork"] = True
            found["dnsPolicy"] = "ClusterFirstWithHostNet"
        if settings.runtime_class and needs.gpus:
            found["runtimeClassName"] = settings.runtime_class
        if settings.node_selector and group.serves:
            found["nodeSelector"] = dict(settings.node_selector)
        if needs.gpus and settings.gpu_resource:
            found["tolerations"] = [
                {"key": settings.gpu_resource, "operator": "Exists", "effect": "NoSchedule"}
            ]
        if part.role == "decode" and self.brief.deployment.pools_shared:
            found["affinity"] = _beside(settings, "prefill")
        if settings.claim_template and needs.gpus:
            found["resourceClaims"] = [
                {"name": "devices", "resourceClaimTemplateName": settings.claim_template}
            ]
        return found

    def _container(self, group: Group, part: Part, run: Run, needs: Needs) -> dict[str, Any]:
        container: dict[str, Any] = {
            "name": "vllm" if group.serves else part.role,
            "image": self._image(part),
            "command": list(run.command),
        }
        if run.args:
            container["args"] = list(run.args)
        env = self._env(group, run)
        if env:
            container["env"] = env
        port = port_of(part)
        if port is not None:
            name = "http" if part.port is not None else "rpc"
            container["ports"] = [{"name": name, "containerPort": port}]
        container["resources"] = self._resources(needs)
        security = self._security(group, needs)
        if security:
            container["securityContext"] = security
        container.update(self._probes(group, part))
        mounts = self._mounts(part, needs)
        if mounts:
            container["volumeMounts"] = mounts
        return container

    def _image(self, part: Part) -> str:
        return self.settings.images.get(part.role, self.settings.image)

    def _env(self, group: Group, run: Run) -> list[dict[str, Any]]:
        """The pod's own address first: what follows may be made from it."""
        names = {name for name, _ in run.env}
        taken = sorted(n for n in names if n == POD_IP or n.startswith("LWS_"))
        if taken:
            raise UsageError(
                f"the variable {taken[0]} is set by what runs the pods", hint="leave it out"
            )
        env: list[dict[str, Any]] = []
        if any(OWN in text for text in (*run.args, *(value for _, value in run.env))):
            env.append({"name": POD_IP, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})
        env += [{"name": name, "value": value} for name, value in run.env]
        if group.serves:
            env += [self._secret(name) for name in self.brief.passed_by_name if name not in names]
        return env

    def _secret(self, name: str) -> dict[str, Any]:
        reference = {"name": self.settings.secret, "key": name, "optional": False}
        return {"name": name, "valueFrom": {"secretKeyRef": reference}}

    def _resources(self, needs: Needs) -> dict[str, Any]:
        """GPUs and pages as limits too; memory only asked for: a limit would end a full server."""
        settings = self.settings
        exact: dict[str, Any] = {}
        if needs.gpus and settings.gpu_resource:
            exact[settings.gpu_resource] = needs.gpus
        if needs.rdma and settings.rdma is not None:
            exact[settings.rdma[0]] = settings.rdma[1]
        for page, count in needs.pages.items():
            exact[page_resource(page)] = quantity(count)
        found: dict[str, Any] = {
            "requests": {"cpu": str(needs.cpus), "memory": quantity(needs.memory), **exact}
        }
        if exact:
            found["limits"] = exact
        if settings.claim_template and needs.gpus:
            found["claims"] = [{"name": "devices"}]
        return found

    def _security(self, group: Group, needs: Needs) -> dict[str, Any]:
        if self.settings.privileged and (group.serves or needs.rdma):
            return {"privileged": True}
        found: dict[str, Any] = {"allowPrivilegeEscalation": False}
        if needs.capabilities:
            found["capabilities"] = {"add": needs.capabilities}
        return found

    def _probes(self, group: Group, part: Part) -> dict[str, Any]:
        """A headless worker has none: it speaks no HTTP, and the head's say how the group is."""
        port = port_of(part)
        if port is not None and part.role in _PORTS:
            return listening_probes(port)
        if part.port is None:
            return {}
        startup = self.startup(group)
        if part.plan is None:
            return router_probes(part.port, startup)
        if health_url(part) is None:  # it listens on a socket of its own pod
            return {}
        return server_probes(part.plan, part.port, startup)

    def _mounts(self, part: Part, needs: Needs) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if needs.shared_memory:
            found.append({"name": "shm", "mountPath": _SHM})
        if part.plan is not None:
            path = own_hub_cache(part.plan) or _HUB_CACHE
            found.append({"name": "hub-cache", "mountPath": path})
        if part.files:
            found.append({"name": "config", "mountPath": CONFIG_DIRECTORY, "readOnly": True})
        for number, (path, _) in enumerate(_host_paths(part)):
            found.append({"name": f"host-{number}", "mountPath": path, "readOnly": True})
        return found

    def _volumes(self, part: Part, needs: Needs) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if needs.shared_memory:
            limit = quantity(needs.shared_memory)
            found.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": limit}})
        if part.plan is not None:
            found.append({"name": "hub-cache", **self._hub_cache()})
        if part.files:
            found.append({"name": "config", "configMap": {"name": f"{self.settings.name}-config"}})
        for number, (path, kind) in enumerate(_host_paths(part)):
            found.append({"name": f"host-{number}", "hostPath": {"path": path, "type": kind}})
        return found

    def _hub_cache(self) -> dict[str, Any]:
        settings = self.settings
        if settings.claim:
            return {"persistentVolumeClaim": {"claimName": settings.claim}}
        if settings.cache_path:
            return {"hostPath": {"path": settings.cache_path, "type": "DirectoryOrCreate"}}
        return {"emptyDir": {}}

    def _sidecar(self, companion: Part, server: Part) -> dict[str, Any]:
        """A companion, which is up before the server starts and ends after it.

        It shares the server's GPUs: asking for them would take others.
        """
        run = run_of(companion, self.addresses, {})
        needs = needs_of(companion, self.brief.deployment, alone=True)
        env = [{"name": name, "value": value} for name, value in run.env]
        brand = self.brief.deployment.choice.hardware.brand
        if brand == "NVIDIA" and server.gpus:
            env.append({"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"})
        container: dict[str, Any] = {
            "name": companion.name,
            "image": self._image(companion),
            "restartPolicy": "Always",
            "command": list(run.command),
            "args": list(run.args),
        }
        if env:
            container["env"] = env
        container["resources"] = {"requests": {"cpu": "4", "memory": quantity(needs.memory)}}
        container["securityContext"] = (
            {"privileged": True}
            if self.settings.privileged or (brand == "AMD" and server.gpus)
            else {"allowPrivilegeEscalation": False}
        )
        port = _after(companion.argv, "--port")
        if port is not None:
            container.update(sidecar_probe(port))
        container["volumeMounts"] = [{"name": "shm", "mountPath": _SHM}]
        return container


def labels(settings: Settings, group: Group) -> dict[str, str]:
    """What a group's objects and pods are known by."""
    return {
        "app.kubernetes.io/name": "vllm",
        "app.kubernetes.io/instance": settings.name,
        "app.kubernetes.io/component": group.component,
        "app.kubernetes.io/managed-by": "vllm-launch",
    }


def selector(settings: Settings, component: str) -> dict[str, str]:
    """What of them tells pods apart."""
    return {
        "app.kubernetes.io/instance": settings.name,
        "app.kubernetes.io/component": component,
    }


def _beside(settings: Settings, component: str) -> Mapping[str, Any]:
    """On the node of another component, where there is room: the plan has both on one."""
    term = {
        "labelSelector": {"matchLabels": selector(settings, component)},
        "topologyKey": "kubernetes.io/hostname",
    }
    weighted = {"weight": 100, "podAffinityTerm": term}
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [weighted]}}


def port_of(part: Part) -> int | None:
    """The port where others find a part; None where none looks for it."""
    if part.role in _PORTS:
        return _after(part.argv, "-rpc_port", "--rpc_port") or _PORTS[part.role]
    return part.port


def _after(argv: Sequence[str], *flags: str) -> int | None:
    """The number behind a flag, or joined to it with an equals sign."""
    for place, word in enumerate(argv):
        flag, equals, value = word.partition("=")
        if flag in flags:
            value = value if equals else (*argv, "")[place + 1]
            if value.isascii() and value.isdecimal() and 0 < int(value[:6]) < 65536:
                return int(value)
    return None


def _host_paths(part: Part) -> list[tuple[str, str]]:
    """Paths on the node that a part reads: a local model, the operator's own files."""
    paths = [*files_read(part.plan)] if part.plan is not None else []
    model = part.plan.model if part.plan is not None else ""
    return [
        (path, "Directory" if path == model else "File")
        for path in dict.fromkeys((*paths, *part.reads))
        if path.startswith("/")
    ]
