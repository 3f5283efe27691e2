"""serve becomes the server: its words, its variables, its pid, its signals, its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.launcher import B300, DOCUMENTED, DOCUMENTED_ENV, FLASH, IMAGE, LAUNCH, M3, Operator

ENGINES = ("docker", "podman")
TPU = "meta-llama/Llama-3.3-70B-Instruct"
PROGRAMS = [pytest.param(("vllm",), id="native")]
PROGRAMS += [pytest.param((engine, "--runtime", engine), id=engine) for engine in ENGINES]


def after(argv: list[str], flag: str) -> list[str]:
    """The values of a flag that stands in a command several times."""
    return [value for word, value in pairwise(argv) if word == flag]


def until_image(argv: list[str]) -> list[str]:
    return argv[: argv.index(IMAGE)]


# Words and variables.


def test_the_native_server_gets_exactly_the_documented_words_and_variables(
    operator: Operator,
) -> None:
    operator.install("vllm")
    ran = operator.run(*B300)
    assert ran.argv == DOCUMENTED
    assert ran.record["env"] == operator.env | DOCUMENTED_ENV


@pytest.mark.parametrize("engine", ENGINES)
def test_a_container_gets_the_documented_words_and_variables(
    operator: Operator, engine: str
) -> None:
    operator.install(engine)
    ran = operator.run(*B300, "--runtime", engine)
    gpus = ["--gpus", "all"] if engine == "docker" else ["--device", "nvidia.com/gpu=all"]
    cache = Path(operator.env["XDG_CACHE_HOME"], "huggingface")
    assert ran.argv == [
        "run", *gpus, "--privileged", "--ipc=host", "-p", "8000:8000",
        "-v", f"{cache}:/root/.cache/huggingface",
        "-e", "VLLM_FLOAT32_MATMUL_PRECISION=high",
        IMAGE, *DOCUMENTED[1:],
    ]  # fmt: skip
    assert ran.record["env"] == operator.env


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_launchers_own_variables_end_with_it(operator: Operator, program: tuple[str]) -> None:
    name, *options = program
    operator.install(name)
    own = {"VLLM_LAUNCH_HARDWARE": "b300", "VLLM_LAUNCH_TP": "4", "VLLM_LAUNCH_NO_SUCH": "x"}
    ran = operator.run("serve", FLASH, *options, env=own)
    assert after(ran.argv, "--tensor-parallel-size") == ["4"]
    assert not [name for name in ran.record["env"] if name.startswith("VLLM_LAUNCH")]


def test_what_stands_behind_the_dashes_comes_last_and_wins(operator: Operator) -> None:
    operator.install("vllm")
    odd = ["--max-model-len", "65536", "--block-size", "64", "", "a b", "-", "--", "'\"$x\\\n"]
    ran = operator.run(*B300, "--", *odd)
    assert ran.argv[-len(odd) :] == odd
    assert after(ran.argv, "--block-size") == ["64"]


def test_words_need_not_be_of_any_encoding(operator: Operator) -> None:
    operator.install("vllm")
    ran = operator.run(*B300, "-e", b"NAME=\xff\xc3\xa9", "--", b"--x", b"\xff\xc3\xa9")
    assert ran.argv[-1] == "\xff\xc3\xa9"
    assert ran.record["env"]["NAME"] == "\xff\xc3\xa9"


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"LC_ALL": "C"}, id="C"),
        pytest.param({"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0"}, id="POSIX, as it is"),
        pytest.param(
            {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, id="C, without UTF-8"
        ),
    ],
)
def test_the_locale_changes_no_word(
    operator: Operator, env: dict[str, str], tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "model: {model_id: org/model, base_args: [--served-model-name, Modèle]}\n"
        "variants: {default: {precision: bf16}}\n"
        "compatible_strategies: [single_node_tp]\n",
        encoding="utf-8",
    )
    operator.install("vllm")
    ran = operator.run("serve", recipe, "--hardware", "h200", "--", "--x", "é", env=env)
    assert [word.encode("latin-1").decode() for word in ran.argv] == [
        "serve", "org/model", "--served-model-name", "Modèle", "--tensor-parallel-size", "8",
        "--x", "é",
    ]  # fmt: skip


def test_the_operators_variables_win(operator: Operator) -> None:
    operator.install("vllm")
    ran = operator.run(
        *B300, "-e", "VLLM_FLOAT32_MATMUL_PRECISION=medium", "--env", "EMPTY=", "-e", "FROM_HERE",
        env={"FROM_HERE": "yes"},
    )  # fmt: skip
    env = ran.record["env"]
    assert env["VLLM_FLOAT32_MATMUL_PRECISION"] == "medium"
    assert (env["EMPTY"], env["FROM_HERE"]) == ("", "yes")


def test_the_server_is_looked_for_on_the_path_that_it_is_given(
    operator: Operator, tmp_path: Path
) -> None:
    operator.install("vllm")
    other = tmp_path / "other"
    other.mkdir()
    (operator.bin / "vllm").rename(other / "vllm")
    assert operator.run(*B300, "-e", f"PATH={other}").argv == DOCUMENTED


def test_what_was_chosen_is_told_before_the_server_speaks(operator: Operator) -> None:
    operator.install("vllm")
    ran = operator.run(
        "serve", FLASH, "--hardware", "mi355x", "--strategy", "single_node_tep",
        "-f", "prefill_dbo_sp",
    )  # fmt: skip
    assert ran.err.startswith(f"# {FLASH}: mi355x · single_node_tep · variant default · features ")
    assert "# note: the feature prefill_dbo_sp adds nothing under single_node_tep" in ran.err


# The process.


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_server_has_the_pid_of_the_launcher_and_gets_its_signals(
    operator: Operator, program: tuple[str]
) -> None:
    name, *options = program
    operator.install(name, waits=True, status=23)
    with operator.start(*B300, *options, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        record = json.loads(process.stdout.readline())
        assert record["pid"] == process.pid
        os.kill(process.pid, signal.SIGTERM)
        assert int(process.stdout.readline()) == signal.SIGTERM
        assert process.wait(timeout=60) == 23


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("status", [0, 7, 255])
def test_the_exit_status_is_the_servers(
    operator: Operator, program: tuple[str], status: int
) -> None:
    name, *options = program
    operator.install(name, status=status)
    assert operator.run(*B300, *options).status == status


def test_a_server_that_is_killed_dies_as_itself(operator: Operator) -> None:
    operator.install("vllm", ending="os.kill(os.getpid(), signal.SIGKILL)")
    assert operator.run(*B300).status == -signal.SIGKILL


def test_no_signal_is_ignored_that_was_not_before(operator: Operator) -> None:
    operator.script(
        "vllm",
        "#!/bin/sh\n"
        "while read -r key value; do\n"
        '  case $key in SigIgn:|SigBlk:) echo "$value" ;; esac\n'
        "done </proc/self/status\n",
    )
    assert set(operator.run(*B300).out.split()) == {"0" * 16}


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_obstacle(operator: Operator, closed: str, tmp_path: Path) -> None:
    operator.script("vllm", f"#!/bin/sh\necho served >{tmp_path}/out\n")
    assert operator.shell(f"{LAUNCH} {' '.join(B300)} {closed}").status == 0
    assert (tmp_path / "out").read_text() == "served\n"


# Secrets.

SECRET = "hf_never_to_be_seen"


@pytest.mark.parametrize("variable", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "VLLM_API_KEY"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_token_reaches_a_container_by_name(
    operator: Operator, engine: str, variable: str
) -> None:
    operator.install(engine)
    ran = operator.run(*B300, "--runtime", engine, env={variable: SECRET})
    assert variable in after(until_image(ran.argv), "-e")
    assert ran.record["env"][variable] == SECRET
    assert SECRET not in str(ran.argv)
    assert SECRET not in ran.err


def test_a_token_reaches_a_native_server_as_it_is(operator: Operator) -> None:
    operator.install("vllm")
    ran = operator.run(*B300, env={"HF_TOKEN": SECRET})
    assert ran.argv == DOCUMENTED
    assert ran.record["env"]["HF_TOKEN"] == SECRET


def test_no_token_no_mention(operator: Operator) -> None:
    operator.install("docker")
    assert "TOKEN" not in str(operator.run(*B300, "--runtime", "docker").argv)


def test_other_secrets_are_passed_on_by_name_too(operator: Operator) -> None:
    operator.install("docker")
    ran = operator.run(
        *B300, "--runtime", "docker", "-e", "AWS_SECRET_ACCESS_KEY", "-e", "PLAIN",
        env={"AWS_SECRET_ACCESS_KEY": SECRET, "PLAIN": "1"},
    )  # fmt: skip
    given = after(until_image(ran.argv), "-e")
    assert given[0] == "AWS_SECRET_ACCESS_KEY"
    assert "PLAIN" in given, "what a name alone stands for is not looked at"
    assert SECRET not in str(ran.argv)


@pytest.mark.parametrize("runtime", ["native", *ENGINES])
@pytest.mark.parametrize("form", ["shell", "argv", "env", "json"])
def test_no_form_of_output_has_the_token_in_it(operator: Operator, runtime: str, form: str) -> None:
    ran = operator.run(
        *B300, "--runtime", runtime, "--output", form, "-e", "HF_TOKEN", "-e", "MY_PASSWORD",
        env={"HF_TOKEN": SECRET, "MY_PASSWORD": SECRET},
    )  # fmt: skip
    assert ran.status == 0
    assert ran.out
    assert SECRET not in ran.out + ran.err


def test_explain_has_no_token_in_it(operator: Operator) -> None:
    ran = operator.run("explain", FLASH, "--hardware", "b300", env={"HF_TOKEN": SECRET})
    assert SECRET not in ran.out + ran.err


# Mounts.


@pytest.mark.parametrize(
    ("env", "mount"),
    [
        pytest.param({}, "{home}/.cache/huggingface:/root/.cache/huggingface", id="by default"),
        pytest.param(
            {"XDG_CACHE_HOME": "/fast"},
            "/fast/huggingface:/root/.cache/huggingface",
            id="XDG_CACHE_HOME",
        ),
        pytest.param(
            {"HF_HOME": "/data/hf", "XDG_CACHE_HOME": "/fast"},
            "/data/hf:/root/.cache/huggingface",
            id="HF_HOME",
        ),
        pytest.param(
            {"HF_HUB_CACHE": "/data/hub", "HF_HOME": "/data/hf"},
            "/data/hub:/root/.cache/huggingface/hub",
            id="HF_HUB_CACHE",
        ),
        pytest.param(
            {"HF_HOME": "~/hf"}, "{home}/hf:/root/.cache/huggingface", id="HF_HOME under ~"
        ),
        pytest.param(
            {"HF_HUB_CACHE": "hub"},
            "{cwd}/hub:/root/.cache/huggingface/hub",
            id="HF_HUB_CACHE, relative",
        ),
        pytest.param(
            {"HF_HOME": ""},
            "{home}/.cache/huggingface:/root/.cache/huggingface",
            id="HF_HOME empty",
        ),
    ],
)
def test_the_hub_cache_is_mounted_from_where_it_is(
    operator: Operator, env: dict[str, str], mount: str
) -> None:
    operator.install("podman")
    del operator.env["XDG_CACHE_HOME"]
    ran = operator.run(*B300, "--runtime", "podman", env=env)
    mounts = after(until_image(ran.argv), "-v")
    assert mounts == [mount.format(home=operator.home, cwd=operator.cwd)]


@pytest.mark.parametrize(
    ("options", "env", "mount"),
    [
        pytest.param("-e HF_HUB_CACHE=/b/hub", {}, "/b/hub:/b/hub", id="HF_HUB_CACHE"),
        pytest.param("-e HF_HOME=/b/hf", {}, "/b/hf:/b/hf", id="HF_HOME"),
        pytest.param("-e HF_HOME=~/hf", {}, "{home}/hf:{home}/hf", id="HF_HOME under ~"),
        pytest.param(
            "-e HF_HOME=/b/hf -e HF_HUB_CACHE=/b/hub",
            {"HF_HUB_CACHE": "/a/hub"},
            "/b/hub:/b/hub",
            id="all at once",
        ),
        pytest.param("-e HF_HOME", {"HF_HOME": "/a/hf"}, "/a/hf:/a/hf", id="HF_HOME by name"),
        pytest.param(
            "-e HF_HOME=/b/hf -e HF_HUB_CACHE",
            {"HF_HUB_CACHE": "/a/hub"},
            "/a/hub:/a/hub",
            id="HF_HOME, and HF_HUB_CACHE by name",
        ),
        pytest.param(
            "-e HF_HOME",
            {"HF_HUB_CACHE": "/a/hub", "HF_HOME": "/a/hf"},
            "/a/hub:/a/hf/hub",
            id="HF_HOME by name beside HF_HUB_CACHE",
        ),
        pytest.param("-e HF_HUB_CACHE", {"HF_HUB_CACHE": "/a"}, "/a:/a", id="HF_HUB_CACHE by name"),
    ],
)
def test_the_hub_cache_is_where_the_container_will_look_for_it(
    operator: Operator, options: str, env: dict[str, str], mount: str
) -> None:
    operator.install("docker")
    ran = operator.run(*B300, "--runtime", "docker", *options.split(), env=env)
    assert after(until_image(ran.argv), "-v") == [mount.format(home=operator.home)]


@pytest.mark.parametrize("engine", ENGINES)
def test_files_that_variables_name_are_mounted_read_only(operator: Operator, engine: str) -> None:
    operator.install(engine)
    ran = operator.run(
        *B300,
        "--runtime",
        engine,
        "-e",
        "A_CONFIG_PATH=/etc/a.json",
        "-e",
        "B_CONFIG_PATH=~/b.json",
    )
    _, *mounts = after(until_image(ran.argv), "-v")
    b = operator.home / "b.json"
    assert mounts == ["/etc/a.json:/etc/a.json:ro", f"{b}:{b}:ro"]
    assert after(ran.argv, "-e")[-2:] == ["A_CONFIG_PATH=/etc/a.json", f"B_CONFIG_PATH={b}"]


def checkpoint(directory: Path) -> Path:
    directory.mkdir(parents=True)
    (directory / "config.json").write_text("{}")
    return directory


NAMES = [
    pytest.param("MiniMax-M3.1-Flash", id="repository"),
    pytest.param("minimax-m3.1-flash", id="in small letters"),
    pytest.param(
        "models--MiniMaxAI--MiniMax-M3.1-Flash/snapshots/0f1e2d", id="snapshot in the hub cache"
    ),
    pytest.param("with a blank/MiniMax-M3.1-Flash", id="under a name with a blank"),
]


@pytest.mark.parametrize("name", NAMES)
def test_a_local_checkpoint_is_served_in_place_of_its_id(
    operator: Operator, tmp_path: Path, name: str
) -> None:
    path = checkpoint(tmp_path / name)
    operator.install("vllm")
    ran = operator.run("serve", path, "--hardware", "b300")
    assert ran.argv == ["serve", str(path), *DOCUMENTED[2:]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_a_local_checkpoint_is_mounted_read_only(
    operator: Operator, tmp_path: Path, engine: str, name: str
) -> None:
    path = checkpoint(tmp_path / name)
    operator.install(engine)
    ran = operator.run("serve", path, "--hardware", "b300", "--runtime", engine)
    assert after(until_image(ran.argv), "-v")[1:] == [f"{path}:{path}:ro"]
    assert ran.argv[ran.argv.index(IMAGE) + 1] == str(path)


def test_a_relative_checkpoint_is_served_by_its_whole_path(operator: Operator) -> None:
    path = checkpoint(operator.cwd / "MiniMax-M3.1-Flash")
    operator.install("vllm")
    ran = operator.run("serve", "./MiniMax-M3.1-Flash", "--hardware", "b300")
    assert ran.argv[1] == str(path)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("~", id="alone"),
        pytest.param("~/models/draft", id="with a path"),
    ],
)
def test_a_tilde_is_expanded_where_a_shell_would_have(operator: Operator, text: str) -> None:
    operator.install("vllm")
    ran = operator.run(*B300, "-e", f"PLACE={text}", "--", "--download-dir", text)
    whole = text.replace("~", str(operator.home))
    assert ran.argv[-1] == whole
    assert ran.record["env"]["PLACE"] == whole


@pytest.mark.parametrize("text", ["~other/x", "a~", "x/~/y"])
def test_other_tildes_stay(operator: Operator, text: str) -> None:
    operator.install("vllm")
    assert operator.run(*B300, "--", "--download-dir", text).argv[-1] == text


# Containers.


@pytest.mark.parametrize("engine", ENGINES)
def test_hardened_drops_every_privilege_but_those_that_the_plan_needs(
    operator: Operator, engine: str
) -> None:
    operator.install(engine)
    options = until_image(operator.run(*B300, "--runtime", engine, "--hardened").argv)
    assert "--privileged" not in options
    assert after(options, "--cap-drop") == ["ALL"]
    assert after(options, "--cap-add") == ["DAC_OVERRIDE"]
    assert "--ipc=host" not in options, "podman refuses it beside --shm-size"
    assert after(options, "--security-opt") == ["no-new-privileges"]
    assert after(options, "--shm-size") == ["16g"]
    assert after(options, "--ulimit") == ["memlock=-1", "stack=67108864"]
    assert "/dev/infiniband" not in options


def test_hardened_keeps_what_numa_binding_and_rdma_need(operator: Operator) -> None:
    operator.install("docker")
    ran = operator.run(
        "serve", FLASH, "--hardware", "gb200", "--strategy", "pd_cluster", "--role", "prefill",
        "--endpoint", "PREFILL_NODE_1=10.0.0.1", "--endpoint", "PREFILL_DP_RPC_PORT=13345",
        "--runtime", "docker", "--hardened",
    )  # fmt: skip
    options = until_image(ran.argv)
    assert after(options, "--cap-add") == ["DAC_OVERRIDE", "IPC_LOCK", "SYS_NICE"]
    assert "/dev/infiniband" in after(options, "--device")
    assert after(options, "-p") == []
    assert after(options, "--network") == ["host"]


# What one machine's containers have to reach on another's, or beside them.
TOGETHER = {
    "two nodes": (M3, "--hardware", "h200", "--nodes", "2"),
    "two nodes that the operator's own words have": (
        M3,
        "--hardware",
        "h200",
        "--",
        "--nnodes",
        "2",
        "--master-addr",
        "10.0.0.1",
    ),
    "pools on one machine": (M3, "--hardware", "h200", "--strategy", "pd_cluster"),
    "a companion": (M3, "--hardware", "h200", "--kv-offload", "lmcache"),
    "a store": (M3, "--hardware", "h200", "--kv-offload", "kv_store_distributed_mooncake"),
    "a TPU, which has that network anyway": (TPU, "--hardware", "trillium"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("plan", TOGETHER.values(), ids=TOGETHER)
def test_parts_that_reach_each_other_use_the_machines_network(
    operator: Operator, engine: str, plan: tuple[str, ...]
) -> None:
    model, *words = plan
    ran = operator.run("serve", model, "--runtime", engine, "--dry-run", "--output", "argv", *words)
    assert ran.status == 0, ran.err
    commands = [json.loads(line) for line in ran.out.splitlines()]
    servers = [argv for argv in commands if argv[0] == engine]
    assert servers
    for argv in servers:
        assert after(argv, "--network") == ["host"]
        assert after(argv, "-p") == []


def test_the_network_is_explained(operator: Operator) -> None:
    words = ("explain", M3, "--hardware", "h200", "--runtime", "docker")
    alone, several = operator.run(*words).out, operator.run(*words, "--nodes", "2").out
    assert "  network   the container's own, with the HTTP port published\n" in alone
    assert (
        "  network   the machine's own: ranks and side channels pick ports that nobody could\n"
        "            publish beforehand\n"
    ) in several


@pytest.mark.parametrize(
    "words", [("serve",), ("export", "--to", "compose")], ids=["serve", "file"]
)
def test_nothing_is_published_on_an_address_of_the_machines_network(
    operator: Operator, words: tuple[str, ...]
) -> None:
    command, *more = words
    ran = operator.run(
        command, M3, "--hardware", "h200", "--strategy", "pd_cluster", "--runtime", "docker",
        "--host", "10.0.0.1", *more,
    )  # fmt: skip
    assert ran.error == (
        "error: --host: these containers use the machine's network, where nothing is published\n"
        "  hand the address to vLLM itself: -- --host ADDR\n"
    )


@pytest.mark.parametrize(
    ("address", "published"),
    [
        pytest.param(("--port", "9000"), "9000:9000", id="port"),
        pytest.param(("--host", "127.0.0.1"), "127.0.0.1:8000:8000", id="IPv4"),
        pytest.param(("--host", "::1"), "[::1]:8000:8000", id="IPv6"),
        pytest.param(("--", "--port", "9001"), "9001:9001", id="port behind --"),
        pytest.param(("--", "--port=9001"), "9001:9001", id="port behind --, in one word"),
    ],
)
def test_the_port_is_published_where_the_server_listens(
    operator: Operator, address: tuple[str, ...], published: str
) -> None:
    operator.install("docker")
    ran = operator.run(*B300, "--runtime", "docker", *address)
    assert after(until_image(ran.argv), "-p") == [published]
    assert "--host" not in ran.argv[ran.argv.index(IMAGE) :]


def test_port_and_host_are_the_native_servers_own(operator: Operator) -> None:
    operator.install("vllm")
    ran = operator.run(*B300, "--port", "9000", "--host", "127.0.0.1")
    assert ran.argv == [*DOCUMENTED, "--port", "9000", "--host", "127.0.0.1"]


def test_name_and_image_of_a_container(operator: Operator) -> None:
    operator.install("podman")
    image = f"mirror:5000/vllm@sha256:{'0a' * 32}"
    ran = operator.run(*B300, "--runtime", "podman", "--name", "m3", "--image", image)
    assert ran.argv[:3] == ["run", "--name", "m3"]
    assert ran.argv[ran.argv.index(image) + 1] == FLASH


def test_amd_devices_of_a_container(operator: Operator) -> None:
    operator.install("docker")
    ran = operator.run("serve", FLASH, "--hardware", "mi355x", "--runtime", "docker")
    assert ran.argv[1:8] == [
        "--device=/dev/kfd", "--device=/dev/dri", "--security-opt", "seccomp=unconfined",
        "--group-add", "video", "--privileged",
    ]  # fmt: skip


# One process of several.

TWO_NODES = ("serve", M3, "--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2")


@pytest.mark.parametrize(
    ("selection", "rank", "headless"),
    [
        pytest.param(("--role", "head"), "0", False, id="head"),
        pytest.param(("--role", "worker"), "1", True, id="worker"),
        pytest.param(("--node-rank", "1"), "1", True, id="rank"),
    ],
)
def test_one_node_of_several_with_its_addresses_filled_in(
    operator: Operator, selection: tuple[str, str], rank: str, headless: bool
) -> None:
    operator.install("vllm")
    ran = operator.run(
        *TWO_NODES, *selection, "--endpoint", "HEAD_IP=10.0.0.1", "--endpoint", "$IFACE_NAME=eth0"
    )
    assert after(ran.argv, "--node-rank") == [rank]
    assert after(ran.argv, "--master-addr") == ["10.0.0.1"]
    assert ("--headless" in ran.argv) == headless
    assert "$" not in str(ran.record["env"])
