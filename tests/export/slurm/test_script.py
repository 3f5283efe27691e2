"""What a script asks of Slurm, and what it does on a job's first node, without a cluster."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import socket
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cli.launcher import M3
from tests.export.cases import ROOT, brief, deployment, layout
from vllm_launch.errors import UsageError
from vllm_launch.export.slurm import files
from vllm_launch.export.slurm.runtime import INTERFACE, PROCESSES, WAITING
from vllm_launch.model.source import Source, paired
from vllm_launch.resolve.endpoints import fill
from vllm_launch.resolve.parts import parts
from vllm_launch.resolve.placeholders import fill_part

TWO_NODES = (M3, "--hardware", "h200", "--nodes", "2")


def script(found, **options):
    (file,) = files(brief(found, setup=None, options=options))
    return file.text


def directives(text):
    return [line.removeprefix("#SBATCH --") for line in text.splitlines() if "#SBATCH" in line]


def test_a_job_asks_for_whole_nodes_and_may_be_requeued():
    assert directives(script(layout("two nodes"))) == [
        "job-name=model",
        "nodes=2",
        "ntasks-per-node=1",
        "gpus-per-node=8",
        "exclusive",
        "mem=0",
        "output=model-%j.log",
        "open-mode=append",
        "requeue",
        "export=ALL",
    ]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"time": "7-0"}, "time=7-0"),
        ({"partition": "gpu,long"}, "partition=gpu,long"),
        ({"account": "lab"}, "account=lab"),
        ({"qos": "high"}, "qos=high"),
        ({"constraint": "h200&ib"}, "constraint=h200&ib"),
        ({"gres": "gpu:h200:8"}, "gres=gpu:h200:8"),
    ],
)
def test_what_a_site_wants_is_asked_for(options, line):
    assert line in directives(script(layout("two nodes"), **options))


@pytest.mark.parametrize(
    ("found", "options", "lines"),
    [
        ({"hardware": "h200"}, {"gres": "none"}, []),
        ({"hardware": "h200"}, {"gres": "gpu:8"}, ["gres=gpu:8"]),
        ({"hardware": "h200", "strategy": "pd_cluster", "pd": None}, {}, ["gpus-per-node=8"]),
    ],
    ids=["none", "gres", "two pools on a node"],
)
def test_gpus_are_those_of_the_fullest_node(found, options, lines):
    asked = directives(script(deployment(**found), **options))
    assert [line for line in asked if line.startswith(("gpus", "gres"))] == lines


def test_gpus_named_by_a_mask_are_among_those_asked_for(operator):
    done = operator.run("export", M3, "--hardware", "h200", "--gpus", "4,5,6,7", "--to", "slurm")
    assert "CUDA_VISIBLE_DEVICES=4,5,6,7" in done.out
    assert "gpus-per-node=8" in directives(done.out)


@pytest.mark.parametrize("value", ["a b", "a\n#SBATCH --uid=0", "a#b", 'a"b', "a\\b", "a'"])
def test_what_sbatch_would_cut_apart_is_refused(value):
    with pytest.raises(UsageError, match=r"--partition: found .* one word without quotes"):
        script(layout("two nodes"), partition=value)


def test_the_same_plan_gives_the_same_script():
    assert script(layout("instances and a store")) == script(layout("instances and a store"))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((*TWO_NODES, "--runtime", "docker"), "--runtime docker: Slurm cannot end a container"),
        ((*TWO_NODES, "--role", "worker"), "a Slurm job runs the whole deployment"),
        ((*TWO_NODES, "--namespace", "n"), "--namespace is for --to kubernetes"),
    ],
)
def test_what_slurm_cannot_do_is_an_error(words, error, operator):
    done = operator.run("export", *words, "--to", "slurm")
    assert done.status == 2
    assert error in done.error


def test_slurms_options_are_not_for_others(operator):
    done = operator.run("export", *TWO_NODES, "--submit", "--to", "kubernetes")
    assert (done.status, "--submit is for --to slurm" in done.error) == (2, True)


def test_without_sbatch_nothing_is_written(operator):
    done = operator.run("export", *TWO_NODES, "--to", "slurm", "--submit", "--out", "jobs")
    assert done.status == 5
    assert "sbatch is not on PATH" in done.error
    assert not (operator.cwd / "jobs").exists()


def test_a_job_is_handed_to_sbatch_word_for_word(operator):
    operator.script("sbatch", '#!/bin/sh\nprintf "%s " "$@" >&2\ncat >given\necho "41;east"\n')
    env = {"PATH": f"{operator.bin}:/usr/bin:/bin"}
    done = operator.run("export", *TWO_NODES, "--to", "slurm", "--submit", env=env)
    assert (done.status, done.out) == (0, "41\n")
    assert done.err.startswith("--parsable\n")
    printed = operator.run("export", *TWO_NODES, "--to", "slurm").out
    given = (operator.cwd / "given").read_text()
    assert given.replace(" --submit", "") == printed


def test_secrets_are_handed_on_by_name(operator):
    done = operator.run(
        "export", *TWO_NODES, "--to", "slurm", "--pyxis", env={"HF_TOKEN": "hf_secret"}
    )
    assert "hf_secret" not in done.out
    assert "# Handed on from where it is submitted: HF_TOKEN.\n" in done.out
    assert '--container-env="HF_HOME${HF_HUB_CACHE:+,HF_HUB_CACHE}",HF_TOKEN\n' in done.out


def test_what_is_left_to_be_started_by_hand_is_told(operator):
    recipes = operator.cwd / "recipes"
    shutil.copytree(ROOT / "recipes", recipes)
    store = recipes / "kv_store" / "kv_store_centralized_mooncake.yaml"
    store.write_text(
        store.read_text(encoding="utf-8").replace("mooncake_master \\", "mooncake_master $(id) \\"),
        encoding="utf-8",
    )
    done = operator.run(
        "--recipes-dir", recipes, "export", M3, "--hardware", "h200",
        "--kv-offload", "kv_store_centralized_mooncake", "--to", "slurm",
    )  # fmt: skip
    assert done.err.startswith(
        "# to be started by hand, for it needs a shell: master; see the comments\n"
    )
    assert "\n#   mooncake_master $(id) " in done.out


def test_an_image_that_nothing_runs_in_is_told(operator):
    done = operator.run("export", *TWO_NODES, "--to", "slurm", "--image", "org/own:1")
    assert "# note: --image is for --pyxis, and these servers are native\n" in done.err
    done = operator.run("export", *TWO_NODES, "--to", "slurm", "--image", "org/own:1", "--pyxis")
    assert "--image is for" not in done.err


def test_a_recipes_path_does_not_choose_the_program():
    found = layout("one server")
    plan = found.processes[0]
    own = plan.variables[0][2] if plan.variables else plan.arguments[0][2]
    plan = plan.replace(variables=(("PATH", "/evil", own),))
    text = script(found.replace(processes=(plan,)))
    assert 'PATH=/evil \\\n    "$(type -P -- vllm)" serve' in text


# What the first node's part does, with stand-ins for Slurm's programs.
_STANDINS = {
    "scontrol": """#!/bin/bash
if [[ $2 == hostnames ]]; then printf '%s\\n' a b c d
else [[ -f node-$4 ]] && echo "NodeName=$4 NodeAddr=$(<node-$4) Port=6818"; fi
""",
    "getent": """#!/bin/bash
[[ -f host-$2 ]] && while read -r a; do echo "$a STREAM $2"; done <"host-$2"
""",
    "hostname": "#!/bin/bash\necho '127.0.1.1 fe80::1 192.0.2.9'\n",
    "srun": """#!/bin/bash
for word; do [[ ${#word} -gt 1000 ]] && word=SCRIPT; printf '%s\\n' "$word"; done >"new-$$"
mv "new-$$" "srun-$$"
until steps=(srun-*); ((${#steps[@]} >= ${STEPS-1})); do sleep 0.02; done  # the first ends all
""",
}


@pytest.fixture
def first_node(tmp_path):
    """Run a script as a batch job would be; what srun was given, step by step."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name, text in _STANDINS.items():
        (binaries / name).write_text(text)
        (binaries / name).chmod(0o755)

    def run(text, **env):
        path = tmp_path / "slurm_script"
        path.write_text(text)
        done = subprocess.run(
            ["/bin/bash", path],
            cwd=tmp_path,
            env={
                "PATH": f"{binaries}:/usr/bin:/bin",
                "HOME": str(tmp_path),
                "SLURM_JOB_ID": "7",
                "SLURM_JOB_NODELIST": "a,b",
                "SLURM_JOB_NUM_NODES": "2",
                "SLURMD_NODENAME": "a",
                **env,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        steps = [each.read_text().splitlines() for each in sorted(tmp_path.glob("srun-*"))]
        return done, steps

    return run


def addresses(steps):
    """What stands behind the directory of the logs."""
    (step,) = steps
    return step[step.index("node") + 3 :]


def test_an_address_is_what_slurm_reaches_a_node_by(first_node, tmp_path):
    (tmp_path / "node-a").write_text("198.51.100.7")
    done, steps = first_node(script(layout("two nodes", endpoints=False)))
    assert (done.returncode, done.stderr) == (0, "")
    assert addresses(steps) == ["198.51.100.7"]
    assert f"logs in {tmp_path}/model-7\n" in done.stdout


def test_an_address_is_what_a_name_stands_for(first_node, tmp_path):
    (tmp_path / "node-a").write_text("a.cluster")
    (tmp_path / "host-a.cluster").write_text("192.0.2.1\n")
    _, steps = first_node(script(layout("two nodes", endpoints=False)))
    assert addresses(steps) == ["192.0.2.1"]


def test_a_loopback_address_of_a_node_on_itself_is_of_no_use(first_node, tmp_path):
    (tmp_path / "host-a").write_text("127.0.1.1\n")
    _, steps = first_node(script(layout("two nodes", endpoints=False)))
    assert addresses(steps) == ["192.0.2.9"]


def test_without_an_address_nothing_starts(first_node):
    done, steps = first_node(script(layout("two nodes", endpoints=False)), SLURMD_NODENAME="b")
    assert (done.returncode, steps) == (1, [])
    assert done.stderr == "no IPv4 address is known for node a\n"


def test_only_what_is_asked_for_by_somebody_is_looked_up(first_node, tmp_path):
    for number, name in enumerate("abcd", 1):
        (tmp_path / f"node-{name}").write_text(f"192.0.2.{number}")
    _, steps = first_node(script(layout("pools of the 3.1 on GB300", endpoints=False)))
    assert addresses(steps) == ["192.0.2.1", "192.0.2.2"]


def script_with(name, **endpoints):
    """A script with addresses of the operator's."""
    found = layout(name, endpoints=False)
    own = tuple(fill_part(part, endpoints) for part in parts(found))
    found = fill(found, endpoints)
    (file,) = files(brief(found, parts=own, setup=None, endpoints=endpoints))
    return file.text


POOLS = {"PREFILL_NODE_1": "fd00::1", "DECODE_NODE_1": "fd00::2"}


def test_nothing_is_looked_up_where_every_address_is_given(first_node, tmp_path):
    text = script_with("pools of the 3.1 on GB300", **POOLS)
    for node in "ab":
        (tmp_path / f"node-{node}").write_text("fd00::9")
    done, steps = first_node(text)
    assert (done.returncode, done.stderr, addresses(steps)) == (0, "", [])
    assert "await healthy prefill-0 fd00::1 8100\n  await healthy decode-0 fd00::2 8200\n" in text


def test_only_the_addresses_that_are_not_given_are_looked_up(first_node, tmp_path):
    text = script_with("pools of the 3.1 on GB300", PREFILL_NODE_1="fd00::1")
    (tmp_path / "node-a").write_text("fd00::9")
    (tmp_path / "node-b").write_text("192.0.2.2")
    _, steps = first_node(text)
    assert addresses(steps) == ["a", "192.0.2.2"]
    assert "DECODE_NODE_1=${addresses[1]}\n" in text
    assert "await healthy prefill-0 fd00::1 8100\n" in text
    assert "--prefill 'http://[fd00::1]:8100'" in text


def test_the_interface_is_that_of_the_route_to_the_head_that_is_given():
    text = script_with("two nodes", HEAD_IP="10.1.0.1")
    assert "  IFACE_NAME=$(interface_to 10.1.0.1)\n" in text
    assert "address_of" not in text


def test_a_companion_is_awaited_at_its_machines_address():
    assert re.search(
        r"await open companion 10\.1\.0\.1 \d+\n", script_with("companion", HEAD_IP="10.1.0.1")
    )


def test_by_a_heads_name_the_interface_is_that_of_its_nodes_address():
    script = script_with("two nodes", HEAD_IP="ib-head")
    assert 'IFACE_NAME=$(interface_to "${addresses[0]}")' in script
    assert "--master-addr ib-head" in " ".join(script.split())


def test_a_head_that_no_route_is_found_to_takes_an_interface():
    head = "fd00::1"
    with pytest.raises(UsageError) as caught:
        script_with("two nodes", HEAD_IP=head)
    assert (caught.value.message, caught.value.hint) == (
        f"no interface can be found by the route to {head}: it is no IPv4 address",
        "give --endpoint IFACE_NAME=…",
    )
    assert "interface_to" not in script_with("two nodes", HEAD_IP=head, IFACE_NAME="ib0")


def with_words(found, *tokens):
    more = paired((token, Source(layer="operator")) for token in tokens)
    plans = tuple(p.replace(arguments=(*p.arguments, *more)) for p in found.processes)
    return found.replace(processes=plans)


def test_a_server_on_a_socket_is_not_awaited_at_a_port():
    found = layout("pools on one node", endpoints=False)
    assert script(found).count("await healthy") == 2
    text = script(with_words(found, "--uds", "/tmp/x.sock"))
    assert "await" not in text
    assert "address_of" in text, "the router's own words have addresses"


@pytest.mark.parametrize(("host", "url"), [("192.0.2.2", "192.0.2.2"), ("fd00::2", "[fd00::2]")])
def test_on_one_node_servers_are_found_where_they_listen(host, url):
    found = layout("pools on one node", endpoints=False)
    text = script(with_words(found, "--host", host))
    assert f"http://{url}:8001" in text
    assert f"await healthy decode-0 {host} 8002\n" in text
    assert f"VLLM_NIXL_SIDE_CHANNEL_HOST={host} " in text
    assert "address_of" not in text


def test_a_wait_is_over_once_an_ipv6_address_answers():
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listening:
        port = listening.getsockname()[1]
        done = subprocess.run(
            ["/bin/bash", "-c", f"{WAITING}\nawait open it ::1 {port} && echo over"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.stdout == "over\n"


def test_outside_of_a_job_it_says_how_to_submit_it(tmp_path):
    path = tmp_path / "model.sbatch"
    path.write_text(script(layout("two nodes")))
    env = {"PATH": os.defpath}
    done = subprocess.run(["/bin/bash", path], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "this is a Slurm job: submit it with sbatch\n"


def test_with_pyxis_servers_run_in_the_image_and_the_router_beside_them(first_node, tmp_path):
    for name in "ab":
        (tmp_path / f"node-{name}").write_text("192.0.2.1")
    found = layout("pools of the 3.1 on GB300", endpoints=False)
    _, steps = first_node(script(found, pyxis=True), HF_HOME=f"{tmp_path}/hub", STEPS="2")
    inside, beside = sorted(steps, key=lambda words: "--overlap" in words)
    hub = f"{tmp_path}/hub:{tmp_path}/hub"
    mounts = f"{tmp_path}/model-7:{tmp_path}/model-7,{hub},{hub}"
    assert [word for word in inside if "container" in word] == [
        "--no-container-entrypoint",
        "--container-writable",
        "--container-image=vllm/vllm-openai:minimax-m31-flash",
        f"--container-mounts={mounts}",
        "--container-env=HF_HOME",
    ]
    assert inside[inside.index("node") + 1] == "all"
    assert not [word for word in beside if "container" in word]
    assert beside[beside.index("node") + 1] == "beside"


def test_with_pyxis_a_hub_cache_of_where_it_is_submitted_is_seen(first_node, tmp_path):
    env = {"HF_HOME": f"{tmp_path}/hf", "HF_HUB_CACHE": f"{tmp_path}/hub"}
    _, steps = first_node(script(layout("one server", endpoints=False), pyxis=True), **env)
    assert [word for word in steps[0] if word.startswith(("--container-m", "--container-e"))] == [
        "--container-mounts="
        + ",".join(f"{tmp_path}/{name}:{tmp_path}/{name}" for name in ("model-7", "hf", "hub")),
        "--container-env=HF_HOME,HF_HUB_CACHE",
    ]
    assert (tmp_path / "hub").is_dir()


@pytest.mark.parametrize("variable", ["HF_HOME", "HF_HUB_CACHE"])
@pytest.mark.parametrize("name", ["a,b", "a:b", "a b"])
def test_with_pyxis_a_directory_that_enroot_would_take_apart_is_refused(
    first_node, tmp_path, name, variable
):
    text = script(layout("one server", endpoints=False), pyxis=True)
    done, steps = first_node(text, **{variable: f"{tmp_path}/{name}"})
    assert (done.returncode, steps) == (1, [])
    assert done.stderr == (
        f"enroot cannot mount {tmp_path}/{name}: there is a colon, comma or space in it\n"
    )


DIGEST = f"sha256:{'0f' * 32}"


@pytest.mark.parametrize(
    ("image", "named"),
    [
        ("vllm/vllm-openai:v1", "vllm/vllm-openai:v1"),
        ("nvcr.io/nvidia/vllm:26.01", "nvcr.io#nvidia/vllm:26.01"),
        ("localhost:5000/vllm", "localhost:5000#vllm"),
        (f"vllm/vllm-openai:v1@{DIGEST}", f"vllm/vllm-openai:{DIGEST}"),
        (f"quay.io/vllm/vllm@{DIGEST}", f"quay.io#vllm/vllm:{DIGEST}"),
        ("/shared/vllm.sqsh", "/shared/vllm.sqsh"),
    ],
)
def test_an_image_is_named_as_enroot_names_it(image, named):
    text = script(layout("one server").replace(image=image), pyxis=True)
    assert f"--container-image={named}" in text.replace("'", "")


def test_a_local_checkpoint_is_mounted(tmp_path):
    found = layout("one server")
    plans = tuple(plan.replace(model="/models/m3") for plan in found.processes)
    text = script(found.replace(processes=plans), pyxis=True)
    assert ',$cache:$cache",/models/m3:/models/m3:ro' in text
    plans = tuple(plan.replace(model="/models/a,b") for plan in found.processes)
    with pytest.raises(UsageError, match="enroot cannot mount /models/a,b"):
        script(found.replace(processes=plans), pyxis=True)


def with_variables(found, **values):
    given = tuple((name, value, Source(layer="operator")) for name, value in values.items())
    return found.replace(
        processes=tuple(p.replace(variables=(*p.variables, *given)) for p in found.processes)
    )


def test_with_pyxis_files_and_a_cache_that_variables_name_are_mounted(first_node, tmp_path):
    values = {"A_CONFIG_PATH": "/shared/a.json", "HF_HUB_CACHE": f"{tmp_path}/hub"}
    found = with_variables(layout("one server", endpoints=False), **values)
    _, steps = first_node(script(found, pyxis=True), HF_HOME=f"{tmp_path}/hf")
    mounts = next(word for word in steps[0] if word.startswith("--container-mounts="))
    assert mounts.split(",")[3:] == [
        f"{tmp_path}/hub:{tmp_path}/hub",
        "/shared/a.json:/shared/a.json:ro",
    ]
    assert (tmp_path / "hub").is_dir()


def test_with_pyxis_a_file_of_the_jobs_own_is_mounted_with_its_logs():
    found = layout("instances and a store")
    text = script(found, pyxis=True)
    assert "MOONCAKE_CONFIG_PATH=$logs/" in text
    assert ',$cache:$cache" \\\n' in text


@pytest.mark.parametrize("path", ["/a:b", "/a,b", "/a b"])
def test_with_pyxis_a_file_that_enroot_would_take_apart_is_refused(path):
    with pytest.raises(UsageError) as caught:
        script(with_variables(layout("one server"), A_CONFIG_PATH=path), pyxis=True)
    assert (
        caught.value.message
        == f"enroot cannot mount {path}: there is a colon, comma or space in it"
    )


def test_a_part_that_needs_a_shell_is_a_comment():
    found = layout("pools on one node").replace(router="router --a | tee log\nrm -rf /")
    text = script(found)
    assert "# router, by hand:\n#   router --a | tee log\n#   rm -rf /\n" in text
    assert "run_router" not in text


def test_an_unknown_placeholder_is_an_error_before_anything_is_written():
    found = layout("pools on one node").replace(router="vllm-router --key $SITE_KEY")
    with pytest.raises(UsageError) as caught:
        script(found)
    assert (caught.value.message, caught.value.hint) == (
        "not filled in: $SITE_KEY",
        "give --endpoint SITE_KEY=…",
    )


def test_a_word_too_long_for_a_node_is_refused():
    found = layout("one server")
    plan = found.processes[0]
    model = "m" * (128 << 10)
    with pytest.raises(UsageError, match=r"the script has \d+ bytes"):
        script(found.replace(processes=(plan.replace(model=model),)))


def test_a_group_reads_files_of_its_own_on_every_node():
    text = script(layout("instances and a store", endpoints=False))
    assert "local MOONCAKE_CONFIG_PATH=$logs/$1.mooncake_config.json\n" in text
    assert 'start "instance-$((SLURM_NODEID + 1))" run_instance_1\n' in text


# --- what a node's task does

_SERVER = """#!/bin/bash
trap 'echo ended; exit 0' TERM
echo "$*" >>started
until [[ $* == *{prefix}* ]] && (($(wc -l <started) == {servers})); do sleep 0.05; done
exit {status}
"""


@pytest.fixture
def task(tmp_path):
    """Run what srun would on a node, where the server with a word in it ends with a status."""

    def run(found, word, status, nodes, servers=1):
        binaries = tmp_path / "bin"
        binaries.mkdir()
        (binaries / "vllm").write_text(_SERVER.format(prefix=word, status=status, servers=servers))
        (binaries / "vllm").chmod(0o755)
        path = tmp_path / "slurm_script"
        path.write_text(script(found))
        return subprocess.run(
            ["/bin/bash", path, "node", "all", tmp_path / "logs", "127.0.0.1"],
            cwd=tmp_path,
            env={
                "PATH": f"{binaries}:/usr/bin:/bin",
                "SLURM_NODEID": "0",
                "SLURM_JOB_NUM_NODES": str(nodes),
                "SLURMD_NODENAME": "a",
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


@pytest.mark.parametrize(
    ("status", "nodes", "expected"),
    [(3, 2, 3), (137, 1, 137), (0, 1, 0), (0, 2, 1)],
    ids=["failed", "killed", "ended alone", "ended while others need it"],
)
def test_a_node_has_the_status_of_what_ended_first(task, tmp_path, status, nodes, expected):
    done = task(layout("one server"), "serve", status, nodes)
    log = tmp_path / "logs" / "server-0.log"
    assert done.returncode == expected
    assert done.stdout == f"server-0 on a ended, status {status}: {log}\n"


def test_what_runs_beside_a_process_that_ended_is_ended_too(task, tmp_path):
    done = task(layout("pools on one node", endpoints=False), "8001", 7, 1, servers=2)
    assert done.returncode == 7
    assert done.stdout.startswith("prefill-0 on a ended, status 7: ")
    assert (tmp_path / "logs" / "decode-0.log").read_text() == "ended\n"
    said = (tmp_path / "logs" / "router.log").read_text()
    assert said == "waiting for prefill-0 at 127.0.0.1:8001\n"


# --- the interface that an address is reached by

_routes = st.lists(
    st.tuples(
        st.integers(0, 32),
        st.sampled_from(["10.1.2.3", "10.1.9.9", "192.168.0.7", "172.16.5.4", "0.0.0.0"]),
        st.integers(0, 3),
        st.sampled_from(["eth0", "ib0", "bond0.7"]),
    ),
    max_size=8,
)


def kernel(address: ipaddress.IPv4Address) -> str:
    """An address as /proc/net/route has it on a little-endian machine."""
    return f"{int.from_bytes(address.packed, 'little'):08X}"


@settings(max_examples=60)
@given(routes=_routes, target=st.sampled_from(["10.1.2.3", "10.1.9.1", "192.168.1.1", "8.8.8.8"]))
def test_the_interface_is_that_of_the_most_specific_route(routes, target, tmp_path):
    lines = ["Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT"]
    fitting = []
    for prefix, address, metric, device in routes:
        network = ipaddress.IPv4Network(f"{address}/{prefix}", strict=False)
        lines.append(
            f"{device}\t{kernel(network.network_address)}\t00000000\t0001\t0\t0\t{metric}\t"
            f"{kernel(network.netmask)}\t0\t0\t0"
        )
        if ipaddress.IPv4Address(target) in network:
            fitting.append((-prefix, metric, device))
    table = tmp_path / "route"
    table.write_text("\n".join(lines) + "\n")
    text = (INTERFACE + PROCESSES).replace("/proc/net/route", str(table))
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", f'{text}\ninterface_to "$1"', "bash", target],
        capture_output=True,
        text=True,
        check=False,
    )
    if not fitting:
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == f"no route to {target} on \n"
    else:
        best = min(fitting)[:2]
        first = next(device for *key, device in fitting if tuple(key) == best)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{first}\n", "")


def test_a_loopback_address_is_reached_by_lo():
    done = subprocess.run(
        ["/bin/bash", "-c", f"{INTERFACE}\ninterface_to 127.0.0.1"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "lo\n"
