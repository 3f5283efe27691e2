"""What a manifest says beside the commands."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.write_manifests import MANIFESTS, manifests
from tests.cli.launcher import M3, Operator
from tests.export.briefs import LAYOUTS, brief, resolved
from tests.export.cluster import Cluster
from tests.export.test_round_trip_kubernetes import assert_runs_as_planned
from tests.resolve.build import M31, deploy, recipe, told
from vllm_launch.errors import UsageError
from vllm_launch.export import Brief
from vllm_launch.export.kubernetes import files
from vllm_launch.export.yamltext import yaml_stream
from vllm_launch.model.deployment import Deployment
from vllm_launch.model.source import Source, paired
from vllm_launch.resolve.dynamo import behind_dynamo

EXPORT = ("export", M3, "--to", "kubernetes")
OPERATOR = Source(layer="operator", detail="behind --")


def cluster(plan: Brief) -> Cluster:
    (file,) = files(plan)
    return Cluster(file.text)


def header(plan: Brief) -> str:
    """The comments as running text."""
    (file,) = files(plan)
    lines = file.text.partition("\n---\n")[0].splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines)


def with_arguments(deployment: Deployment, *tokens: str) -> Deployment:
    more = paired((token, OPERATOR) for token in tokens)
    return deployment.replace(
        processes=tuple(
            plan.replace(arguments=(*plan.arguments, *more)) for plan in deployment.processes
        )
    )


@pytest.mark.parametrize("name", manifests())
def test_the_manifests_are_those_that_were_read(name: str) -> None:
    assert manifests()[name] == (MANIFESTS / name).read_text(encoding="utf-8")


def test_there_is_no_manifest_that_nothing_writes() -> None:
    assert sorted(path.name for path in MANIFESTS.iterdir()) == sorted(manifests())


# GPUs and memory


@pytest.mark.parametrize(
    ("hardware", "resource", "count"),
    [
        ("h200", "nvidia.com/gpu", 8),
        ("gb300", "nvidia.com/gpu", 4),
        ("mi355x", "amd.com/gpu", 8),
    ],
)
def test_gpus_are_asked_for_as_their_plugins_resource(
    hardware: str, resource: str, count: int
) -> None:
    (pod,) = cluster(brief(resolved(hardware=hardware))).pods
    wanted = pod.main.spec["resources"]
    if hardware != "gb300":  # where the model is given fewer
        assert wanted["limits"] == {resource: count}
    assert wanted["requests"][resource] == wanted["limits"][resource]
    assert pod.spec["tolerations"] == [
        {"key": resource, "operator": "Exists", "effect": "NoSchedule"}
    ]


OTHERS = {
    "trillium": "google.com/tpu",
    "arc_pro_b60": "gpu.intel.com/xe",
    "ascend_950pr": "huawei.com/Ascend910",
    "xeon6": None,
}


@pytest.mark.parametrize(("hardware", "resource"), OTHERS.items())
def test_other_accelerators_have_theirs_and_a_cpu_has_none(
    hardware: str, resource: str | None
) -> None:
    resolver = recipe({"meta": {"hardware": dict.fromkeys(OTHERS, "verified")}})
    deployment = deploy(resolver, hardware=hardware, strategy="single_node_tp")
    (pod,) = cluster(brief(deployment.replace(image="example/vllm:1"))).pods
    assert list(pod.main.spec["resources"].get("limits", {})) == ([resource] if resource else [])
    assert ("tolerations" in pod.spec) == bool(resource)


def test_hardware_that_no_image_is_known_for_needs_one() -> None:
    resolver = recipe({"meta": {"hardware": {"ascend_950pr": "verified"}}})
    with pytest.raises(UsageError) as error:
        files(brief(deploy(resolver, hardware="ascend_950pr")))
    assert told(error.value)[1:] == ("no image is known for Huawei", "give --image REF")


def test_pools_on_one_node_have_half_of_the_gpus_each_and_count_them_from_0() -> None:
    found = cluster(brief(resolved(**LAYOUTS["pools on one node"])))
    for role in ("prefill", "decode"):
        main = found.pod(role).main
        assert main.spec["resources"]["limits"] == {"nvidia.com/gpu": 4}
        assert main.env["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
    (term,) = found.pod("decode").spec["affinity"]["podAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    wanted = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert wanted.items() <= found.pod("prefill").labels.items()
    assert "affinity" not in found.pod("prefill").spec


def test_pools_of_their_own_nodes_stand_anywhere() -> None:
    found = cluster(brief(resolved(**LAYOUTS["pools of one node each"])))
    assert all("affinity" not in pod.spec for pod in found.pods)


def test_gpus_that_were_chosen_are_counted_anew_and_a_mask_of_the_operators_own_is_kept(
    operator: Operator,
) -> None:
    chosen = operator.run(*EXPORT, "--hardware", "b300", "--gpus", "4,5,6,7")
    (pod,) = Cluster(chosen.out).pods
    assert pod.main.env["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
    assert pod.main.spec["resources"]["limits"] == {"nvidia.com/gpu": 4}
    own = operator.run(*EXPORT, "--hardware", "b300", "-e", "CUDA_VISIBLE_DEVICES=3,2,1,0")
    (pod,) = Cluster(own.out).pods
    assert pod.main.env["CUDA_VISIBLE_DEVICES"] == "3,2,1,0"


KV = '{"kv_connector":"%s","kv_role":"kv_both","kv_connector_extra_config":%s}'


def connected(name: str, extra: str) -> dict[str, Any]:
    """The pod's specification with a KV connector of the operator's."""
    deployment = with_arguments(
        resolved(hardware="h200", kv_offload=None), "--kv-transfer-config", KV % (name, extra)
    )
    (pod,) = cluster(brief(deployment)).pods
    return pod.spec


@pytest.mark.parametrize(
    ("size", "resource", "amount"),
    [("1GB", "hugepages-1Gi", "64Gi"), ("2MB", "hugepages-2Mi", "64Gi")],
)
def test_hugetlb_pages_are_asked_for_and_limited(size: str, resource: str, amount: str) -> None:
    spec = connected(
        "SimpleCPUOffloadConnector",
        f'{{"cpu_bytes_to_use_per_rank":{8 << 30},"cpu_hugepage_block_size":"{size}"}}',
    )
    wanted = spec["containers"][0]["resources"]
    assert wanted["limits"][resource] == wanted["requests"][resource] == amount
    assert wanted["requests"]["memory"] == "80Gi"  # pages are no part of it


def test_kv_cache_on_the_host_is_in_the_memory_asked_for() -> None:
    spec = connected("SimpleCPUOffloadConnector", f'{{"cpu_bytes_to_use_per_rank":{8 << 30}}}')
    assert spec["containers"][0]["resources"]["requests"]["memory"] == "144Gi"


def test_a_file_in_shared_memory_fits_into_it() -> None:
    spec = connected("OffloadingConnector", f'{{"cpu_bytes_to_use":{100 << 30}}}')
    (shm,) = (volume for volume in spec["volumes"] if volume["name"] == "shm")
    assert shm["emptyDir"] == {"medium": "Memory", "sizeLimit": "116Gi"}
    assert {"name": "shm", "mountPath": "/dev/shm"} in spec["containers"][0]["volumeMounts"]


def test_a_store_asks_for_the_memory_that_it_lends() -> None:
    found = cluster(brief(resolved(**LAYOUTS["instances and their store"])))
    assert found.pod("store").main.spec["resources"]["requests"]["memory"] == "505Gi"


# Privileges


def test_a_server_may_do_no_more_than_its_plan_needs() -> None:
    (pod,) = cluster(brief(resolved(hardware="h200"))).pods
    assert pod.main.spec["securityContext"] == {"allowPrivilegeEscalation": False}
    assert not {"hostIPC", "hostPID", "hostNetwork"} & pod.spec.keys()
    found = cluster(brief(resolved(M31, hardware="gb300", strategy="pd_cluster")))
    assert found.pod("decode").main.spec["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"add": ["IPC_LOCK", "SYS_NICE"]},
    }


def test_all_privileges_are_there_for_who_asks() -> None:
    found = cluster(brief(resolved(**LAYOUTS["pools on one node"]), privileged=True))
    assert found.pod("prefill").main.spec["securityContext"] == {"privileged": True}
    assert found.pod("router").main.spec["securityContext"] == {"allowPrivilegeEscalation": False}


def test_rdma_devices_go_to_those_that_use_them() -> None:
    found = cluster(brief(resolved(**LAYOUTS["two nodes"]), rdma_resource="rdma/hca=2"))
    assert [pod.main.spec["resources"]["limits"]["rdma/hca"] for pod in found.pods] == [2, 2]
    (alone,) = cluster(brief(resolved(hardware="h200"), rdma_resource="rdma/hca")).pods
    assert "rdma/hca" not in alone.main.spec["resources"]["limits"]


# Probes and Services


def test_a_start_may_take_as_long_as_a_cold_one_does() -> None:
    deployment = resolved(hardware="h200")
    (pod,) = cluster(brief(deployment)).pods
    probe = pod.main.spec["startupProbe"]
    # 1025 GB at 250 MB/s, 600 s for the engine and 600 s to spare, in whole minutes.
    assert probe["periodSeconds"] * probe["failureThreshold"] == 5340
    assert probe["httpGet"] == {"path": "/health", "port": 8000}
    (thing,) = cluster(brief(deployment)).of("Deployment")
    assert thing["spec"]["progressDeadlineSeconds"] > 5340


@pytest.mark.parametrize(("words", "seconds"), [((), 120), (("--shutdown-timeout", "300"), 330)])
def test_a_server_has_time_to_answer_what_was_asked_before(
    words: tuple[str, ...], seconds: int
) -> None:
    deployment = with_arguments(resolved(hardware="h200"), *words)
    (thing,) = cluster(brief(deployment)).of("Deployment")
    assert thing["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == seconds


@pytest.mark.parametrize(("minutes", "threshold"), [(10, 60), (240, 1440)])
def test_another_time_to_start_may_be_given(minutes: int, threshold: int) -> None:
    (pod,) = cluster(brief(resolved(hardware="h200"), startup_minutes=minutes)).pods
    assert pod.main.spec["startupProbe"]["failureThreshold"] == threshold


def test_headless_workers_are_not_probed_and_have_no_service() -> None:
    found = cluster(brief(resolved(**LAYOUTS["four nodes"])))
    assert [p.name for p in found.behind("model")] == ["model-server-0"]
    assert list(found.services) == ["model"]
    for pod in found.pods:
        probes = {"startupProbe", "readinessProbe", "livenessProbe"} & pod.main.spec.keys()
        assert bool(probes) == (pod.rank == 0)


def test_requests_are_spread_over_every_rank_that_answers() -> None:
    found = cluster(brief(resolved(**LAYOUTS["data-parallel on four nodes"])))
    assert [pod.rank for pod in found.behind("model")] == [0, 1, 2, 3]


def test_a_server_with_a_certificate_is_asked_by_https() -> None:
    deployment = with_arguments(resolved(hardware="h200"), "--ssl-certfile", "/etc/tls/cert")
    (pod,) = cluster(brief(deployment)).pods
    assert pod.main.spec["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"


def test_no_pod_gets_variables_of_services() -> None:
    """A Service named vllm would set VLLM_PORT, which vLLM takes for its own."""
    found = cluster(brief(resolved(**LAYOUTS["instances and their store"])))
    assert all(pod.spec["enableServiceLinks"] is False for pod in found.pods)


# Hub cache, model, secrets


@pytest.mark.parametrize(
    ("options", "volume"),
    [
        ({}, {"emptyDir": {}}),
        ({"hub_cache_claim": "models"}, {"persistentVolumeClaim": {"claimName": "models"}}),
        (
            {"hub_cache_path": "/mnt/hub"},
            {"hostPath": {"path": "/mnt/hub", "type": "DirectoryOrCreate"}},
        ),
    ],
    ids=["by default", "claim", "path"],
)
def test_the_hub_cache_is_where_it_is_asked_for(
    options: dict[str, Any], volume: dict[str, Any]
) -> None:
    (pod,) = cluster(brief(resolved(hardware="h200"), **options)).pods
    assert {"name": "hub-cache", **volume} in pod.spec["volumes"]
    mount = {"name": "hub-cache", "mountPath": "/root/.cache/huggingface"}
    assert mount in pod.main.spec["volumeMounts"]


def test_a_local_checkpoint_is_the_nodes_and_only_read() -> None:
    deployment = resolved(hardware="h200")
    deployment = deployment.replace(
        processes=tuple(plan.replace(model="/models/m$(X)") for plan in deployment.processes)
    )
    (pod,) = cluster(brief(deployment)).pods
    assert pod.main.argv[2] == "/models/m$(X)"
    path = {"path": "/models/m$(X)", "type": "Directory"}
    assert {"name": "host-0", "hostPath": path} in pod.spec["volumes"]


def test_secrets_are_references(operator: Operator) -> None:
    environment = {"HF_TOKEN": "hf_verysecret", "OWN": "private"}
    done = operator.run(*EXPORT, "--hardware", "h200", "--nodes", "2", "-e", "OWN", env=environment)
    assert done.status == 0
    assert "verysecret" not in done.out + done.err
    assert "private" not in done.out + done.err
    for pod in Cluster(done.out).pods:
        entries = {e["name"]: e["valueFrom"] for e in pod.main.spec["env"] if "valueFrom" in e}
        for name in environment:
            reference = {"name": "minimax-m3-env", "key": name, "optional": False}
            assert entries[name] == {"secretKeyRef": reference}


def test_mooncakes_files_lead_to_the_master() -> None:
    found = cluster(brief(resolved(**LAYOUTS["instances and their store"])))
    (thing,) = found.of("ConfigMap")
    for text in thing["data"].values():
        assert '"master_server_address": "model-master:50051"' in text
        assert '"device_name": ""' in text
    assert found.at("model-master").component == "master"


# Behind Dynamo


def dynamo(**given: Any) -> Deployment:
    deployment = behind_dynamo(resolved(**given), None)
    return deployment.replace(image="example/dynamo:1", image_source=OPERATOR)


@pytest.mark.parametrize("name", ["one node", "two nodes", "pools of one node each"])
def test_workers_behind_dynamo_run_as_planned(name: str) -> None:
    images = ("etcd=example/etcd:1", "nats=example/nats:1")
    assert_runs_as_planned(brief(dynamo(**LAYOUTS[name]), part_image=images))


def test_requests_go_to_dynamos_frontend() -> None:
    images = ("etcd=example/etcd:1", "nats=example/nats:1")
    found = cluster(brief(dynamo(hardware="h200"), part_image=images))
    assert found.at("model").component == "frontend"
    assert found.pod("etcd").main.image == "example/etcd:1"
    assert not {"startupProbe", "livenessProbe"} & found.pod("server").main.spec.keys()


# What cannot be

REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "no service has the image": (
        {"hardware": "h200"},
        {"part_image": ("router=x/y:1",)},
        "--part-image: found 'router=x/y:1'; expected ROLE=REF",
        "parts beside the servers here: none",
    ),
    "an image that is none": (
        LAYOUTS["pools on one node"],
        {"part_image": ("router=docker pull",)},
        "--part-image: 'docker pull' is no image reference",
        "write NAME:TAG or NAME@sha256:…",
    ),
    "no pools for one set": (
        {"hardware": "h200"},
        {"disaggregated_set": True},
        "--disaggregated-set is for a prefill and a decode pool together",
        "give --strategy pd_cluster, or leave it out",
    ),
    "two hub caches": (
        {"hardware": "h200"},
        {"hub_cache_claim": "a", "hub_cache_path": "/b"},
        "--hub-cache-claim and --hub-cache-path each say where the hub cache is",
        "leave one out",
    ),
    "a path from nowhere": (
        {"hardware": "h200"},
        {"hub_cache_path": "b"},
        "--hub-cache-path: found 'b'; expected a whole path on the nodes",
        "for example --hub-cache-path /mnt/models/huggingface",
    ),
    "a label without a value": (
        {"hardware": "h200"},
        {"node_selector": ("gpu",)},
        "--node-selector: found 'gpu'; expected KEY=VALUE",
        "for example --node-selector nvidia.com/gpu.product=NVIDIA-H200",
    ),
    "RDMA devices that are no number": (
        {"hardware": "h200"},
        {"rdma_resource": "rdma/hca=two"},
        "--rdma-resource: found 'rdma/hca=two'; expected NAME[=COUNT]",
        "for example --rdma-resource rdma/hca_shared_devices_a=1",
    ),
    "a namespace that none can be": (
        {"hardware": "h200"},
        {"namespace": "My_Space"},
        "--namespace: found 'My_Space'; expected lower case letters, digits and dashes",
        "for example --namespace models",
    ),
    "an interface on the node": (
        {"hardware": "h200", "nodes": 2},
        {"host_network": True},
        "not filled in with --host-network: $IFACE_NAME",
        "give --endpoint IFACE_NAME=…",
    ),
}


@pytest.mark.parametrize(("given", "options", "message", "hint"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_said_before_anything_is_written(
    given: dict[str, Any], options: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as error:
        files(brief(resolved(**given), **options))
    assert told(error.value)[1:] == (message, hint)


def test_a_secret_is_made_where_its_pods_are() -> None:
    plan = brief(resolved(hardware="h200")).replace(passed_by_name=("HF_TOKEN",))
    made = "kubectl create secret generic model-env --from-env-file=FILE"
    assert header(plan).count(made) == 1
    asked = plan.replace(options={"namespace": "llm"})
    assert f"{made} --namespace llm" in header(asked)


def test_an_image_without_dynamo_is_refused() -> None:
    deployment = behind_dynamo(resolved(hardware="h200"), None)
    with pytest.raises(UsageError, match="has no Dynamo in it"):
        files(brief(deployment))


def test_etcd_needs_an_image_of_its_own() -> None:
    with pytest.raises(UsageError) as error:
        files(brief(dynamo(hardware="h200")))
    assert told(error.value)[1:] == (
        "no image is known for etcd",
        "give --part-image etcd=REF",
    )


def test_a_name_without_room_for_what_pods_are_called_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        files(brief(resolved(hardware="h200")).replace(name="m" * 37))
    assert told(error.value)[1:] == (
        f"{'m' * 37} has 37 characters, and names of pods leave room for 36",
        "give a shorter --name",
    )


@pytest.mark.parametrize(
    ("given", "told_so"),
    [
        pytest.param({"strategy": "pd_cluster"}, True, id="half of the node"),
        pytest.param({}, False, id="the whole node"),
    ],
)
def test_a_privileged_pod_has_more_gpus_than_it_asked_for(
    given: dict[str, str], told_so: bool
) -> None:
    deployment = resolved(hardware="h200", **given)
    said = "A privileged container sees every GPU of its node"
    assert (said in header(brief(deployment, privileged=True))) is told_so
    assert said not in header(brief(deployment))


def test_a_server_on_a_socket_has_no_probes_of_a_port() -> None:
    given = {"strategy": "pd_cluster", "hardware": "h200"}
    deployment = with_arguments(resolved(**given), "--uds", "/tmp/x.sock")
    for pod in cluster(brief(deployment)).pods:
        probed = [key for key in pod.main.spec if key.endswith("Probe")]
        assert bool(probed) is (pod.component == "router"), pod.component


def test_rdma_devices_that_pods_are_not_given_are_told() -> None:
    deployment = resolved(hardware="h200", strategy="pd_cluster")
    said = "Pods are given no RDMA devices"
    assert said in header(brief(deployment))
    assert said not in header(brief(deployment, rdma_resource="rdma/hca"))
    assert said not in header(brief(resolved(hardware="h200")))


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        pytest.param(
            ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",),
            "nvidia-nemotron-3-super-120b-a12b",
            id="alone",
        ),
        pytest.param(
            ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "--strategy", "pd_cluster",
             "--disaggregated-set"),
            "qwen3-coder-480b-a35b",
            id="in one set",
        ),
    ],
)  # fmt: skip
def test_a_name_that_nobody_asked_for_has_as_many_words_as_there_is_room_for(
    operator: Operator, asked: tuple[str, ...], name: str
) -> None:
    ran = operator.run("export", *asked, "--hardware", "h200", "--to", "kubernetes")
    assert f"\nmetadata:\n  name: {name}\n" in ran.out


def test_a_name_begins_with_a_letter() -> None:
    (thing,) = cluster(brief(resolved(hardware="h200")).replace(name="3b")).of("Service")
    assert thing["metadata"]["name"] == "vllm-3b"


@pytest.mark.parametrize("name", ["POD_IP", "LWS_WORKER_INDEX"])
def test_a_variable_of_the_clusters_own_is_refused(name: str) -> None:
    deployment = resolved(hardware="h200")
    deployment = deployment.replace(
        processes=tuple(p.replace(variables=((name, "1", OPERATOR),)) for p in deployment.processes)
    )
    with pytest.raises(UsageError) as error:
        files(brief(deployment))
    assert told(error.value)[1:] == (
        f"the variable {name} is set by what runs the pods",
        "leave it out",
    )


def test_one_rank_alone_is_refused(operator: Operator) -> None:
    done = operator.run(*EXPORT, "--hardware", "h200", "--nodes", "2", "--node-rank", "1")
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        "error: rank 1 alone of server was asked for, and a set of pods has every rank\n"
        "  leave --node-rank out\n"
    )


def test_a_directory_gets_one_file_and_every_run_the_same_bytes(operator: Operator) -> None:
    line = (*EXPORT, "--hardware", "h200", "--nodes", "2", "--out", "manifests")
    written = operator.cwd / "manifests" / "minimax-m3.yaml"
    texts = set()
    for seed in ("1", "2"):
        done = operator.run(*line, env={"PYTHONHASHSEED": seed})
        assert (done.status, done.out) == (0, "")
        assert done.err.startswith("# wrote manifests/minimax-m3.yaml\n")
        texts.add(written.read_text(encoding="utf-8"))
    (text,) = texts
    assert "# command: vllm-launch export MiniMaxAI/MiniMax-M3 --to kubernetes" in text
    assert "sha256:" in text.partition("\n---\n")[0]
    assert [thing["kind"] for thing in Cluster(text).objects] == ["Service", "LeaderWorkerSet"]


def test_one_pool_alone_is_exported(operator: Operator) -> None:
    done = operator.run(
        *EXPORT, "--hardware", "h200", "--strategy", "pd_cluster", "--role", "decode", "--name", "d"
    )
    assert [pod.component for pod in Cluster(done.out).pods] == ["decode"]


def test_the_options_of_kubernetes_are_refused_elsewhere(operator: Operator) -> None:
    done = operator.run(
        "export", M3, "--hardware", "h200", "--to", "compose", "--namespace", "serving"
    )
    assert (done.status, done.out) == (2, "")
    assert done.err == "error: --namespace is for --to kubernetes\n  leave it out\n"


# What is said at the top

SAID = {
    "the controller": ("two nodes", {}, "The cluster needs the LeaderWorkerSet controller."),
    "the newer controller": (
        "pools on one node",
        {"disaggregated_set": True},
        "The cluster needs the LeaderWorkerSet controller 0.9 or newer (DisaggregatedSet).",
    ),
    "the router's image": (
        "pools on one node",
        {},
        "The router runs from the server's image, in which vllm-router has to be installed;",
    ),
    "the pools' GPUs": (
        "pools on one node",
        {},
        "Each asks for its share of the GPUs, prefers the other's node, and counts its GPUs from 0",
    ),
    "the weights' way": (
        "one node",
        {},
        "fill it before, or give -e VLLM_ENGINE_READY_TIMEOUT_S=4800.",
    ),
    "the companion's GPUs": ("companion", {}, "LMCache Server runs beside each server"),
    "every rank answers": (
        "data-parallel on two nodes",
        {},
        "the Service model spreads connections over them all",
    ),
}


@pytest.mark.parametrize(("layout", "options", "said"), SAID.values(), ids=SAID)
def test_the_header_says_what_is_needed(layout: str, options: dict[str, Any], said: str) -> None:
    assert said in header(brief(resolved(**LAYOUTS[layout]), **options))


def test_the_header_holds_the_plans_own_notes() -> None:
    deployment = resolved(hardware="h200").replace(notes=("worth knowing",))
    assert "- worth knowing" in header(brief(deployment))


def test_it_does_not_say_what_is_settled() -> None:
    options = {"part_image": ("router=x/y:1",), "hub_cache_claim": "models"}
    text = header(brief(resolved(**LAYOUTS["pools of one node each"]), **options))
    assert "server's image" not in text
    assert "hub cache" not in text
    assert "gives up" not in text


def test_a_recipes_shell_text_stays_a_comment() -> None:
    """Only a shell could run it, and none is handed it."""
    deployment = resolved(**LAYOUTS["pools on one node"])
    plan = brief(deployment.replace(router="a | b\n---\nkind: Pod"))
    found = cluster(plan)
    assert "router: to be run by hand, it is no plain command: a | b --- kind: Pod" in header(plan)
    assert {thing["kind"] for thing in found.objects} == {"Deployment", "Service"}
    assert [pod.component for pod in found.pods] == ["prefill", "decode"]


@pytest.mark.parametrize(
    "word", ["1e3", "0o17", "0x1f", "1_000", "1:30", ".5", "y", "N", "no", "~"]
)
def test_text_that_some_reader_of_yaml_takes_for_another_kind_is_quoted(word: str) -> None:
    """Kubernetes' own takes 1e3 for a number, which is no word of a command."""
    assert yaml_stream([{"word": word}]) == f"---\nword: '{word}'\n"


@pytest.mark.parametrize("word", ["80Gi", "0,1,2,3", "--port", "http://a:1", "bf16", "a-1"])
def test_text_that_is_nothing_else_stands_as_it_is(word: str) -> None:
    assert yaml_stream([{"word": word}]) == f"---\nword: {word}\n"
