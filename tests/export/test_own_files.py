"""Files of the operator's own: each container that reads one sees it, whatever runs it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.launcher import M3, Operator
from tests.export.cluster import Cluster
from tests.export.compose_reader import services

_ADDRESSES = ("--endpoint", "MOONCAKE_MASTER_IP=10.0.0.1")
_OWN = (
    *("--endpoint", "MOONCAKE_CONFIG_PATH=/etc/moon.json"),
    *("--endpoint", "MOONCAKE_STORE_CONFIG_PATH=/etc/store.json"),
)
STORE = (
    *("export", M3, "--hardware", "h200", "--variant", "mxfp8", "--instances", "1"),
    *("--kv-offload", "kv_store_centralized_mooncake", *_ADDRESSES),
)
PROXY = (
    *("export", M3, "--hardware", "h200", "--strategy", "pd_cluster", "--role", "proxy"),
    *("--endpoint", "TOY_PROXY=/opt/toy.py"),
)


def mounts(text: str, service: str) -> list[str]:
    """A compose service's files, without the hub cache."""
    volumes: list[str] = services(text)[service].get("volumes", [])
    return [volume for volume in volumes if "huggingface" not in volume]


@pytest.mark.parametrize(
    ("line", "service", "path"),
    [
        pytest.param((*STORE, *_OWN, "--role", "store"), "store", "/etc/store.json", id="store"),
        pytest.param(
            (*STORE, *_OWN, "--role", "instance"), "instance-0", "/etc/moon.json", id="server"
        ),
        pytest.param(PROXY, "proxy", "/opt/toy.py", id="toy proxy"),
    ],
)
def test_a_container_has_the_files_that_it_reads(
    operator: Operator, line: tuple[str, ...], service: str, path: str
) -> None:
    composed = operator.run(*line, "--to", "compose").out
    assert mounts(composed, service) == [f"{path}:{path}:ro"]
    unit = operator.run(*line, "--to", "systemd", "--runtime", "docker").out
    assert [word for word in unit.split() if word.endswith(":ro")] == [f"{path}:{path}:ro"]


def store_pod(operator: Operator, *more: str) -> dict[str, Any]:
    spec: dict[str, Any] = (
        Cluster(operator.run(*STORE, "--to", "kubernetes", *more).out).pod("store").spec
    )
    return spec


def test_a_pod_has_the_files_that_it_reads(operator: Operator) -> None:
    spec = store_pod(operator, *_OWN)
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "host-0", "mountPath": "/etc/store.json", "readOnly": True}
    ]
    assert spec["volumes"] == [
        {"name": "host-0", "hostPath": {"path": "/etc/store.json", "type": "File"}}
    ]


def test_a_store_needs_as_much_with_a_file_of_the_operators_own(operator: Operator) -> None:
    written, own = (store_pod(operator, *more)["containers"][0] for more in ((), _OWN))
    assert own["resources"] == written["resources"]
    assert own["resources"]["requests"]["memory"] == "505Gi"
    assert own["securityContext"] == written["securityContext"]
    assert own["securityContext"]["capabilities"] == {"add": ["IPC_LOCK"]}


def test_what_uses_rdma_is_where_the_nodes_devices_are(operator: Operator) -> None:
    options = ("--to", "kubernetes", "--host-network", "--privileged")
    found = Cluster(operator.run(*STORE, *options).out)
    privileged = {"privileged": True}
    assert {
        pod.component: (
            pod.spec.get("hostNetwork", False),
            pod.main.spec["securityContext"] == privileged,
        )
        for pod in found.pods
    } == {"master": (False, False), "store": (True, True), "instance": (True, True)}
