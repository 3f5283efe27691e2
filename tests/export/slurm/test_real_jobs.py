"""Exported jobs under real Slurm daemons."""

from __future__ import annotations

from tests.export.slurm.cluster import until
from tests.export.slurm.user import alive, kill
from vllm_launch.catalog.library import bundled
from vllm_launch.model.choice import Request
from vllm_launch.resolve.parts import parts
from vllm_launch.resolve.placeholders import fill_part
from vllm_launch.resolve.resolver import Resolver

M3, FLASH = "MiniMaxAI/MiniMax-M3", "MiniMaxAI/MiniMax-M3.1-Flash"
TWO_NODES = (M3, "--hardware", "h200", "--nodes", "2")
ODD = "a'b\"c $HEAD_IP `id` $(id) %j \\ é\r\n#SBATCH --nodes=9"
# What Slurm and the shell put into the environment of every task.
OF_SLURM = ("SLURM", "SBATCH", "PMI", "SRUN_")
OTHERS = {
    "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK",
    "ENVIRONMENT", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "_", "TMPDIR", "LS_COLORS",
}  # fmt: skip


def planned(recipe, values, **asked):
    """The parts of a plan by name, filled in."""
    library = bundled()
    found = library.recipe(recipe)
    resolver = Resolver(found, library)
    deployment = resolver.resolve(resolver.choose(Request(**asked)))
    return {part.name: fill_part(part, values) for part in parts(deployment)}


def own_variables(record, user):
    """A process's variables without those that any job has."""
    import os

    inherited = os.environ.keys() | user.env.keys()
    return {
        name: value
        for name, value in record["env"].items()
        if name not in inherited | OTHERS and not name.startswith(OF_SLURM)
    }


def ranks(cluster):
    values = {"HEAD_IP": cluster.address["n1"], "IFACE_NAME": "lo"}
    plan = planned(M3, values, hardware="h200", nodes=2)
    return [plan["head-0"], plan["worker-1"]]


def test_each_rank_of_a_two_node_job_runs_what_the_plan_says(user, cluster):
    own = ("--served-model-name", ODD)
    number = user.submit(*TWO_NODES, "--gres", "gpu:8", "--out", "jobs", "--", *own)
    records = user.recorded(2)
    for record, part in zip(records, ranks(cluster), strict=True):
        words = [word.encode("latin-1").decode() for word in record["argv"]]
        assert ["vllm", *words] == [*part.argv, *own]
        assert own_variables(record, user) == dict(part.env)
    assert [record["node"] for record in records] == ["n1", "n2"]
    job = cluster.job(number)
    assert (job["JobName"], job["NumNodes"], job["Requeue"]) == ("minimax-m3", "2", "1")
    assert job["Command"] == f"{user.cwd}/jobs/minimax-m3.sbatch"
    assert {record["env"]["SLURM_GPUS_ON_NODE"] for record in records} == {"8"}


def test_one_killed_rank_ends_the_others_and_the_job_with_its_status(user, cluster):
    number = user.submit(*TWO_NODES)
    records = user.recorded(2)
    kill(records[1])
    assert "gpu:8" in cluster.job(number)["TresPerNode"]
    job = cluster.ended(number)
    assert (job["JobState"], job["ExitCode"]) == ("FAILED", "137:0")
    assert alive(records) == []
    logs = user.cwd / f"minimax-m3-{number}"
    assert f"worker-1 on n2 ended, status 137: {logs}/worker-1.log\n" in user.log(number)
    assert (logs / "head-0.log").read_text() == "serving\nended\n"
    assert (logs / "worker-1.log").read_text() == "serving\n"


def test_a_program_that_is_not_there_fails_the_job_at_once(user, cluster):
    (user.bin / "vllm").unlink()
    number = user.submit(*TWO_NODES)
    job = cluster.ended(number)
    assert (job["JobState"], job["ExitCode"]) == ("FAILED", "127:0")


def test_scancel_ends_every_process(user, cluster):
    user.have_stubborn_children()
    number = user.submit(*TWO_NODES)
    records = user.recorded(2)
    assert len(alive(records)) > 4
    cluster.ask("scancel", number)
    assert cluster.ended(number)["JobState"] == "CANCELLED"
    until(lambda: not alive(records), "the end of all processes")
    for name in ("head-0", "worker-1"):
        log = user.cwd / f"minimax-m3-{number}" / f"{name}.log"
        assert log.read_text() == "serving\nended\n"


def test_a_requeued_job_runs_again_as_before(user, cluster):
    number = user.submit(*TWO_NODES)
    before = user.recorded(2)
    cluster.ask("scontrol", "requeue", number)
    until(lambda: cluster.job(number)["JobState"] == "PENDING", "the requeued job")
    until(lambda: not alive(before), "the end of its processes")
    cluster.ask("scontrol", "update", f"JobId={number}", "StartTime=now")
    again = user.recorded(2, without=tuple(record["pid"] for record in before))
    assert [r["argv"] for r in again] == [r["argv"] for r in before]
    assert [own_variables(r, user) for r in again] == [own_variables(r, user) for r in before]
    started = [line for line in user.log(number).splitlines() if line.startswith("start ")]
    assert [line.split(" on ")[0] for line in started] == ["start 0", "start 1"]


def test_a_prefill_and_decode_pair_runs_with_its_router(user, cluster):
    user.submit(FLASH, "--hardware", "gb300", "--strategy", "pd_cluster", "--name", "pair")
    values = {
        "PREFILL_NODE_1": cluster.address["n1"],
        "DECODE_NODE_1": cluster.address["n2"],
        "PREFILL_DP_RPC_PORT": "29550",
        "DECODE_DP_RPC_PORT": "29551",
        "ROUTER_HOST": "0.0.0.0",
        "ROUTER_PORT": "30000",
    }
    plan = planned(FLASH, values, hardware="gb300", strategy="pd_cluster")
    records = user.recorded(3)
    names = ["prefill-0", "decode-0", "router"]
    assert [r["node"] for r in records] == ["n1", "n2", "n1"]
    for record, part in zip(records, [plan[name] for name in names], strict=True):
        assert [record["program"], *record["argv"]] == list(part.argv)
        assert {k: record["env"][k] for k, _ in part.env} == dict(part.env)
    said = (user.cwd / f"pair-{user.jobs[0]}" / "router.log").read_text()
    assert said.endswith("serving\n")


def test_instances_share_a_store_on_a_node_of_its_own(user, cluster):
    asked = {"hardware": "h200", "kv_offload": "kv_store_centralized_mooncake"}
    number = user.submit(M3, "--hardware", "h200", "--kv-offload", asked["kv_offload"])
    one, two = cluster.address["n1"], cluster.address["n2"]
    logs = user.cwd / f"minimax-m3-{number}"
    values = {
        "VLLM_INSTANCE_1": one,
        "VLLM_INSTANCE_2": two,
        "MOONCAKE_MASTER_IP": one,
        "MOONCAKE_DEVICE_NAME": "",
        "MOONCAKE_STORE_DEVICE_NAME": "",
        "ROUTER_HOST": "0.0.0.0",
        "ROUTER_PORT": "30080",
    }
    plan = planned(M3, values, **asked)
    records = user.recorded(5)
    order = ["master", "store", "instance-1", "instance-2", "router"]
    assert [(r["program"], r["node"]) for r in records] == [
        ("mooncake_master", "n1"), ("python3", "n3"), ("vllm", "n1"), ("vllm", "n2"),
        ("vllm-router", "n1"),
    ]  # fmt: skip
    for record, name in zip(records, order, strict=True):
        part = fill_part(
            plan[name],
            {f.placeholder: f"{logs}/{name}.{f.name}" for f in plan[name].files},
        )
        assert [record["program"], *record["argv"]] == list(part.argv)
        assert {k: record["env"][k] for k, _ in part.env} == dict(part.env)
        assert record["files"] == {f"{name}.{f.name}": f.content for f in part.files}


def test_the_hint_of_a_refused_job_names_what_sites_ask_for(user, cluster):
    done = user.launch(*TWO_NODES, "--partition", "nowhere", "--submit")
    assert (done.returncode, done.stdout) == (2, "")
    assert "sbatch refused the job: sbatch: error: invalid partition specified: nowhere" in (
        done.stderr
    )
    assert "--partition, --account, --qos" in done.stderr
