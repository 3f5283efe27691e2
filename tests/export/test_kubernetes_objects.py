"""Every object is one that Kubernetes takes, and an expert would hand in."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
from kubernetes_validate import utils

from tests.export.briefs import CRDS, LAYOUTS, brief, recorded, resolved
from tests.export.cluster import Cluster
from tests.fast_yaml import documents
from tests.resolve.build import M31
from vllm_launch.export import Brief
from vllm_launch.export.kubernetes import files

BUILT_IN = {"Deployment", "Service", "ConfigMap"}
NAME = 63


@pytest.fixture(scope="module", autouse=True)
def schemas_read_once() -> Iterator[None]:
    """The validator reads a file of some megabytes for each object."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(utils, "schema_contents", functools.cache(utils.schema_contents))
        yield


def validate(thing: dict[str, Any]) -> None:
    """Against the newest schemas of Kubernetes; an unknown field is an error."""
    kubernetes_validate.validate(thing, kubernetes_validate.latest_version(), strict=True)


def closed(schema: Any) -> Any:
    """A CRD's schema in which an unknown field is an error, as with kubectl --validate=strict."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        found.setdefault("additionalProperties", False)
    return found


@functools.cache
def custom(kind: str) -> jsonschema.Draft202012Validator:
    """The validator of a custom resource, from its own definition."""
    for path in sorted(CRDS.glob("*.yaml")):
        (definition,) = documents(path.read_text(encoding="utf-8"))
        if definition["spec"]["names"]["kind"] == kind:
            (version,) = (v for v in definition["spec"]["versions"] if v["name"] == "v1")
            return jsonschema.Draft202012Validator(closed(version["schema"]["openAPIV3Schema"]))
    raise AssertionError(f"no definition of {kind} in {CRDS}")


def templates(thing: Any) -> Iterator[dict[str, Any]]:
    """Every pod template in an object."""
    if isinstance(thing, dict):
        if isinstance(thing.get("spec"), dict) and "containers" in thing["spec"]:
            yield thing
        for each in thing.values():
            yield from templates(each)
    elif isinstance(thing, list):
        for each in thing:
            yield from templates(each)


def assert_valid(text: str) -> None:
    for thing in documents(text):
        if thing["kind"] in BUILT_IN:
            validate(thing)
            continue
        for template in templates(thing):
            validate(
                {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {}, "template": template}
            )
        if CRDS.is_dir():
            custom(thing["kind"]).validate(thing)


def assert_sound(text: str) -> None:
    """What no schema says."""
    cluster = Cluster(text)
    seen = [(thing["kind"], thing["metadata"]["name"]) for thing in cluster.objects]
    assert len(set(seen)) == len(seen)
    assert all(len(name) <= NAME for _, name in seen)
    # The LeaderWorkerSet controller makes a headless Service of the set's name.
    assert not {n for kind, n in seen if kind == "LeaderWorkerSet"} & cluster.services.keys()
    for name, service in cluster.services.items():
        behind = cluster.behind(name)
        assert len(behind) == 1 or (behind and name == "model")  # several only for the way in
        (port,) = service["spec"]["ports"]
        for pod in behind:
            (exposed,) = pod.spec["containers"][0]["ports"]
            assert port["targetPort"] == exposed["name"]
            assert port["port"] == exposed["containerPort"]
    for thing in cluster.of("Deployment"):
        wanted = thing["spec"]["selector"]["matchLabels"]
        assert wanted.items() <= thing["spec"]["template"]["metadata"]["labels"].items()
    for pod in cluster.pods:
        assert_pod_is_sound(pod.spec, cluster)


def assert_pod_is_sound(spec: dict[str, Any], cluster: Cluster) -> None:
    volumes = {volume["name"]: volume for volume in spec.get("volumes", ())}
    used = set()
    assert spec["enableServiceLinks"] is False
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        mounts = container.get("volumeMounts", [])
        used |= {mount["name"] for mount in mounts}
        assert len({mount["mountPath"] for mount in mounts}) == len(mounts)
        names = [entry["name"] for entry in container.get("env", ())]
        assert len(set(names)) == len(names)
        resources = container["resources"]
        for name, count in resources.get("limits", {}).items():
            assert resources["requests"][name] == count  # neither is ever overcommitted
        assert "memory" in resources["requests"]  # which huge pages are not given without
    assert used == volumes.keys()
    maps = {thing["metadata"]["name"] for thing in cluster.of("ConfigMap")}
    for volume in volumes.values():
        assert volume.get("configMap", {}).get("name") in {None, *maps}


def text_of(plan: Brief) -> str:
    (file,) = files(plan)
    assert file.name == "model.yaml"
    return file.text


def test_the_definitions_of_custom_resources_are_there_where_all_is_tested() -> None:
    if not CRDS.parent.is_dir():
        pytest.skip(f"no definitions of custom resources in {CRDS}")
    assert custom("LeaderWorkerSet")
    assert custom("DisaggregatedSet")


@pytest.mark.parametrize("given", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_is_valid(given: dict[str, Any]) -> None:
    text = text_of(brief(resolved(**given)))
    assert_valid(text)
    assert_sound(text)


@pytest.mark.parametrize(
    "given", [each for each in LAYOUTS.values() if each.get("strategy") == "pd_cluster"]
)
def test_every_pair_of_pools_is_valid_in_a_disaggregated_set(given: dict[str, Any]) -> None:
    text = text_of(brief(resolved(**given), disaggregated_set=True))
    assert_valid(text)
    assert_sound(text)


OPTIONS: dict[str, Any] = {
    "namespace": "serving",
    "secret_name": "tokens",
    "hub_cache_claim": "models",
    "gpu_resource": "nvidia.com/mig-3g.71gb",
    "rdma_resource": "rdma/hca=2",
    "node_selector": ("nvidia.com/gpu.product=NVIDIA-H200",),
    "runtime_class": "nvidia",
    "resource_claim_template": "domain",
    "privileged": True,
    "startup_minutes": 120,
}


@pytest.mark.parametrize("given", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_is_valid_with_every_option(given: dict[str, Any]) -> None:
    text = text_of(brief(resolved(**given), **OPTIONS).replace(passed_by_name=("HF_TOKEN",)))
    assert_valid(text)
    assert_sound(text)


@pytest.mark.parametrize("in_set", [False, True], ids=["two sets", "one set"])
def test_the_pair_on_gb300_is_valid(in_set: bool) -> None:
    plan = brief(resolved(M31, hardware="gb300", strategy="pd_cluster"), disaggregated_set=in_set)
    text = text_of(plan)
    assert_valid(text)
    assert_sound(text)


@pytest.mark.skipif(not recorded(), reason="no recorded commands beside the checkout")
def test_every_recorded_deployment_is_sound_and_each_form_of_it_valid() -> None:
    forms = set()
    for recipe, given in recorded():
        deployment = resolved(recipe, **given)
        text = text_of(brief(deployment))
        assert_sound(text)
        choice = deployment.choice
        form = (choice.hardware.brand, choice.strategy, choice.kv_offload, choice.hardware.id)
        if form not in forms:
            forms.add(form)
            assert_valid(text)
    assert len(forms) > 50


def test_a_schema_that_an_object_does_not_keep_to_is_noticed() -> None:
    (thing,) = Cluster(text_of(brief(resolved(hardware="h200")))).of("Deployment")
    thing["spec"]["template"]["spec"]["containers"][0]["imagePolicy"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError, match="imagePolicy"):
        validate(thing)
    if CRDS.is_dir():
        (thing,) = Cluster(text_of(brief(resolved(hardware="h200", nodes=2)))).of("LeaderWorkerSet")
        thing["spec"]["leaderWorkerTemplate"]["replicas"] = 2
        with pytest.raises(jsonschema.ValidationError, match="replicas"):
            custom("LeaderWorkerSet").validate(thing)


def test_the_same_plan_gives_the_same_bytes() -> None:
    plan = brief(resolved(**LAYOUTS["pools with a store"]))
    assert text_of(plan) == text_of(plan)
