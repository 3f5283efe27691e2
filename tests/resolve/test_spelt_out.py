"""Commands of the published serving pages, spelt out by hand.

Not written by any script: what stands here was read off the pages, word for word. Where a
page gives flags in another order than the merge order, the order here is the latter.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.resolve.build import M3, M31, own
from vllm_launch.batch import answers


def answer(recipe: str, **given: Any) -> dict[str, Any]:
    """A batch answer."""
    (line,) = answers([json.dumps({"recipe": recipe, "input": given})], own)
    found: dict[str, Any] = json.loads(line)
    return found


def words(text: str) -> list[str]:
    """A command written over several lines."""
    return shlex.split(text)


DSPARK_BLACKWELL = (
    '{"method":"dspark","num_speculative_tokens":7,"attention_backend":"FLASHINFER_TS",'
    '"kv_cache_dtype":"fp8","draft_sample_method":"probabilistic",'
    '"rejection_sample_method":"block"}'
)
DSPARK_AMD = (
    '{"method":"dspark","num_speculative_tokens":3,"attention_backend":"TRITON_ATTN",'
    '"kv_cache_dtype":"fp8","draft_sample_method":"probabilistic"}'
)


class TestFlashOnB300:
    """MiniMax-M3.1-Flash on eight B300: the page's own rendered command."""

    @staticmethod
    def plan() -> dict[str, Any]:
        return answer(M31, hardware="b300", variant="default", strategy="single_node_tp")

    ARGUMENTS = f"""
        --block-size 128
        --disable-hybrid-kv-cache-manager
        --tensor-parallel-size 8
        --kv-cache-dtype nvfp4
        --attention-config '{{"indexer_kv_dtype": "nvfp4", "use_prefill_query_quantization": true}}'
        --compilation-config '{{"cudagraph_mode": "FULL_AND_PIECEWISE"}}'
        --tool-call-parser minimax_m3
        --enable-auto-tool-choice
        --reasoning-parser minimax_m3
        --speculative-config '{DSPARK_BLACKWELL}'
    """

    def test_the_command(self) -> None:
        (server,) = self.plan()["processes"]
        assert server["argv"] == words(f"vllm serve MiniMaxAI/MiniMax-M3.1-Flash {self.ARGUMENTS}")

    def test_the_environment(self) -> None:
        assert self.plan()["processes"][0]["env"] == {"VLLM_FLOAT32_MATMUL_PRECISION": "high"}

    def test_the_docker_command(self) -> None:
        assert self.plan()["processes"][0]["docker_argv"] == words(
            f"""
            docker run --gpus all
            --privileged --ipc=host -p 8000:8000
            -v '~/.cache/huggingface:/root/.cache/huggingface'
            -e VLLM_FLOAT32_MATMUL_PRECISION=high
            vllm/vllm-openai:minimax-m31-flash MiniMaxAI/MiniMax-M3.1-Flash
            {self.ARGUMENTS}
            """
        )

    def test_the_rest_of_the_plan(self) -> None:
        rest = {key: value for key, value in self.plan().items() if key != "processes"}
        assert rest == {
            "deploy_type": "single_node",
            "hardware": "b300",
            "variant": "default",
            "strategy": "single_node_tp",
            "nodes": 1,
            "image": "vllm/vllm-openai:minimax-m31-flash",
            "router": None,
            "companions": [],
        }

    def test_it_is_what_is_chosen_for_b300(self) -> None:
        assert answer(M31, hardware="b300") == self.plan()


class TestFlashOnMi355x:
    """MiniMax-M3.1-Flash on MI355X: TP4, and prefill and decode as TP4 + TP4."""

    ENV = {  # noqa: RUF012 - compared, never changed
        "VLLM_ROCM_USE_AITER": "1",
        "VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS": "1",
    }
    FEATURES = f"""
        --tool-call-parser minimax_m3
        --enable-auto-tool-choice
        --reasoning-parser minimax_m3
        --speculative-config '{DSPARK_AMD}'
    """
    TP4 = f"""
        vllm serve MiniMaxAI/MiniMax-M3.1-Flash
        --block-size 128
        --disable-hybrid-kv-cache-manager
        --tensor-parallel-size 4
        --kv-cache-dtype nvfp4
        --attention-config '{{"indexer_kv_dtype": "nvfp4", "indexer_decode_cp": true}}'
        --quantization-config.moe mxfp8
        {FEATURES}
    """

    def test_one_node(self) -> None:
        (server,) = answer(M31, hardware="mi355x")["processes"]
        assert server["argv"] == words(self.TP4)
        assert server["env"] == self.ENV

    def test_dbo_and_sp_prefill(self) -> None:
        names = ("tool_calling", "reasoning", "spec_decoding", "prefill_dbo_sp")
        (server,) = answer(M31, hardware="mi355x", features=dict.fromkeys(names, True))["processes"]
        assert server["argv"] == words(
            f"""{self.TP4} --enable-dbo
            --dbo-prefill-token-threshold 16384
            --dbo-decode-token-threshold 32768
            """
        )
        assert server["env"] == {
            **self.ENV,
            "VLLM_USE_V2_MODEL_RUNNER": "1",
            "VLLM_ROCM_MINIMAX_M3_SP_PREFILL": "1",
        }

    def test_prefill(self) -> None:
        prefill, _ = answer(M31, hardware="mi355x", strategy="pd_cluster")["processes"]
        assert (prefill["role"], prefill["rank"]) == ("prefill", 0)
        assert prefill["argv"] == words(
            f"""
            vllm serve MiniMaxAI/MiniMax-M3.1-Flash
            --block-size 128
            --disable-hybrid-kv-cache-manager
            --tensor-parallel-size 4
            --port 8100
            --kv-cache-dtype nvfp4
            --quantization-config.moe mxfp8
            --attention-config '{{"indexer_kv_dtype": "nvfp4"}}'
            --max-num-batched-tokens 32768
            --kv-transfer-config '{{"kv_connector":"MultiConnector","kv_role":"kv_both","""
            """"kv_connector_extra_config":{"connectors":["""
            """{"kv_connector":"NixlConnector","kv_role":"kv_producer","""
            """"kv_connector_extra_config":{"num_threads":4}},"""
            """{"kv_connector":"SimpleCPUOffloadConnector","kv_role":"kv_both","""
            """"kv_connector_extra_config":{"cpu_bytes_to_use_per_rank":601295421440,"""
            """"cpu_hugepage_block_size":"1GB","lazy_offload":false}}]}}'"""
            f"{self.FEATURES}"
        )
        assert prefill["env"] == {
            "VLLM_NIXL_SIDE_CHANNEL_PORT": "5557",
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "$PREFILL_NODE_1",
            "CUDA_VISIBLE_DEVICES": "0,1,2,3",
            **self.ENV,
            "VLLM_KV_CACHE_LAYOUT": "BLHNC",
        }

    def test_decode(self) -> None:
        _, decode = answer(M31, hardware="mi355x", strategy="pd_cluster")["processes"]
        assert (decode["role"], decode["rank"]) == ("decode", 0)
        # The strategy adds the compilation mode, which the page does not have on MI355X.
        assert decode["argv"] == words(
            f"""
            vllm serve MiniMaxAI/MiniMax-M3.1-Flash
            --block-size 128
            --disable-hybrid-kv-cache-manager
            --compilation-config '{{"cudagraph_mode":"FULL_DECODE_ONLY"}}'
            --tensor-parallel-size 4
            --port 8200
            --kv-cache-dtype nvfp4
            --attention-config '{{"indexer_kv_dtype": "nvfp4", "indexer_decode_cp": true}}'
            --quantization-config.moe mxfp8
            --kv-transfer-config '{{"kv_connector":"NixlConnector","kv_role":"kv_consumer","""
            """"kv_connector_extra_config":{"num_threads":4}}'"""
            f"{self.FEATURES}"
        )
        assert decode["env"] == {
            "VLLM_NIXL_SIDE_CHANNEL_PORT": "5558",
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "$DECODE_NODE_1",
            "CUDA_VISIBLE_DEVICES": "0,1,2,3",
            **self.ENV,
            "VLLM_KV_CACHE_LAYOUT": "BLHNC",
        }

    def test_containers(self) -> None:
        plan = answer(M31, hardware="mi355x", strategy="pd_cluster")
        assert plan["image"] == "vllm/vllm-openai-rocm:nightly"
        prefill, decode = (process["docker_argv"] for process in plan["processes"])
        devices = words(
            """
            docker run --device=/dev/kfd --device=/dev/dri --security-opt seccomp=unconfined
            --group-add video --privileged --ipc=host
            """
        )
        assert prefill[: len(devices) + 2] == [*devices, "-p", "8100:8100"]
        assert decode[: len(devices) + 2] == [*devices, "-p", "8200:8200"]


class TestFlashOnGb300:
    """MiniMax-M3.1-Flash, DEP2 prefill on one tray and DEP4 decode on another."""

    @staticmethod
    def plan() -> dict[str, Any]:
        return answer(M31, hardware="gb300", strategy="pd_cluster")

    FEATURES = f"""
        --tool-call-parser minimax_m3
        --enable-auto-tool-choice
        --reasoning-parser minimax_m3
        --speculative-config '{DSPARK_BLACKWELL}'
    """
    ENV = {  # noqa: RUF012 - compared, never changed
        "VLLM_FLOAT32_MATMUL_PRECISION": "high",
        "VLLM_USE_V2_MODEL_RUNNER": "1",
        "VLLM_ENGINE_READY_TIMEOUT_S": "3600",
    }

    def test_prefill(self) -> None:
        prefill, _ = self.plan()["processes"]
        assert prefill["argv"] == words(
            f"""
            vllm serve MiniMaxAI/MiniMax-M3.1-Flash
            --block-size 128
            --disable-hybrid-kv-cache-manager
            --data-parallel-size 2
            --data-parallel-size-local 2
            --data-parallel-start-rank 0
            --data-parallel-address $PREFILL_NODE_1
            --data-parallel-rpc-port $PREFILL_DP_RPC_PORT
            --enable-expert-parallel
            --port 8100
            --kv-cache-dtype nvfp4
            --attention-config
                '{{"indexer_kv_dtype": "nvfp4", "use_prefill_query_quantization": true}}'
            --compilation-config '{{"cudagraph_mode": "FULL_AND_PIECEWISE"}}'
            --moe-backend deep_gemm_mega_moe
            --numa-bind
            --max-num-seqs 64
            --max-num-batched-tokens 32768
            --long-prefill-token-threshold 8192
            --gpu-memory-utilization 0.9
            --enable-prefix-caching
            --kv-transfer-config '{{"kv_connector":"NixlConnector","kv_role":"kv_producer","""
            """"kv_load_failure_policy":"fail","kv_connector_extra_config":{"engine_ttl":0}}'"""
            f"{self.FEATURES}"
        )
        # One NVLink domain: what concerns it stays.
        assert prefill["env"] == {
            "NCCL_CUMEM_ENABLE": "1",
            "NCCL_MNNVL_ENABLE": "1",
            "NCCL_NVLS_ENABLE": "1",
            "UCX_NET_DEVICES": "all",
            "VLLM_NIXL_SIDE_CHANNEL_PORT": "5557",
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "$PREFILL_NODE_1",
            "CUDA_VISIBLE_DEVICES": "0,1",
            **self.ENV,
        }

    def test_decode(self) -> None:
        _, decode = self.plan()["processes"]
        assert decode["argv"] == words(
            f"""
            vllm serve MiniMaxAI/MiniMax-M3.1-Flash
            --block-size 128
            --disable-hybrid-kv-cache-manager
            --data-parallel-size 4
            --data-parallel-size-local 4
            --data-parallel-start-rank 0
            --data-parallel-address $DECODE_NODE_1
            --data-parallel-rpc-port $DECODE_DP_RPC_PORT
            --enable-expert-parallel
            --port 8200
            --kv-cache-dtype nvfp4
            --attention-config
                '{{"indexer_kv_dtype": "nvfp4", "use_prefill_query_quantization": true}}'
            --moe-backend deep_gemm_mega_moe
            --numa-bind
            --compilation-config
                '{{"cudagraph_mode": "FULL_DECODE_ONLY", "max_cudagraph_capture_size": 224}}'
            --max-num-seqs 28
            --max-num-batched-tokens 8192
            --gpu-memory-utilization 0.95
            --watermark 0.05
            --no-enable-prefix-caching
            --kv-transfer-config '{{"kv_connector":"NixlConnector","kv_role":"kv_consumer","""
            """"kv_load_failure_policy":"fail","kv_connector_extra_config":{"engine_ttl":0}}'"""
            f"{self.FEATURES}"
        )
        assert decode["env"] == {
            "VLLM_NIXL_SIDE_CHANNEL_PORT": "5558",
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "$DECODE_NODE_1",
            "CUDA_VISIBLE_DEVICES": "0,1,2,3",
            **self.ENV,
        }

    def test_the_router(self) -> None:
        assert self.plan()["router"] == (
            "vllm-router --policy round_robin \\\n"
            "    --vllm-pd-disaggregation \\\n"
            "    --prefill http://$PREFILL_NODE_1:8100 \\\n"
            "    --decode http://$DECODE_NODE_1:8200 \\\n"
            "    --host $ROUTER_HOST \\\n"
            "    --port $ROUTER_PORT \\\n"
            "    --intra-node-data-parallel-size 4"
        )

    def test_gb200_uses_the_same_commands(self) -> None:
        other = answer(M31, hardware="gb200", strategy="pd_cluster")
        assert [(p["argv"], p["env"]) for p in other["processes"]] == [
            (p["argv"], p["env"]) for p in self.plan()["processes"]
        ]


class TestFlashOnHopper:
    """MiniMax-M3.1-Flash on H200 and H100: variant fp8, TP8."""

    @pytest.mark.parametrize("hardware", ["h200", "h100"])
    def test_one_node(self, hardware: str) -> None:
        plan = answer(M31, hardware=hardware)
        assert plan["variant"] == "fp8"
        (server,) = plan["processes"]
        assert server["argv"] == words(
            """
            vllm serve MiniMaxAI/MiniMax-M3.1-Flash
            --block-size 128
            --disable-hybrid-kv-cache-manager
            --kv-cache-dtype fp8
            --attention-config '{"indexer_kv_dtype": "fp8"}'
            --compilation-config '{"cudagraph_mode": "FULL_AND_PIECEWISE"}'
            --max-model-len 262144
            --max-num-seqs 80
            --limit-mm-per-prompt '{"video": 0}'
            --gpu-memory-utilization 0.9
            --no-enable-log-requests
            --moe-backend marlin
            --tensor-parallel-size 8
            --tool-call-parser minimax_m3
            --enable-auto-tool-choice
            --reasoning-parser minimax_m3
            """
        )
        assert server["env"] == {}


def test_flash_on_one_gb200_tray() -> None:
    (server,) = answer(M31, hardware="gb200")["processes"]
    assert server["argv"] == words(
        f"""
        vllm serve MiniMaxAI/MiniMax-M3.1-Flash
        --block-size 128
        --disable-hybrid-kv-cache-manager
        --tensor-parallel-size 4
        --kv-cache-dtype nvfp4
        --attention-config '{{"indexer_kv_dtype": "nvfp4", "use_prefill_query_quantization": true}}'
        --compilation-config '{{"cudagraph_mode": "FULL_AND_PIECEWISE"}}'
        --max-num-seqs 256
        --tool-call-parser minimax_m3
        --enable-auto-tool-choice
        --reasoning-parser minimax_m3
        --speculative-config '{DSPARK_BLACKWELL}'
        """
    )
    assert server["env"] == {"VLLM_FLOAT32_MATMUL_PRECISION": "high"}


def test_m3s_agentx_point_on_mi355x() -> None:
    plan = answer(M3, preset="mi355x_agentx", point="tp4_c1")
    chosen = [plan[key] for key in ("hardware", "strategy", "variant")]
    assert chosen == ["mi355x", "single_node_tp", "mxfp4"]
    assert plan["image"] == (
        "vllm/vllm-openai-rocm:nightly-df6603f0583375f244d1ac6d36265462b7490392"
        "@sha256:81899892d73777a4ae81e16f39e749169687f29249505eb4c56da83bd097d41c"
    )
    (server,) = plan["processes"]
    # The variant's encoder flags are removed; JSON that was merged into is written compact.
    assert server["argv"] == words(
        """
        vllm serve amd/MiniMax-M3-MXFP4
        --block-size 128
        --trust-remote-code
        --compilation-config '{"cudagraph_mode":"FULL_DECODE_ONLY","cudagraph_capture_sizes":["""
        """1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,20,22,24,26,28,30,32,34,36,48,64,72,80,"""
        """88,96,104,112,120,128]}'
        --tensor-parallel-size 4
        --tool-call-parser minimax_m3
        --enable-auto-tool-choice
        --reasoning-parser minimax_m3
        --speculative-config '{"method":"eagle3","model":"Inferact/MiniMax-M3-EAGLE3-GQA","""
        """"num_speculative_tokens":3,"attention_backend":"ROCM_AITER_UNIFIED_ATTN"}'
        --language-model-only
        --default-chat-template-kwargs '{"thinking_mode": "enabled"}'
        --served-model-name amd/MiniMax-M3-MXFP4
        --gpu-memory-utilization 0.9
        --enable-chunked-prefill
        --max-num-batched-tokens 32768
        --enable-prefix-caching
        --attention-backend ROCM_AITER_UNIFIED_ATTN
        --kv-cache-dtype fp8
        --stream-interval 20
        --moe-backend aiter
        --attention-config '{"indexer_kv_dtype":"fp8"}'
        --max-num-seqs 2
        --monokernel
        """
    )
    assert list(server["env"].items()) == [
        ("VLLM_USE_BREAKABLE_CUDAGRAPH", "0"),
        ("VLLM_ROCM_USE_AITER_MOE", "1"),
        ("VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS", "1"),
        ("PYTHONNOUSERSITE", "1"),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "3600"),
        ("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS", "1800"),
        ("VLLM_USE_V2_MODEL_RUNNER", "1"),
        ("VLLM_ROCM_USE_AITER", "1"),
        ("VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT", "1"),
        ("VLLM_ROCM_QUICK_REDUCE_QUANTIZATION", "INT4"),
        ("VLLM_ROCM_QUICK_REDUCE_CAST_BF16_TO_FP16", "0"),
        ("VLLM_ROCM_QUICK_REDUCE_QUANTIZATION_MIN_SIZE_KB", "256"),
    ]
