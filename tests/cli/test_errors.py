"""What an operator is told, word for word: what is wrong, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.launcher import B300, FLASH, M3, Operator

HARDWARE = (
    "h100, h200, b200, gb200, b300, gb300, dgx_station_gb300, dgx_spark_gb10, rtx_pro_6000, "
    "rtx_pro_6000_2x, rtx_pro_5000, rtx_pro_5000_4x, rtx_pro_6000_8x, rtx_5090, rtx_4090_2x, "
    "rtx_5090_2x, mi300x, mi325x, mi350x, mi355x, trillium, ironwood, xeon6, xeon5, arc_pro_b60, "
    "arc_pro_b70, ascend_950pr"
)
STRATEGIES = (
    "single_node_tp, single_node_tep, single_node_dep, multi_node_tp, multi_node_dep, "
    "multi_node_tep, pd_cluster"
)
FEATURES = "tool_calling, reasoning, spec_decoding, text_only, prefill_dbo_sp, mono_decode"
DRY = (*B300, "--dry-run")


def case(name: str, line: tuple[str, ...], *told: str) -> object:
    return pytest.param(line, told, id=name)


def check(operator: Operator, line: tuple[str, ...], told: tuple[str, ...], status: int) -> None:
    """``told`` is the message, and what to do."""
    ran = operator.run(*line)
    assert ran.error.splitlines() == [f"error: {told[0]}", *(f"  {hint}" for hint in told[1:])]
    assert ran.status == status


@pytest.mark.parametrize(
    ("line", "told"),
    [
        case(
            "mistyped recipe",
            ("serve", "MiniMaxAI/MiniMax-M3.1-Flsh", "--hardware", "b300"),
            "there is no recipe for 'MiniMaxAI/MiniMax-M3.1-Flsh'",
            f"did you mean {FLASH} or {M3} or MiniMaxAI/MiniMax-M2.7?",
            "to plan without a recipe, by its config: "
            "hf download MiniMaxAI/MiniMax-M3.1-Flsh config.json",
        ),
        case(
            "recipe without its owner",
            ("recipes", "show", "minimax-m3.1-flash"),
            "there is no recipe for 'minimax-m3.1-flash'",
            f"did you mean {FLASH} or {M3}?",
        ),
        case(
            "recipe like no other",
            ("explain", "qqqq", "--hardware", "b300"),
            "there is no recipe for 'qqqq'",
            "see vllm-launch recipes list, or give --recipes-dir",
        ),
        case(
            "path out of the recipes",
            ("serve", "../../../etc/passwd", "--hardware", "b300"),
            "there is no recipe for '../../../etc/passwd'",
            "see vllm-launch recipes list, or give --recipes-dir",
        ),
        case(
            "hardware",
            ("serve", FLASH, "--hardware", "b301"),
            "unknown hardware 'b301'",
            f"did you mean 'b300'? known: {HARDWARE}",
        ),
        case(
            "variant",
            (*DRY, "--variant", "mxfp4"),
            f"{FLASH} has no variant 'mxfp4'",
            "variants: default, fp8",
        ),
        case(
            "strategy",
            (*DRY, "--strategy", "single_node_pp"),
            f"{FLASH} does not offer the strategy 'single_node_pp' on b300",
            f"did you mean 'single_node_tp'? strategies on b300: {STRATEGIES}",
        ),
        case(
            "feature",
            (*DRY, "-f", "no_such"),
            f"{FLASH} has no feature 'no_such'",
            f"features: {FEATURES}",
        ),
        case(
            "feature to turn off",
            (*DRY, "--no-feature", "no_such"),
            f"{FLASH} has no feature 'no_such'",
            f"features: {FEATURES}",
        ),
        case(
            "mode",
            ("serve", M3, "--hardware", "b300", "-f", "spec_decoding=no_such"),
            "the feature spec_decoding has no mode 'no_such'",
            "modes: eagle3, eagle3_gqa",
        ),
        case(
            "preset",
            ("serve", M3, "--preset", "no_such"),
            f"{M3} has no preset 'no_such'",
            "presets: h200_agentx, b200_agentx, b200_agentx_c10, b300_agentx, gb200_agentx, "
            "gb200_agentx_tp8, mi355x_agentx",
        ),
        case(
            "point",
            ("serve", M3, "--preset", "mi355x_agentx:tp3"),
            "the preset mi355x_agentx has no point 'tp3'",
            "points: tp4_c1, tp4_c4, tp4_c5, tp4_c8, tp4_c10, tp4_c12, tp4_c15, tp4_c20, tp4_c24, "
            "tp4_c32, tp2_c1, tp2_c2",
        ),
    ],
)
def test_what_does_not_exist(
    operator: Operator, line: tuple[str, ...], told: tuple[str, ...]
) -> None:
    check(operator, line, told, 2)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        case(
            "command",
            ("xyzzy", FLASH),
            "No such command 'xyzzy'",
            "see vllm-launch --help",
        ),
        case(
            "missing MODEL",
            ("serve", "--hardware", "b300"),
            "Missing argument 'MODEL'",
            "see vllm-launch serve --help",
        ),
        case(
            "missing value",
            ("serve", FLASH, "--hardware"),
            "Option '--hardware' requires an argument",
            "see vllm-launch COMMAND --help",
        ),
        case(
            "two models",
            ("recipes", "show", FLASH, M3),
            f"Got unexpected extra argument(s) ({M3})",
            "see vllm-launch recipes show --help",
        ),
        case(
            "value for a flag",
            (*B300, "--dry-run=yes"),
            "Option '--dry-run' does not take a value",
            "see vllm-launch COMMAND --help",
        ),
        case(
            "MODEL behind the dashes",
            ("serve", "--", FLASH),
            "Missing argument 'MODEL'",
            "see vllm-launch serve --help",
        ),
        case(
            "dashes where there is no server",
            ("recipes", "list", "--", "--all", "x"),
            "recipes list starts no server that could be handed '--all x'",
            "leave out -- and what follows it",
        ),
        case(
            "batch from nowhere",
            ("resolve",),
            "resolve needs --batch FILE, or --batch - for the standard input",
        ),
        case(
            "batch that is not there",
            ("resolve", "--batch", "/no/such"),
            "--batch: cannot read /no/such: No such file or directory",
            "name a file of JSON lines",
        ),
        case(
            "recipes directory that is none",
            ("--recipes-dir", "/proc", "recipes", "list"),
            "/proc is no recipes directory: it has no models/ folder",
            "name the folder that holds taxonomy.yaml, strategies/ and models/",
        ),
        case(
            "settings file that is not there",
            ("--config", "/no/such.yaml", *DRY),
            "cannot read /no/such.yaml: No such file or directory",
        ),
        case(
            "host facts that are not there",
            ("serve", FLASH, "--host-facts", "/no/such"),
            "cannot read host facts from /no/such: No such file or directory",
        ),
    ],
)
def test_lines_that_make_no_sense(
    operator: Operator, line: tuple[str, ...], told: tuple[str, ...]
) -> None:
    check(operator, line, told, 2)


@pytest.mark.parametrize(
    ("words", "known"),
    [
        pytest.param(("serve", FLASH, "--hardwear", "b300"), "serve", id="mistyped"),
        pytest.param(("serve", FLASH, "--max-model-len", "5"), "serve", id="vLLM's own"),
        pytest.param(("recipes", "list", "-q"), "recipes list", id="short"),
    ],
)
def test_an_option_that_does_not_exist(
    operator: Operator, words: tuple[str, ...], known: str
) -> None:
    ran = operator.run(*words)
    first, second = ran.error.splitlines()
    option = next(word for word in words if word.startswith("-"))
    assert first.startswith(f"error: No such option: {option}")  # Typer adds what is near
    assert second == f"  vLLM's own flags go behind --; see vllm-launch {known} --help"
    assert ran.status == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        case(
            "no number",
            (*DRY, "--tp", "four"),
            "--tp: found 'four'; expected a whole number of 1 or more",
        ),
        case("zero", (*DRY, "--tp", "0"), "--tp: found '0'; expected a whole number of 1 or more"),
        case(
            "a fraction",
            (*DRY, "--nodes=1.5"),
            "--nodes: found '1.5'; expected a whole number of 1 or more",
        ),
        case(
            "digits of another script",
            (*DRY, "--tp", "٤"),
            "--tp: found '٤'; expected a whole number of 1 or more",
        ),
        case(
            "without end",
            (*DRY, "--port", "9" * 400),
            f"--port: found '{'9' * 400}'; expected a whole number of 1 or more",
        ),
        case(
            "no port",
            (*DRY, "--port", "65536"),
            "--port: found '65536'; expected a port, 65535 at most",
        ),
        case(
            "negative rank",
            (*DRY, "--node-rank", "-1"),
            "--node-rank: found '-1'; expected a whole number of 0 or more",
        ),
        case(
            "role",
            (*DRY, "--role", "boss"),
            "--role: found 'boss'; expected server, head, worker, prefill, decode, instance, "
            "router, store, master, companion, etcd, nats, frontend, proxy",
        ),
        case(
            "runtime",
            (*DRY, "--runtime", "Docker"),
            "--runtime: found 'Docker'; expected native, docker, podman",
        ),
        case(
            "output",
            (*DRY, "-o", "yaml"),
            "--output: found 'yaml'; expected shell, json, argv, env",
        ),
        case(
            "output of another command",
            ("recipes", "list", "-o", "shell"),
            "--output: found 'shell'; expected text, json",
        ),
        case("empty text", (*DRY, "--variant", ""), "--variant: found ''; expected NAME"),
        case(
            "empty list",
            (*DRY, "-f", "a", "--feature="),
            "--feature: found ''; expected NAME[=MODE]",
        ),
        case(
            "empty choice",
            (*DRY, "--role="),
            "--role: found ''; expected server, head, worker, prefill, decode, instance, "
            "router, store, master, companion, etcd, nats, frontend, proxy",
        ),
        case(
            "GPUs",
            (*DRY, "--gpus", "0,,1"),
            "--gpus: found '0,,1'; expected indices or UUIDs, each once, with commas between",
            "for example --gpus 0,1,2,3",
        ),
        case(
            "a GPU twice",
            (*DRY, "--gpus", "1,1"),
            "--gpus: found '1,1'; expected indices or UUIDs, each once, with commas between",
            "for example --gpus 0,1,2,3",
        ),
        case(
            "endpoint without a value",
            (*DRY, "--endpoint", "HEAD_IP"),
            "--endpoint: found 'HEAD_IP'; expected NAME=VALUE",
            "for example --endpoint HEAD_IP=10.0.0.1",
        ),
        case(
            "endpoint with an empty value",
            (*DRY, "--endpoint", "HEAD_IP="),
            "--endpoint: found 'HEAD_IP='; expected NAME=VALUE",
            "for example --endpoint HEAD_IP=10.0.0.1",
        ),
        case(
            "endpoint without a name",
            (*DRY, "--endpoint", "=10.0.0.1"),
            "--endpoint: found '=10.0.0.1'; expected NAME=VALUE",
            "for example --endpoint HEAD_IP=10.0.0.1",
        ),
        case(
            "pool",
            (*DRY, "--prefill", "two"),
            "--prefill: found 'two'; expected NODES[:MODE]",
            "for example --prefill 2:dep",
        ),
        case(
            "mode of a pool",
            (*DRY, "--decode", "2:pp"),
            "--decode: found the mode 'pp'; expected tp, tep or dep",
        ),
        case(
            "image",
            (*DRY, "--runtime", "docker", "--image", "docker pull x"),
            "'docker pull x' is no image reference",
            "write NAME:TAG or NAME@sha256:…",
        ),
    ],
)  # fmt: skip
def test_values_that_cannot_be(
    operator: Operator, line: tuple[str, ...], told: tuple[str, ...]
) -> None:
    check(operator, line, told, 2)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        case(
            "value",
            (*DRY, "-e", "HF_TOKEN=x"),
            "--env: the value of HF_TOKEN would stand in the command for all to read",
            "export HF_TOKEN before, and give its name alone: -e HF_TOKEN",
        ),
        case(
            "empty value",
            (*DRY, "--env=MY_API_KEY="),
            "--env: the value of MY_API_KEY would stand in the command for all to read",
            "export MY_API_KEY before, and give its name alone: -e MY_API_KEY",
        ),
        case(
            "not set",
            (*DRY, "-e", "MY_PASSWORD"),
            "--env: MY_PASSWORD is not set",
            "export MY_PASSWORD before",
        ),
        case(
            "API key",
            (*DRY, "--", "--api-key", "x"),
            "--api-key puts a secret on the command line, where every user can read it",
            "export VLLM_API_KEY=… instead: the server reads it",
        ),
        case(
            "API key in one word",
            (*DRY, "--", "--api_key=x"),
            "--api-key puts a secret on the command line, where every user can read it",
            "export VLLM_API_KEY=… instead: the server reads it",
        ),
        case(
            "hub token",
            (*DRY, "--", "--hf-token", "x"),
            "--hf-token puts a secret on the command line, where every user can read it",
            "export HF_TOKEN=… instead: the server reads it",
        ),
    ],
)
def test_secrets_where_all_can_read_them(
    operator: Operator, line: tuple[str, ...], told: tuple[str, ...]
) -> None:
    check(operator, line, told, 2)


@pytest.mark.parametrize("words", [("--hf-token",), ("--hf-token", "--port", "1")], ids=" ".join)
def test_the_token_that_is_saved_at_home_is_no_secret_on_the_line(
    operator: Operator, words: tuple[str, ...]
) -> None:
    assert operator.run(*DRY, "--", *words).status == 0


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "MAX_TOKENS", "KEY", "SECRETARY"])
def test_names_that_only_look_secret(operator: Operator, name: str) -> None:
    assert f"export {name}=1\n" in operator.run(*DRY, "-e", f"{name}=1").out


@pytest.mark.parametrize("name", ["1X", "A B", "A-B", "A.B", "É", "A$B"], ids=repr)
def test_names_that_no_variable_can_have(operator: Operator, name: str) -> None:
    told = (f"--env: {name!r} is no variable name", "write NAME=VALUE")
    check(operator, (*DRY, "-e", f"{name}=1"), told, 2)


def test_a_variable_without_a_name(operator: Operator) -> None:
    check(operator, (*DRY, "-e", "=1"), ("--env: '' is no variable name", "write NAME=VALUE"), 2)


def test_a_variable_to_pass_on_that_is_not_set(operator: Operator) -> None:
    told = ("--env: NOT_SET is not set", "export NOT_SET before")
    check(operator, (*DRY, "-e", "NOT_SET"), told, 2)


@pytest.mark.parametrize(
    ("line", "status", "told"),
    [
        pytest.param(
            ("serve", M3, "--preset", "mi355x_agentx", "--hardware", "b300"), 2,
            ("the preset mi355x_agentx is for mi355x, not b300",
             "drop --hardware, or pick a preset for it: b300_agentx"),
            id="preset, hardware",
        ),
        pytest.param(
            ("serve", M3, "--preset", "mi355x_agentx", "--strategy", "single_node_dep"), 2,
            ("the preset mi355x_agentx is for the strategy single_node_tp, not single_node_dep",
             "drop --strategy"),
            id="preset, strategy",
        ),
        pytest.param(
            ("serve", M3, "--preset", "mi355x_agentx", "--variant", "mxfp8"), 2,
            ("the preset mi355x_agentx is for variant mxfp4, not mxfp8", "drop --variant"),
            id="preset, variant",
        ),
        pytest.param(
            ("serve", M3, "--hardware", "b300", "-f", "text_only", "-f", "encoder_parallel"), 2,
            ("the features text_only and encoder_parallel exclude each other",
             "leave one off: --no-feature text_only or --no-feature encoder_parallel"),
            id="features that exclude each other",
        ),
        pytest.param(
            (*DRY, "-f", "text_only", "--no-feature", "text_only"), 2,
            ("--feature turns text_only on, and --no-feature turns it off", "leave one out"),
            id="feature on and off",
        ),
        pytest.param(
            (*DRY, "--host-facts", "facts.json"), 2,
            ("--hardware and --host-facts each name a machine", "leave one out"),
            id="two machines",
        ),
        pytest.param(
            (*DRY, "--instances", "2"), 2,
            ("instances share a KV store, and none is asked for",
             "give --kv-offload kv_store_…, or leave --instances out"),
            id="instances of nothing",
        ),
        pytest.param(
            (*DRY, "--strategy", "single_node_tp", "--nodes", "2"), 2,
            ("the strategy single_node_tp is for one node, not 2",
             "drop --nodes, or use a multi_node strategy"),
            id="strategy, nodes",
        ),
        pytest.param(
            (*DRY, "--strategy", "single_node_dep", "--tp", "4"), 2,
            ("--tp does not apply to the strategy single_node_dep",
             "leave it out, or pick a strategy that splits tensors"),
            id="strategy, TP",
        ),
        pytest.param(
            ("serve", FLASH, "--hardware", "h200", "--variant", "default"), 3,
            ("variant default runs on b200, gb200, b300, gb300, mi355x only",
             "on h200: --variant fp8"),
            id="variant, hardware",
        ),
        pytest.param(
            (*DRY, "-f", "mono_decode"), 3,
            ("the feature mono_decode does not run on b300",
             "leave it off: --no-feature mono_decode"),
            id="feature, hardware",
        ),
    ],
)  # fmt: skip
def test_choices_that_contradict_each_other(
    operator: Operator, line: tuple[str, ...], status: int, told: tuple[str, ...]
) -> None:
    check(operator, line, told, status)


TWO_NODES = ("serve", M3, "--hardware", "h200", "--strategy", "multi_node_tp", "--nodes", "2")
POOLS = ("serve", FLASH, "--hardware", "gb200", "--strategy", "pd_cluster")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        case(
            "nodes",
            TWO_NODES,
            "the deployment has 2 processes (head 0, worker 1), and this runs one",
            "say which with --role and --node-rank, or print all with --dry-run",
        ),
        case(
            "pools",
            POOLS,
            "the deployment has 3 processes (prefill 0, decode 0, router), and this runs one",
            "say which with --role and --node-rank, or print all with --dry-run",
        ),
        case(
            "ranks of one role",
            (*POOLS, "--prefill", "2", "--role", "prefill"),
            "the deployment has 2 processes (prefill 0, prefill 1), and this runs one",
            "say which with --role and --node-rank, or print all with --dry-run",
        ),
        case(
            "no such rank",
            (*TWO_NODES, "--node-rank", "2"),
            "the deployment has no process 2",
            "it has: head 0, worker 1; see --nodes",
        ),
        case(
            "no such role",
            (*TWO_NODES, "--role", "decode", "--node-rank", "0"),
            "the deployment has no process decode 0",
            "it has: head 0, worker 1; see --strategy",
        ),
        case(
            "a role that a store would bring",
            (*TWO_NODES, "--role", "master"),
            "the deployment has no process master",
            "it has: head 0, worker 1; see --kv-offload",
        ),
        case(
            "nothing filled in",
            (*TWO_NODES, "--role", "head"),
            "not filled in: $HEAD_IP (the address of head 0), $IFACE_NAME (found where it runs, by "
            "the route to the head)",
            "give --endpoint HEAD_IP=…",
        ),
        case(
            "a pool's",
            (*POOLS, "--role", "decode"),
            "not filled in: $DECODE_NODE_1 (the address of decode 0)",
            "give --endpoint DECODE_NODE_1=…",
        ),
        case(
            "in a container",
            (*TWO_NODES, "--role", "worker", "--runtime", "docker"),
            "not filled in: $HEAD_IP (the address of head 0), $IFACE_NAME (found where it runs, "
            "by the route to the head)",
            "give --endpoint HEAD_IP=…",
        ),
    ],
)
def test_a_process_that_is_not_fully_said(
    operator: Operator, line: tuple[str, ...], told: tuple[str, ...]
) -> None:
    for name in ("vllm", "docker"):
        operator.install(name)
    check(operator, line, told, 2)


@pytest.mark.parametrize("words", [("--", "--x", "$HOME"), ("-e", "A=${X}")], ids=" ".join)
def test_a_dollar_sign_of_the_operators_is_no_placeholder(
    operator: Operator, words: tuple[str, ...]
) -> None:
    operator.install("vllm")
    record = operator.run(*B300, *words).record
    assert words[1].partition("=")[2] == record["env"].get("A") or words[2] == record["argv"][-1]


@pytest.mark.parametrize(
    ("runtime", "told"),
    [
        ("native", ("vllm is not on PATH",
                    "install vLLM in this environment, or use --runtime docker")),
        ("docker", ("docker is not on PATH", "install Docker, or use --runtime native")),
        ("podman", ("podman is not on PATH", "install Podman, or use --runtime native")),
    ],
)  # fmt: skip
def test_a_program_that_is_not_there(
    operator: Operator, runtime: str, told: tuple[str, str]
) -> None:
    ran = operator.run(*B300, "--runtime", runtime)
    remarks = [line for line in ran.error.splitlines() if not line.startswith("# ")]
    assert remarks == [f"error: {told[0]}", f"  {told[1]}"]
    assert ran.status == 5


@pytest.mark.parametrize("place", ["HF_HOME", "checkpoint"])
def test_a_path_that_no_engine_can_mount(operator: Operator, tmp_path: Path, place: str) -> None:
    model = tmp_path / "a:b" / "MiniMax-M3.1-Flash"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    path = model if place == "checkpoint" else tmp_path / "a:b" / "huggingface"
    ran = operator.run(
        "serve", model if place == "checkpoint" else FLASH, "--hardware", "b300",
        "--runtime", "podman", env={"XDG_CACHE_HOME": str(path.parent)} if path != model else {},
    )  # fmt: skip
    assert ran.status == 2
    assert ran.error == (
        f"error: podman cannot mount {path}: there is a colon in it\n"
        "  make a link to it under another name\n"
    )


# Nothing that was asked for is dropped in silence.


@pytest.mark.parametrize(
    ("words", "note"),
    [
        pytest.param(
            ("--hardened",),
            "--hardened is for containers, and this server is native",
            id="hardened",
        ),
        pytest.param(
            ("--name", "m3"), "--name is for containers, and this server is native", id="name"
        ),
        pytest.param(
            ("--endpoint", "HEAD_IP=10.0.0.1"),
            "--endpoint HEAD_IP fills nothing; placeholders here: none",
            id="endpoint of nothing",
        ),
    ],
)
def test_what_changes_nothing_is_noted(
    operator: Operator, words: tuple[str, ...], note: str
) -> None:
    ran = operator.run(*DRY, *words)
    assert ran.status == 0
    assert f"# note: {note}\n" in ran.err


def test_an_endpoint_of_another_name_is_noted_with_the_names_there_are(operator: Operator) -> None:
    ran = operator.run(*TWO_NODES, "--endpoint", "HEAD=10.0.0.1", "--dry-run")
    note = "--endpoint HEAD fills nothing; placeholders here: $HEAD_IP, $IFACE_NAME"
    assert f"# note: {note}\n" in ran.err


def test_an_endpoint_of_the_router_alone_is_no_mistake(operator: Operator) -> None:
    ran = operator.run(
        *POOLS, "--endpoint", "ROUTER_PORT=9000", "--endpoint", "DECODE_NODE_1=10.0.0.2",
        "--dry-run",
    )  # fmt: skip
    assert "fills nothing" not in ran.err
    assert "  --decode http://10.0.0.2:8200 \\\n" in ran.out
    assert "  --port 9000 \\\n" in ran.out
