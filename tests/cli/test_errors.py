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
NAMES = "name a recipe (see vllm-launch recipes list), its file, or a checkpoint's directory"
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
            "there is no file or directory '../../../etc/passwd'",
            NAMES,
        ),
        case(
            "recipe file that is not there",
            ("explain", "recipes/Llama.yaml", "--hardware", "b300"),
            "there is no file or directory 'recipes/Llama.yaml'",
            NAMES,
        ),
        case(
            "file that is no recipe",
            ("serve", "/dev/null", "--hardware", "b300"),
            "'/dev/null' is no recipe file: its name does not end in .yaml or .json",
            NAMES,
        ),
        case("no name at all", ("serve", "", "--hardware", "b300"), "MODEL is empty", NAMES),
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
            "did you mean 'tp4_c32'? points: tp4_c1, tp4_c4, tp4_c5, tp4_c8, tp4_c10, tp4_c12, "
            "tp4_c15, tp4_c20, tp4_c24, tp4_c32, tp2_c1, tp2_c2",
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
            "there is no command 'xyzzy'",
            "see vllm-launch --help",
        ),
        case(
            "mistyped command",
            ("serv", FLASH),
            "there is no command 'serv'",
            "did you mean 'serve'? see vllm-launch --help",
        ),
        case(
            "mistyped command of a group",
            ("recipes", "lst"),
            "there is no command 'recipes lst'",
            "did you mean 'list'? see vllm-launch recipes --help",
        ),
        case(
            "missing MODEL",
            ("serve", "--hardware", "b300"),
            "MODEL is missing",
            "see vllm-launch serve --help",
        ),
        case(
            "missing value",
            ("serve", FLASH, "--hardware"),
            "--hardware needs a value",
            "see vllm-launch serve --help",
        ),
        case(
            "two models",
            ("recipes", "show", FLASH, M3),
            f"recipes show has no use for {M3!r}",
            "see vllm-launch recipes show --help",
        ),
        case(
            "value for a flag",
            (*B300, "--dry-run=yes"),
            "--dry-run takes no value",
            "see vllm-launch serve --help",
        ),
        case(
            "MODEL behind the dashes",
            ("serve", "--", FLASH),
            "MODEL is missing",
            "it stands before --, and what follows -- is vLLM's; see vllm-launch serve --help",
        ),
        case(
            "dashes where there is no server",
            ("recipes", "list", "--", "--all", "x"),
            "recipes list starts no server that could be handed what follows --",
            "leave it out, and the --",
        ),
        case(
            "batch from nowhere",
            ("resolve",),
            "resolve needs --batch FILE, or --batch - for the standard input",
            "see vllm-launch resolve --help",
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
            "recipes directory that is a file",
            ("--recipes-dir", "/dev/null", "recipes", "list"),
            "/dev/null is no recipes directory: it is a file",
            "name the folder that holds taxonomy.yaml, strategies/ and models/",
        ),
        case(
            "recipes directory that is not there",
            ("--recipes-dir", "/no/such", "recipes", "list"),
            "/no/such is no recipes directory: it is not there",
            "name the folder that holds taxonomy.yaml, strategies/ and models/",
        ),
        case(
            "settings file that is not there",
            ("--config", "/no/such.yaml", *DRY),
            "cannot read /no/such.yaml: No such file or directory",
            "--config or VLLM_LAUNCH_CONFIG names it",
        ),
        case(
            "host facts that are not there",
            ("serve", FLASH, "--host-facts", "/no/such"),
            "cannot read host facts from /no/such: No such file or directory",
            "such a file is written by: vllm-launch detect --save FILE",
        ),
    ],
)
def test_lines_that_make_no_sense(
    operator: Operator, line: tuple[str, ...], told: tuple[str, ...]
) -> None:
    check(operator, line, told, 2)


EMPTY = "give it a value, or leave it out"
OWN = "vLLM's own flags go behind --;"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        case(
            "mistyped",
            ("serve", FLASH, "--hardwear", "b300"),
            "serve has no option --hardwear",
            f"did you mean '--hardware'? {OWN} see vllm-launch serve --help",
        ),
        case(
            "vLLM's own",
            ("serve", FLASH, "--max-num-seqs", "5"),
            "serve has no option --max-num-seqs",
            f"{OWN} see vllm-launch serve --help",
        ),
        case(
            "another command's",
            ("explain", FLASH, "--dry-run"),
            "explain has no option --dry-run",
            f"--dry-run is an option of serve, bench, recipes lint; {OWN} "
            "see vllm-launch explain --help",
        ),
        case(
            "where nothing is handed on",
            ("stop", "--now"),
            "stop has no option --now",
            "see vllm-launch stop --help",
        ),
        case(
            "short",
            ("recipes", "list", "-q"),
            "recipes list has no option -q",
            "see vllm-launch recipes list --help",
        ),
        case(
            "before a command",
            ("--verson",),
            "vllm-launch has no option --verson",
            "did you mean '--version'? see vllm-launch --help",
        ),
        case(
            "a command's own before it",
            ("--hardware", "b300", "serve", FLASH),
            "--hardware stands behind the command, as in vllm-launch serve MODEL --hardware ID",
            "see vllm-launch --help",
        ),
        case(
            "the launcher's own behind a command",
            ("serve", FLASH, "--config", "x.yaml"),
            "--config stands before the command, as in vllm-launch --config FILE serve",
            "see vllm-launch serve --help",
        ),
    ],
)
def test_an_option_that_does_not_exist(
    operator: Operator, line: tuple[str, ...], told: tuple[str, ...]
) -> None:
    check(operator, line, told, 2)


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
            f"--port: found '{'9' * 400}'; expected a port, 1 to 65535",
        ),
        case(
            "more than can be",
            (*DRY, "--nodes", "123456789"),
            "--nodes: found '123456789'; expected a whole number of 1 or more, 8 digits at most",
        ),
        case(
            "an option that has two names",
            (*DRY, "--wait-timeout", "soon"),
            "--timeout: found 'soon'; expected a whole number of 1 or more",
        ),
        case(
            "no port",
            (*DRY, "--port", "65536"),
            "--port: found '65536'; expected a port, 1 to 65535",
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
        case("empty text", (*DRY, "--variant", ""), "--variant: found ''; expected NAME", EMPTY),
        case(
            "empty list",
            (*DRY, "-f", "a", "--feature="),
            "--feature: found ''; expected NAME[=MODE]",
            EMPTY,
        ),
        case(
            "empty choice",
            (*DRY, "--role="),
            "--role: found ''; expected server, head, worker, prefill, decode, instance, "
            "router, store, master, companion, etcd, nats, frontend, proxy",
            EMPTY,
        ),
        case(
            "mode of a feature that has none",
            (*DRY, "-f", "reasoning=on"),
            "the feature reasoning has no modes",
            "leave '=on' out",
        ),
        case(
            "mode to turn off",
            (*DRY, "--no-feature", "reasoning=on"),
            "--no-feature: found 'reasoning=on'; expected a feature without a mode",
            "for example --no-feature reasoning",
        ),
        case(
            "preset without a name",
            ("serve", M3, "--preset", ":tp4_c1"),
            "--preset: found ':tp4_c1'; expected NAME[:POINT]",
            "for example --preset mi355x_agentx:tp4_c1; see vllm-launch recipes show MODEL",
        ),
        case(
            "preset without its point",
            ("serve", M3, "--preset", "mi355x_agentx:"),
            "--preset: found 'mi355x_agentx:'; expected NAME[:POINT]",
            "for example --preset mi355x_agentx:tp4_c1; see vllm-launch recipes show MODEL",
        ),
        case(
            "endpoint file without a name",
            (*DRY, "--endpoint", "@"),
            "--endpoint: found '@'; expected @FILE",
            "@FILE names a file of NAME=VALUE lines",
        ),
        case(
            "container's name",
            (*DRY, "--runtime", "docker", "--name", "my server"),
            "--name: found 'my server'; expected letters, digits, '-', '_' and '.', 64 at most, "
            "a letter or digit first",
        ),
        case(
            "address without a port that can be",
            ("verify", "--url", "http://127.0.0.1:99999"),
            "--url: found 'http://127.0.0.1:99999'; expected http(s)://HOST[:PORT]",
            "for example --url http://127.0.0.1:8000, or unix:/run/vllm.sock",
        ),
        case(
            "certificates that are not there",
            ("recipes", "sync", "https://127.0.0.1:1/x", "--ca", "/no/such"),
            "--ca: cannot read /no/such",
            "name a file of certificates in PEM",
        ),
        case(
            "one result",
            ("bench", "--compare", "a.json"),
            "--compare: found a.json; expected two results",
            "for example vllm-launch bench --compare first.json --compare second.json",
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
            "--image: 'docker pull x' is no image reference",
            "write NAME:TAG or NAME@sha256:…",
        ),
        case(
            "image without a runtime",
            (*DRY, "--image", "vLLM/vllm-openai:v1"),
            "--image: 'vLLM/vllm-openai:v1' is no image reference",
            "write NAME:TAG or NAME@sha256:…",
        ),
        case(
            "password in an image",
            (*DRY, "--image", "reg.io/u:pa55@x/y:z"),
            "--image: '…@x/y:z' is no image reference",
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


def test_a_dollar_sign_of_the_operators_is_no_placeholder(operator: Operator) -> None:
    operator.install("vllm")
    record = operator.run(*B300, "-e", "A=${X}", "--", "--x", "$HOME").record
    assert record["env"]["A"] == "${X}"
    assert record["argv"][-2:] == ["--x", "$HOME"]


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


@pytest.mark.parametrize("place", ["HF_HOME", "checkpoint", "variable"])
def test_a_path_that_no_engine_can_mount(operator: Operator, tmp_path: Path, place: str) -> None:
    model = tmp_path / "a:b" / "MiniMax-M3.1-Flash"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    path = model if place == "checkpoint" else tmp_path / "a:b" / "huggingface"
    ran = operator.run(
        "serve", model if place == "checkpoint" else FLASH, "--hardware", "b300",
        "--runtime", "podman", *(("-e", f"A_CONFIG_PATH={path}") if place == "variable" else ()),
        env={"XDG_CACHE_HOME": str(path.parent)} if place == "HF_HOME" else {},
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


@pytest.mark.parametrize(
    ("target", "what"),
    [
        (("kubernetes",), "docker and podman, which do not run these containers"),
        (("slurm", "--pyxis"), "docker and podman, which do not run these containers"),
        (("slurm",), "containers, and this server is native"),
    ],
    ids=["kubernetes", "pyxis", "native"],
)
def test_what_other_containers_do_not_have_is_noted(
    operator: Operator, target: tuple[str, ...], what: str
) -> None:
    ran = operator.run("export", FLASH, "--hardware", "b300", "--to", *target, "--hardened")
    assert f"# note: --hardened is for {what}\n" in ran.err


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


NOT_JSON = [
    pytest.param(b"", "it is empty", id="empty"),
    pytest.param(b" \n", "it is empty", id="blank"),
    pytest.param(b"\xff\xfe\x00", "it is no text", id="bytes"),
    pytest.param(b"{\n x", "line 2, column 2: expecting property name enclosed in double quotes",
                 id="half"),
    pytest.param(b"[" * 100_000, "it is nested too deeply", id="deep"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "why"), NOT_JSON)
@pytest.mark.parametrize(
    ("line", "what", "hint"),
    [
        pytest.param(
            (*DRY, "--locked"), "no lock", "give a file that --lock wrote", id="lock"
        ),
        pytest.param(
            ("serve", FLASH, "--host-facts"), "not JSON",
            "such a file is written by: vllm-launch detect --save FILE", id="host facts",
        ),
        pytest.param(
            ("bench", "--compare", "f", "--compare"), "no result",
            "give a --label, a file that bench wrote, or one of vllm bench serve --save-result",
            id="result",
        ),
    ],
)  # fmt: skip
def test_a_file_that_is_not_json(
    operator: Operator, content: bytes, why: str, line: tuple[str, ...], what: str, hint: str
) -> None:
    (operator.cwd / "f").write_bytes(content)
    check(operator, (*line, "f"), (f"f is {what}: {why}", hint), 2)


def test_a_lock_is_not_written_over_a_directory(operator: Operator) -> None:
    (operator.cwd / "there").mkdir()
    ran = operator.run(*DRY, "--lock", "there")
    assert ran.err.splitlines()[-2:] == [
        f"error: cannot write {operator.cwd}/there: Is a directory",
        "  name another file for the lock",
    ]
    assert ran.status == 2


def test_a_settings_file_that_says_a_wrong_value_names_its_key(operator: Operator) -> None:
    path = operator.configure("hardware: b300\ntp: many\n")
    told = f"{path}:2: tp: found 'many'; expected a whole number of 1 or more"
    check(operator, ("explain", FLASH), (told,), 2)


def test_an_image_for_no_container_is_noted(operator: Operator) -> None:
    ran = operator.run(*DRY, "--image", "mine:1")
    assert "# note: --image is for containers, and this server is native" in ran.err.splitlines()
    assert "note: --image" not in operator.run(*DRY, "--image", "mine:1", "--runtime", "docker").err
