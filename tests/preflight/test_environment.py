"""Variables, placeholders, secrets, masks."""

from __future__ import annotations

import pytest

from tests.preflight.build import OPERATOR, Case, gpu, host, only, situation, told

SP = {"VLLM_ROCM_MINIMAX_M3_SP_PREFILL": "1"}
NIGHTLY = {"runtime": "docker", "image": "vllm/vllm-openai-rocm:nightly"}
STRICT = "--fail-on-environ-validation"
CUDA, HIP = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"


def masked(text: str) -> dict[str, str]:
    return {CUDA: text}


CASES = [
    Case("ENV_UNKNOWN", "pass", "known", situation("", {"VLLM_USE_V2_MODEL_RUNNER": "1"}), []),
    Case("ENV_UNKNOWN", "pass", "not vLLM's", situation("", {"NCCL_DEBUG": "INFO"}), None),
    Case(
        "ENV_UNKNOWN",
        "pass",
        "ours, and of packages that extend vLLM",
        situation("", {"VLLM_LAUNCH_TP": "4", "VLLM_ASCEND_X": "1"}),
        None,
    ),
    Case(
        "ENV_UNKNOWN",
        "found",
        "ahead of the release",
        situation("", SP),
        ["warn: the variable VLLM_ROCM_MINIMAX_M3_SP_PREFILL is unknown to vLLM 0.33.0"],
    ),
    Case(
        "ENV_UNKNOWN",
        "found",
        "and the server checks",
        situation(STRICT, SP),
        ["fail: the variable VLLM_ROCM_MINIMAX_M3_SP_PREFILL is unknown to vLLM 0.33.0"],
    ),
    Case(
        "ENV_UNKNOWN",
        "found",
        "around it",
        situation("", vllm_variables=("VLLM_ATTENTION_BACKEND",)),
        [
            (
                "warn: the variable VLLM_ATTENTION_BACKEND (of this environment) is unknown to "
                "vLLM 0.33.0"
            ),
        ],
    ),
    Case(
        "ENV_UNKNOWN",
        "pass",
        "a container does not inherit",
        situation("", runtime="docker", vllm_variables=("VLLM_ATTENTION_BACKEND",)),
        None,
    ),
    Case(
        "ENV_UNKNOWN",
        "unknown",
        "a nightly image",
        situation("", SP, **NIGHTLY),
        ["note: the variable VLLM_ROCM_MINIMAX_M3_SP_PREFILL is unknown to vLLM 0.33.0"],
    ),
    Case("ENV_UNKNOWN", "unknown", "no table", situation("", SP, known=None), None),
    Case("PLACEHOLDER", "pass", "none", situation("--host 10.0.0.1"), []),
    Case(
        "PLACEHOLDER",
        "found",
        "in arguments and variables",
        situation(
            "--master-addr $HEAD_IP --data-parallel-rpc-port ${RPC_PORT}",
            {"VLLM_NIXL_SIDE_CHANNEL_HOST": "$PREFILL_NODE_1", "X": "$HEAD_IP"},
        ),
        [
            (
                "fail: not filled in: $HEAD_IP (--master-addr), $RPC_PORT "
                "(--data-parallel-rpc-port), $PREFILL_NODE_1 (VLLM_NIXL_SIDE_CHANNEL_HOST)"
            ),
        ],
    ),
    Case(
        "PLACEHOLDER",
        "found",
        "joined and in JSON",
        situation(["--host=$HOST_IP", "--kv-transfer-config", '{"kv_ip":"$OWN_IP"}']),
        ["fail: not filled in: $HOST_IP (--host), $OWN_IP (--kv-transfer-config)"],
    ),
    Case(
        "PLACEHOLDER", "unknown", "dollars that are none", situation("--x $5 --y a$b --z $home"), []
    ),
    Case("TILDE", "pass", "written out", situation("--download-dir /home/me/models"), []),
    Case(
        "TILDE",
        "found",
        "left",
        situation("--download-dir ~/models", {"HF_HOME": "~/hf"}),
        [
            "fail: --download-dir is ~/models, with a ~ that nothing expands",
            "fail: HF_HOME is ~/hf, with a ~ that nothing expands",
        ],
    ),
    Case("TILDE", "unknown", "tildes that are none", situation("--x a~b --y ~user/z"), []),
    Case("TOKEN_ARGV", "pass", "none", situation("--port 80", {"NCCL_DEBUG": "INFO"}), []),
    Case("TOKEN_ARGV", "pass", "a saved token by its flag", situation("--hf-token"), []),
    Case(
        "TOKEN_ARGV",
        "found",
        "a key",
        situation("--api-key sk-1"),
        ["fail: --api-key stands in the command with its value"],
    ),
    Case(
        "TOKEN_ARGV",
        "found",
        "a variable",
        situation("", {"HF_TOKEN": "hf_1"}),
        ["fail: the plan holds the value of HF_TOKEN"],
    ),
    Case(
        "TOKEN_ARGV",
        "unknown",
        "words like it",
        situation("", {"TOKENIZERS_PARALLELISM": "false", "MY_TOKEN": "$MY_TOKEN"}),
        [],
    ),
    Case("MASK", "pass", "no mask", situation(""), []),
    Case("MASK", "pass", "the same", situation("", masked("0,1"), variables=((CUDA, "0,1"),)), []),
    Case(
        "MASK",
        "pass",
        "the operator's own",
        situation("", masked("2,3"), source=OPERATOR, variables=((CUDA, "0,1"),)),
        [],
    ),
    Case(
        "MASK",
        "found",
        "replaced",
        situation("", masked("0,1,2,3"), variables=((CUDA, "4,5,6,7"),)),
        ["warn: CUDA_VISIBLE_DEVICES is 4,5,6,7 here, and the plan makes it 0,1,2,3"],
    ),
    Case(
        "MASK",
        "found",
        "two that differ on AMD",
        situation("", masked("0,1"), hardware="mi355x", variables=((HIP, "2,3"),)),
        ["fail: HIP_VISIBLE_DEVICES is 2,3, CUDA_VISIBLE_DEVICES is 0,1"],
    ),
    Case(
        "MASK",
        "found",
        "counted twice on AMD",
        situation(
            "", masked("0,1"), hardware="mi355x", variables=(("ROCR_VISIBLE_DEVICES", "4,5"),)
        ),
        ["warn: ROCR_VISIBLE_DEVICES is 4,5, and 0,1 is masked on top of it"],
    ),
    Case(
        "MASK",
        "unknown",
        "empty ones",
        situation("", hardware="mi355x", variables=((HIP, ""), (CUDA, ""))),
        [],
    ),
    Case("CVD_UUID", "pass", "numbers", situation("", masked("0,1")), []),
    Case("CVD_UUID", "pass", "no mask", situation(""), None),
    Case(
        "CVD_UUID",
        "found",
        "a UUID",
        situation("", masked("GPU-00000001"), facts=host()),
        ["warn: the device mask names GPU-00000001, a number is expected"],
    ),
    Case(
        "CVD_UUID",
        "found",
        "UUIDs where a GPU is lost",
        situation(
            "", masked("GPU-00000001"), facts=host(gpu(0, fault="GPU is lost"), gpu(1), gpu(2))
        ),
        ["note: the device mask names UUIDs, as GPU 0 cannot be used"],
    ),
    Case(
        "CVD_UUID",
        "found",
        "a UUID on AMD",
        situation("", masked("GPU-00000001"), hardware="mi355x"),
        ["fail: the device mask names GPU-00000001, a number is expected"],
    ),
    Case(
        "CVD_UUID",
        "found",
        "a MIG instance",
        situation("", masked("MIG-1234")),
        ["warn: the device mask names the MIG instance MIG-1234"],
    ),
    Case(
        "CVD_UUID",
        "found",
        "MIG instances for several ranks",
        situation("-tp 2", variables=((CUDA, "MIG-1,MIG-2"),)),
        ["fail: the device mask names the MIG instance MIG-1, and the plan has 2 ranks"],
    ),
    Case("CVD_UUID", "unknown", "not filled in", situation("", masked("$GPUS")), []),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    assert told(case.situation, case.code) == case.told


def test_what_to_give_for_a_placeholder() -> None:
    one = only(situation("--master-addr $HEAD_IP"), "PLACEHOLDER")
    assert one.remedy == "Give --endpoint HEAD_IP=…."
    assert one.cause == "--master-addr"


def test_no_secret_is_told() -> None:
    for plan in (situation("--api-key sk-12345"), situation("", {"HF_TOKEN": "hf_12345"})):
        assert "12345" not in repr(only(plan, "TOKEN_ARGV"))


def test_what_took_a_variables_place() -> None:
    one = only(situation("", {"VLLM_ROCM_MONO_DECODE": "1"}), "ENV_UNKNOWN")
    assert one.why == (
        "It is gone since 0.33.0, 0.32.0 had it last. The server warns and ignores it."
    )
    assert one.remedy == "Use --monokernel instead."


def test_the_plans_own_mask_is_kept_on_amd() -> None:
    plan = situation("", masked("0,1"), hardware="mi355x", variables=((HIP, "2,3"),))
    assert only(plan, "MASK").command == "unset HIP_VISIBLE_DEVICES"
