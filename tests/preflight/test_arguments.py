"""Flags, values, keys and names against the releases of vLLM."""

from __future__ import annotations

import json

import pytest

from tests.preflight.build import (
    OPERATOR,
    Case,
    connector,
    findings,
    only,
    recipe,
    situation,
    told,
    transfer,
)
from vllm_launch.model.recipe import Recipe
from vllm_launch.model.source import Source, paired
from vllm_launch.model.system import Vllm
from vllm_launch.preflight import Situation
from vllm_launch.preflight.plan import arguments, config, is_on, loads, number, value

AHEAD = recipe(minimum="0.33.0", nightly_required=True)
DECODE_CP = ["--attention-config", '{"indexer_kv_dtype":"nvfp4","indexer_decode_cp":true}']
TS = ["--speculative-config", '{"method":"dspark","attention_backend":"FLASHINFER_TS"}']
HUGE = transfer(**connector("SimpleCPUOffloadConnector", cpu_hugepage_block_size="1GB"))
NIGHTLY = {"runtime": "docker", "image": "vllm/vllm-openai-rocm:nightly"}


def needing(*words: str) -> Recipe:
    place = Source(layer="model.mandatory_args")
    return recipe(mandatory_args=paired((word, place) for word in words))


MANDATORY = needing("--block-size", "128")
MANDATORY_KEY = needing("--attention-config.backend", "FLASHINFER")
MANDATORY_SWITCH = needing("--disable-hybrid-kv-cache-manager")


def absent(command: list[str] | str, **fields: object) -> Situation:
    """A plan where no vLLM is installed."""
    plan = situation(command, **fields)  # type: ignore[arg-type]
    return plan.replace(system=plan.system.replace(vllm=Vllm()))


CASES = [
    Case(
        "FLAG_UNKNOWN", "pass", "known", situation("--tensor-parallel-size 8 -dp 2 --seed -1"), []
    ),
    Case(
        "FLAG_UNKNOWN",
        "pass",
        "negations that help does not show",
        situation("--no-enable-prefix-caching --no-enable-log-requests --disable-prefix-caching"),
        [],
    ),
    Case("FLAG_UNKNOWN", "pass", "underscores", situation("--max_model_len 8192"), []),
    Case("FLAG_UNKNOWN", "pass", "dotted", situation("--quantization-config.moe mxfp8"), []),
    Case(
        "FLAG_UNKNOWN",
        "pass",
        "words behind the end of options",
        situation("-- --", source=OPERATOR),
        [],
    ),
    Case("FLAG_UNKNOWN", "pass", "joined", situation("--port=80 -O3 -n2 -tp=4"), []),
    Case(
        "FLAG_UNKNOWN",
        "found",
        "misspelt",
        situation("--max-model-length 8192", source=OPERATOR),
        ["fail: --max-model-length is unknown to vLLM 0.33.0"],
    ),
    Case(
        "FLAG_UNKNOWN",
        "found",
        "gone",
        situation("--override-attention-dtype bfloat16"),
        ["fail: --override-attention-dtype is unknown to vLLM 0.33.0"],
    ),
    Case(
        "FLAG_UNKNOWN",
        "found",
        "not yet",
        situation("--monokernel", vllm="0.32.0"),
        ["fail: --monokernel is unknown to vLLM 0.32.0"],
    ),
    Case(
        "FLAG_UNKNOWN",
        "found",
        "a negation of a negation",
        situation("--no-disable-prefix-caching"),
        ["fail: --no-disable-prefix-caching is unknown to vLLM 0.33.0"],
    ),
    Case(
        "FLAG_UNKNOWN",
        "found",
        "shortened",
        situation("--max-model 8192"),
        ["note: --max-model is short for --max-model-len"],
    ),
    Case(
        "FLAG_UNKNOWN",
        "unknown",
        "a nightly image, the recipe's flag",
        situation("--new-flag", **NIGHTLY),
        ["note: --new-flag is unknown to vLLM 0.33.0"],
    ),
    Case(
        "FLAG_UNKNOWN",
        "unknown",
        "a nightly image, the operator's flag",
        situation("--new-flag", source=OPERATOR, **NIGHTLY),
        ["warn: --new-flag is unknown to vLLM 0.33.0"],
    ),
    Case(
        "FLAG_UNKNOWN",
        "unknown",
        "a nightly image, a flag that is gone",
        situation("--override-attention-dtype x", **NIGHTLY),
        ["warn: --override-attention-dtype is unknown to vLLM 0.33.0"],
    ),
    Case("FLAG_UNKNOWN", "unknown", "no table", situation("--new-flag", known=None), None),
    Case(
        "FLAG_VALUE",
        "pass",
        "right",
        situation(
            "--port 80 --max-model-len 1M --max-num-batched-tokens 32k --seed -1 "
            "--gpu-memory-utilization .9 --moe-backend DEEP-GEMM --served-model-name a b "
            "--hf-token --dtype bfloat16 --max-model-len auto --max-lora-rank 16"
        ),
        [],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "a choice",
        situation("--dtype bfloat61"),
        [
            (
                "fail: --dtype does not take 'bfloat61'; it takes auto, bfloat16, float, float16, "
                "float32, half"
            ),
        ],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "one of many choices",
        situation("--moe-backend deepgemm"),
        [
            (
                "fail: --moe-backend does not take 'deepgemm'; it takes deep_gemm, "
                "deep_gemm_mega_moe, flashinfer_moe_ep_mega_deep_gemm, …"
            ),
        ],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "no number",
        situation("--port http"),
        ["fail: --port takes a number, found 'http'"],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "no value",
        situation("--port --headless"),
        ["fail: --port takes a value, none found"],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "two values",
        situation("--port 80 81"),
        ["fail: --port takes one value, found '80 81'"],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "no values",
        situation("--served-model-name"),
        ["fail: --served-model-name takes values, none found"],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "a stray word",
        situation("stray --headless"),
        ["fail: 'stray' stands alone, without a flag before it"],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "a word behind a switch",
        situation("--headless again"),
        ["fail: --headless takes no value, found 'again'"],
    ),
    Case(
        "FLAG_VALUE",
        "found",
        "a choice that came later",
        situation("--moe-backend rdna3", vllm="0.28.0"),
        ["fail: --moe-backend does not take 'rdna3'; it takes one of 17 others"],
    ),
    Case(
        "FLAG_VALUE",
        "unknown",
        "choices that a release does not list",
        situation("--kv-cache-dtype nvfp5"),
        [],
    ),
    Case("FLAG_VALUE", "unknown", "an unfilled one", situation("--port $PORT"), []),
    Case(
        "FLAG_VALUE",
        "unknown",
        "a nightly image",
        situation("--dtype bfloat61", **NIGHTLY),
        [
            (
                "warn: --dtype does not take 'bfloat61'; it takes auto, bfloat16, float, float16, "
                "float32, half"
            ),
        ],
    ),
    Case(
        "BOOL_FALSE", "pass", "their own forms", situation("--enable-dbo --no-async-scheduling"), []
    ),
    Case(
        "BOOL_FALSE",
        "found",
        "false",
        situation("--enable-prefix-caching false"),
        ["fail: --enable-prefix-caching takes no value, found 'false'"],
    ),
    Case(
        "BOOL_FALSE",
        "found",
        "joined",
        situation("--enable-prefix-caching=True"),
        ["fail: --enable-prefix-caching takes no value, found 'True'"],
    ),
    Case("BOOL_FALSE", "unknown", "no table", situation("--x false", known=None), None),
    Case("JSON_VALUE", "pass", "read", situation(DECODE_CP), []),
    Case("JSON_VALUE", "pass", "no JSON", situation("--port 80"), None),
    Case(
        "JSON_VALUE",
        "pass",
        "numbers as vLLM takes them",
        situation(
            ["--kv-transfer-config", '{"kv_connector_extra_config":{"cpu_bytes_to_use":80G}}']
        ),
        [],
    ),
    Case(
        "JSON_VALUE",
        "found",
        "quotes lost",
        situation(["--limit-mm-per-prompt", "{video: 0}"]),
        [
            (
                "fail: --limit-mm-per-prompt '{video: 0}': it is no JSON: Expecting property name "
                "enclosed in double quotes: line 1 column 2 (char 1)"
            ),
        ],
    ),
    Case(
        "JSON_VALUE",
        "found",
        "cut off",
        situation(["--hf-overrides", "{'rope_theta': 1000000}"]),
        [
            (
                "fail: --hf-overrides \"{'rope_theta': 1000000}\": it is no JSON: Expecting "
                "property name enclosed in double quotes: line 1 column 2 (char 1)"
            ),
        ],
    ),
    Case(
        "JSON_VALUE",
        "found",
        "text that begins like JSON",
        situation(["--hf-overrides", '{"rope_theta": 1000000']),
        [
            (
                "warn: --hf-overrides '{\"rope_theta\": 1000000': it is no JSON: Expecting ',' "
                "delimiter: line 1 column 23 (char 22)"
            ),
        ],
    ),
    Case(
        "JSON_VALUE",
        "found",
        "no mapping",
        situation(["--attention-config", "FLASHINFER", "--compilation-config", "3"]),
        [
            (
                "fail: --attention-config 'FLASHINFER': it is no JSON: Expecting value: line 1 "
                "column 1 (char 0)"
            ),
            "fail: --compilation-config '3': it is no mapping",
        ],
    ),
    Case(
        "JSON_VALUE",
        "found",
        "a suffix where JSON is read plainly",
        situation(["--limit-mm-per-prompt", '{"image":1k}']),
        [
            (
                "fail: --limit-mm-per-prompt '{\"image\":1k}': it is no JSON: Expecting ',' "
                "delimiter: line 1 column 11 (char 10)"
            ),
        ],
    ),
    Case(
        "JSON_VALUE",
        "pass",
        "none at all",
        situation(["--kv-transfer-config", "None", "--speculative-config", "null"]),
        [],
    ),
    Case(
        "JSON_VALUE",
        "found",
        "false in quotes",
        situation(transfer(**connector("X", lazy_offload="false", nested=[{"deep": "True"}]))),
        [
            (
                'warn: --kv-transfer-config: kv_connector_extra_config.lazy_offload is "false" in '
                "quotes, which is text"
            ),
            (
                'warn: --kv-transfer-config: kv_connector_extra_config.nested[0].deep is "True" in '
                "quotes, which is text"
            ),
        ],
    ),
    Case(
        "JSON_VALUE", "unknown", "an unfilled one", situation(["--hf-overrides", '{"a": $X}']), []
    ),
    Case("CONFIG_KEY", "pass", "known", situation("--attention-config.indexer_kv_dtype fp8"), []),
    Case("CONFIG_KEY", "pass", "no keys", situation("--port 80"), None),
    Case(
        "CONFIG_KEY",
        "pass",
        "free mappings",
        situation(["--hf-overrides", '{"anything":1}', "--limit-mm-per-prompt", '{"any":1}']),
        None,
    ),
    Case(
        "CONFIG_KEY",
        "pass",
        "dashes of the speculative config",
        situation(["--speculative-config", '{"num-speculative-tokens":3}']),
        [],
    ),
    Case(
        "CONFIG_KEY",
        "found",
        "ahead of the release",
        situation(DECODE_CP, of=AHEAD),
        ["fail: the key indexer_decode_cp of --attention-config is unknown to vLLM 0.33.0"],
    ),
    Case(
        "CONFIG_KEY",
        "found",
        "dotted",
        situation("--attention-config.indexer_kv_dtpye fp8", source=OPERATOR),
        ["fail: the key indexer_kv_dtpye of --attention-config is unknown to vLLM 0.33.0"],
    ),
    Case(
        "CONFIG_KEY",
        "found",
        "nested",
        situation(["--compilation-config", '{"pass_config":{"enable_sp":true}}']),
        [
            "fail: the key enable_sp of --compilation-config.pass_config is unknown to vLLM 0.33.0",
        ],
    ),
    Case(
        "CONFIG_KEY",
        "found",
        "in a nested connector",
        situation(
            transfer(
                **connector("MultiConnector", connectors=[{"kv_connector": "X", "kv_rank": 0}])
            )
        ),
        [
            "fail: the key kv_rank of --kv-transfer-config (connector 1) is unknown to vLLM 0.33.0",
        ],
    ),
    Case(
        "CONFIG_KEY",
        "unknown",
        "a nightly image",
        situation(DECODE_CP, **NIGHTLY),
        ["note: the key indexer_decode_cp of --attention-config is unknown to vLLM 0.33.0"],
    ),
    Case(
        "CONFIG_KEY",
        "unknown",
        "nothing installed",
        absent(DECODE_CP, of=AHEAD),
        ["note: the key indexer_decode_cp of --attention-config is unknown to vLLM 0.33.0"],
    ),
    Case("CONNECTOR_KEY", "pass", "a nightly image", situation(HUGE, **NIGHTLY), []),
    Case("CONNECTOR_KEY", "pass", "not given", situation(transfer(**connector("X"))), None),
    Case(
        "CONNECTOR_KEY",
        "found",
        "ahead of the release",
        situation(HUGE),
        [
            (
                "warn: the key cpu_hugepage_block_size of SimpleCPUOffloadConnector is not read by "
                "vLLM 0.33.0"
            ),
        ],
    ),
    Case("CONNECTOR_KEY", "unknown", "a newer release", situation(HUGE, vllm="0.34.0"), []),
    Case("BACKEND_UNKNOWN", "pass", "known", situation("--attention-backend flashinfer"), []),
    Case(
        "BACKEND_UNKNOWN", "pass", "a class", situation("--attention-backend my.own.Backend"), None
    ),
    Case("BACKEND_UNKNOWN", "pass", "none named", situation(""), None),
    Case(
        "BACKEND_UNKNOWN",
        "found",
        "of the draft",
        situation(TS),
        [
            (
                "fail: the attention backend FLASHINFER_TS of --speculative-config is unknown to "
                "vLLM 0.33.0"
            ),
        ],
    ),
    Case(
        "BACKEND_UNKNOWN",
        "found",
        "of a kind of layers",
        situation(["--attention-config", '{"backend_per_kind":{"mla":"NEW_MLA"}}']),
        [
            "fail: the attention backend NEW_MLA of --attention-config is unknown to vLLM 0.33.0",
        ],
    ),
    Case(
        "BACKEND_UNKNOWN",
        "unknown",
        "a custom image",
        situation(TS, runtime="docker", image="vllm/vllm-openai:minimax-m31-flash"),
        [
            (
                "note: the attention backend FLASHINFER_TS of --speculative-config is unknown to "
                "vLLM 0.33.0"
            ),
        ],
    ),
    Case(
        "CONNECTOR_UNKNOWN", "pass", "known", situation(transfer(**connector("NixlConnector"))), []
    ),
    Case(
        "CONNECTOR_UNKNOWN",
        "pass",
        "of another package",
        situation(transfer(**connector("Mine"), kv_connector_module_path="mine")),
        None,
    ),
    Case(
        "CONNECTOR_UNKNOWN",
        "found",
        "misspelt",
        situation(transfer(**connector("NixlConector")), source=OPERATOR),
        ["fail: the KV connector NixlConector of --kv-transfer-config is unknown to vLLM 0.33.0"],
    ),
    Case(
        "CONNECTOR_UNKNOWN",
        "found",
        "not yet",
        situation(transfer(**connector("HiSparseConnector")), vllm="0.29.0"),
        [
            (
                "fail: the KV connector HiSparseConnector of --kv-transfer-config is unknown to "
                "vLLM 0.29.0"
            ),
        ],
    ),
    Case(
        "CONNECTOR_UNKNOWN",
        "unknown",
        "no table",
        situation(transfer(**connector("X")), known=None),
        None,
    ),
    Case(
        "PARSER_UNKNOWN",
        "pass",
        "known",
        situation("--tool-call-parser minimax_m3 --reasoning-parser none"),
        [],
    ),
    Case(
        "PARSER_UNKNOWN",
        "pass",
        "a plugin's",
        situation("--tool-call-parser mine --tool-parser-plugin mine.py"),
        None,
    ),
    Case(
        "PARSER_UNKNOWN",
        "found",
        "misspelt",
        situation("--tool-call-parser minimax-m3 --reasoning-parser minimax_m4", source=OPERATOR),
        [
            "fail: the tool call parser minimax-m3 of --tool-call-parser is unknown to vLLM 0.33.0",
            "fail: the reasoning parser minimax_m4 of --reasoning-parser is unknown to vLLM 0.33.0",
        ],
    ),
    Case(
        "PARSER_UNKNOWN",
        "unknown",
        "between two releases, one of which has it",
        situation("--tool-call-parser hy_v4", vllm="0.28.1"),
        [],
    ),
    Case("BLOCK_SIZE", "pass", "kept", situation("--block-size 128", of=MANDATORY), []),
    Case(
        "BLOCK_SIZE", "pass", "in another spelling", situation("--block_size 128", of=MANDATORY), []
    ),
    Case(
        "BLOCK_SIZE",
        "pass",
        "a key, kept",
        situation("--attention_config.backend FLASHINFER", of=MANDATORY_KEY),
        [],
    ),
    Case(
        "BLOCK_SIZE",
        "found",
        "a switch, thrown back",
        situation(
            "--disable-hybrid-kv-cache-manager --no-disable-hybrid-kv-cache-manager",
            of=MANDATORY_SWITCH,
        ),
        [
            (
                "fail: --disable-hybrid-kv-cache-manager needed by this model, found "
                "--disable-hybrid-kv-cache-manager switched off"
            )
        ],
    ),
    Case("BLOCK_SIZE", "pass", "none mandatory", situation("--block-size 16"), None),
    Case(
        "BLOCK_SIZE",
        "found",
        "replaced",
        situation("--block-size 16", of=MANDATORY, source=OPERATOR),
        ["fail: --block-size 128 needed by this model, found --block-size 16"],
    ),
    Case(
        "BLOCK_SIZE",
        "found",
        "taken away",
        situation("", of=MANDATORY),
        ["fail: --block-size 128 needed by this model, found none"],
    ),
    Case(
        "BLOCK_SIZE",
        "unknown",
        "written otherwise",
        situation("--block_size=128", of=MANDATORY),
        [],
    ),
    Case("ARG_DEPRECATED", "pass", "none", situation("--port 80"), []),
    Case("ARG_DEPRECATED", "pass", "not yet", situation("--log-config-file x", vllm="0.30.0"), []),
    Case(
        "ARG_DEPRECATED",
        "found",
        "of this release",
        situation("--log-config-file x"),
        [
            (
                "note: --log-config-file is deprecated in vLLM 0.33.0: use "
                "--logging-config.pylogging_config_file"
            ),
        ],
    ),
    Case("ARG_DEPRECATED", "unknown", "no table", situation("", known=None), None),
    Case(
        "ARG_CONFLICT",
        "pass",
        "none",
        situation("--enable-auto-tool-choice --tool-call-parser hermes"),
        [],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "tool choice without a parser",
        situation("--enable-auto-tool-choice"),
        ["fail: --enable-auto-tool-choice needs --tool-call-parser, which is not given"],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "on and off",
        situation("--enable-prefix-caching --no-enable-prefix-caching"),
        ["warn: --enable-prefix-caching and --no-enable-prefix-caching are both given"],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "on and off in newer words",
        situation("--enable-prefix-caching --disable-prefix-caching"),
        ["warn: --enable-prefix-caching and --disable-prefix-caching are both given"],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "JSON and keys",
        situation([*DECODE_CP, "--attention-config.backend", "FLASHINFER"]),
        [
            "warn: --attention-config is given as JSON and by key (--attention-config.backend)",
        ],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "sizes",
        situation("-tp 3 --nnodes 2 --node-rank 2"),
        [
            "fail: 3 ranks cannot be spread evenly over 2 nodes",
            "fail: --node-rank 2 is outside 0 to 1",
        ],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "ranks here and in all",
        situation("--data-parallel-size 2 --data-parallel-size-local 4"),
        ["fail: 4 data parallel ranks on this node, 2 in all"],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "tokens of a step",
        situation(
            "--max-num-batched-tokens 64 --max-num-seqs 128 --max-model-len 4096 "
            "--no-enable-chunked-prefill"
        ),
        [
            "fail: --max-num-batched-tokens 64 is less than --max-num-seqs 128",
            (
                "fail: --max-num-batched-tokens 64 is less than --max-model-len 4096, without "
                "chunked prefill"
            ),
        ],
    ),
    Case(
        "ARG_CONFLICT",
        "pass",
        "tokens of a step that just do",
        situation(
            "--max-num-batched-tokens 64 --max-num-seqs 64 --max-model-len 64 "
            "--no-enable-chunked-prefill"
        ),
        [],
    ),
    Case(
        "ARG_CONFLICT",
        "found",
        "the rest",
        situation(
            "--enable-log-outputs --data-parallel-hybrid-lb --data-parallel-external-lb "
            "--headless --api-server-count 2 --numa-bind-nodes 0 --kv-offloading-size 4 "
            + transfer(**connector("NixlConnector"))
        ),
        [
            "fail: --enable-log-outputs needs --enable-log-requests, which is off",
            "fail: --data-parallel-hybrid-lb and --data-parallel-external-lb exclude each other",
            "fail: --api-server-count is given to a --headless node, which has no API server",
            "fail: --numa-bind-nodes needs --numa-bind, which is off",
            "warn: --kv-offloading-size and --kv-transfer-config are both given",
        ],
    ),
    Case(
        "ARG_CONFLICT",
        "unknown",
        "figures that are not filled in",
        situation("-tp $N --nnodes 2 --max-num-batched-tokens $B --max-num-seqs 8 -tp 2"),
        [],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


def test_what_a_recipe_is_ahead_of() -> None:
    plan = situation(DECODE_CP, of=AHEAD, image="vllm/vllm-openai-rocm:nightly")
    one = only(plan, "CONFIG_KEY")
    assert one.why == "No release from 0.24.0 to 0.33.0 has it. The server does not start."
    assert one.remedy == (
        "Use the recipe's image vllm/vllm-openai-rocm:nightly (--runtime docker), "
        "or a nightly build of vLLM."
    )
    assert one.command == "docker pull vllm/vllm-openai-rocm:nightly"
    assert one.cause == "--attention-config"
    assert str(one.source) == "recipe.yaml:7  model.base_args"


def test_what_a_recipe_without_an_image_is_ahead_of() -> None:
    one = only(situation(DECODE_CP, of=AHEAD, image=None), "CONFIG_KEY")
    assert (one.remedy, one.command) == ("Use a nightly build of vLLM.", "")


def test_an_image_of_the_operators_is_in_the_way() -> None:
    plan = situation(
        DECODE_CP,
        of=AHEAD,
        runtime="docker",
        image="vllm/vllm-openai:v0.33.0",
        image_source=OPERATOR,
    )
    one = only(plan, "CONFIG_KEY")
    assert one.severity == "fail"
    assert one.remedy == (
        "Leave --image out, so that the recipe's image is used, or take a nightly one."
    )
    assert one.command == ""


@pytest.mark.parametrize(
    ("command", "vllm", "why", "remedy"),
    [
        (
            "--override-attention-dtype x",
            "0.33.0",
            "It is gone since 0.28.0, 0.27.1 had it last. The server does not start.",
            "Leave it out: nothing takes its place.",
        ),
        (
            "--monokernel",
            "0.31.0",
            "It comes with 0.33.0. The server does not start.",
            "Use vLLM 0.33.0 or newer.",
        ),
        (
            "--swap-space 4",
            "0.33.0",
            "No release from 0.24.0 to 0.33.0 has it. The server does not start.",
            "Use --kv-offloading-size instead.",
        ),
        (
            "--max-model-length 4",
            "0.33.0",
            "No release from 0.24.0 to 0.33.0 has it. The server does not start.",
            "Did you mean --max-model-len?",
        ),
        (
            "--zzzz 4",
            "0.33.0",
            "No release from 0.24.0 to 0.33.0 has it. The server does not start.",
            "Leave it out.",
        ),
        (
            "--enable-mamba-fine-grained-prefix-cache",
            "0.31.0",
            "It is gone since 0.31.0, 0.30.0 had it last. The server does not start.",
            "Use --enable-mamba-shared-prefix-checkpoint instead.",
        ),
        (
            "--disable-log-requests",
            "0.32.0",
            "It comes with 0.33.0. The server does not start.",
            "Use --no-enable-log-requests instead.",
        ),
    ],
)
def test_since_when_and_what_instead(command: str, vllm: str, why: str, remedy: str) -> None:
    one = only(situation(command, vllm=vllm, source=OPERATOR), "FLAG_UNKNOWN")
    assert (one.why, one.remedy) == (why, remedy)


def test_a_note_says_what_it_is_not_sure_of() -> None:
    one = only(situation(DECODE_CP, **NIGHTLY), "CONFIG_KEY")
    assert one.why == (
        "No release from 0.24.0 to 0.33.0 has it. Where the vLLM that runs lacks it too, the "
        "server does not start."
    )


def test_the_right_form_of_a_switch() -> None:
    def remedy(command: str) -> str:
        return only(situation(command), "BOOL_FALSE").remedy

    assert remedy("--enable-prefix-caching false") == "Write --no-enable-prefix-caching alone."
    assert remedy("--enable-prefix-caching true") == "Write --enable-prefix-caching alone."
    assert remedy("--no-enable-prefix-caching 0") == "Write --enable-prefix-caching alone."
    assert remedy("--no-enable-prefix-caching on") == "Write --no-enable-prefix-caching alone."
    assert remedy("--disable-expert-parallel=false") == "Write --enable-expert-parallel alone."
    assert remedy("-ep no") == "Write --no-enable-expert-parallel alone."
    assert remedy("--headless true") == "Write --headless alone."
    assert remedy("--headless false") == "Leave --headless out."


def test_every_key_of_a_class_is_known_to_its_release() -> None:
    keys = json.dumps(dict.fromkeys(("mode", "cudagraph_mode", "pass_config"), None))
    for vllm in ("0.24.0", "0.28.0", "0.33.0"):
        assert findings(situation(["-cc", keys], vllm=vllm), "CONFIG_KEY") == []


def test_arguments_as_vllm_reads_them() -> None:
    plan = situation(
        "--max_model_len=8k -tp 2 --seed -1 -ac.backend X --x --no-enable-dbo --enable-dbo"
    ).process
    found = [(one.flag, one.key, one.values) for one in arguments(plan)]
    assert found == [
        ("--max-model-len", "", ("8k",)),
        ("--tensor-parallel-size", "", ("2",)),
        ("--seed", "", ("-1",)),
        ("--attention-config", "backend", ("X",)),
        ("--x", "", ()),
        ("--no-enable-dbo", "", ()),
        ("--enable-dbo", "", ()),
    ]
    assert value(plan, "--max-model-len") == "8k"
    assert value(plan, "--x") is None
    assert number(plan, "--seed", 0) == -1
    assert number(plan, "--max-model-len", 5) == 5
    assert is_on(plan, "--enable-dbo")
    assert config(plan, "--attention-config") == {"backend": "X"}


def test_the_last_of_several_counts() -> None:
    plan = situation("-tp 2 --tensor-parallel-size 4 --enable-dbo --disable-dbo").process
    assert number(plan, "--tensor-parallel-size") == 4
    assert not is_on(plan, "--enable-dbo")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"a":1}', {"a": 1}),
        ('{"a":1k}', {"a": 1000}),
        ('{"a":2M,"b":"3M"}', {"a": 2 << 20, "b": "3M"}),
        ('{"a":1.5g}', {"a": 1_500_000_000}),
        ("[1, 2K]", [1, 2048]),
    ],
)
def test_json_as_vllm_reads_it(text: str, read: object) -> None:
    assert loads(text) == read


@pytest.mark.parametrize("text", ["", "{", "{a:1}", "{'a':1}", "1kk", "[" * 100_000])
def test_json_that_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever the reader says
        loads(text)


@pytest.mark.parametrize(
    ("runtime", "remedy"),
    [("native", "Use a nightly build of vLLM."), ("docker", "Take a nightly image.")],
)
def test_an_image_of_a_release_has_nothing_that_no_release_has(runtime: str, remedy: str) -> None:
    plan = situation(DECODE_CP, of=AHEAD, image="vllm/vllm-openai:v0.33.0", runtime=runtime)
    one = only(plan, "CONFIG_KEY")
    assert (one.remedy, one.command) == (remedy, "")
