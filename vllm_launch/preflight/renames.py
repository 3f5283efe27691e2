"""Names that vLLM gave up, and what does the same now. Kept by hand; facts alone."""

from __future__ import annotations

FLAGS = {
    "--calculate-kv-scales": "",
    "--cuda-graph-sizes": "--cudagraph-capture-sizes",
    "--disable-async-output-proc": "",
    "--disable-log-requests": "--no-enable-log-requests",
    "--disable-mm-preprocessor-cache": "--mm-processor-cache-gb 0",
    "--enable-bf16x3-router-gemm": "",
    "--enable-mamba-fine-grained-prefix-cache": "--enable-mamba-shared-prefix-checkpoint",
    "--enable-multimodal-encoder-data-parallel": "--mm-encoder-tp-mode data",
    "--enable-reasoning": "--reasoning-parser NAME alone",
    "--guided-decoding-backend": "--structured-outputs-config.backend",
    "--max-long-partial-prefills": "",
    "--max-num-partial-prefills": "",
    "--max-seq-len-to-capture": "--compilation-config.max_cudagraph_capture_size",
    "--multi-step-stream-outputs": "",
    "--num-lookahead-slots": "--speculative-config",
    "--num-scheduler-steps": "",
    "--num-speculative-tokens": "--speculative-config.num_speculative_tokens",
    "--override-attention-dtype": "",
    "--override-neuron-config": "--additional-config",
    "--override-pooler-config": "--pooler-config",
    "--preemption-mode": "",
    "--rope-scaling": "--hf-overrides",
    "--rope-theta": "--hf-overrides",
    "--scheduler-delay-factor": "",
    "--speculative-model": "--speculative-config.model",
    "--swap-space": "--kv-offloading-size",
    "--task": "--runner and --convert",
    "--use-v2-block-manager": "",
    "--worker-use-ray": "--distributed-executor-backend ray",
}
# Of these, what takes the old flag's value as it is: a rename and nothing more.
SAME_VALUE = (
    "--cuda-graph-sizes",
    "--disable-log-requests",
    "--disable-mm-preprocessor-cache",
    "--enable-mamba-fine-grained-prefix-cache",
    "--enable-multimodal-encoder-data-parallel",
    "--guided-decoding-backend",
    "--max-seq-len-to-capture",
    "--num-speculative-tokens",
    "--override-neuron-config",
    "--override-pooler-config",
    "--speculative-model",
    "--worker-use-ray",
)
VARIABLES = {
    "VLLM_ALL2ALL_BACKEND": "--all2all-backend",
    "VLLM_ATTENTION_BACKEND": "--attention-backend",
    "VLLM_FLASH_ATTN_VERSION": "--attention-config.flash_attn_version",
    "VLLM_MM_HASHER_ALGORITHM": "--mm-hasher-algorithm",
    "VLLM_PREFIX_CACHE_RETENTION_INTERVAL": "--prefix-cache-retention-interval",
    "VLLM_ROCM_MONO_DECODE": "--monokernel",
    "VLLM_ROCM_USE_AITER_MOE_SITUV2_A8W4": "VLLM_ROCM_USE_AITER_MOE_SITUV2",
    "VLLM_TORCH_PROFILER_DIR": "--profiler-config.torch_profiler_dir",
    "VLLM_TRITON_ATTN_USE_TD": "VLLM_TRITON_USE_TD",
    "VLLM_USE_FLASHINFER_MOE_FP16": "--moe-backend",
    "VLLM_USE_FLASHINFER_MOE_FP4": "--moe-backend",
    "VLLM_USE_FLASHINFER_MOE_FP8": "--moe-backend",
    "VLLM_USE_TRTLLM_ATTENTION": "--attention-config.use_trtllm_attention",
    "VLLM_USE_V1": "",
}
FIELDS = {
    ("AttentionConfig", "use_fp4_indexer_cache"): "indexer_kv_dtype",
    ("CompilationConfig", "level"): "mode",
    ("CompilationConfig", "use_cudagraph"): "cudagraph_mode",
    ("CompilationConfig", "full_cuda_graph"): "cudagraph_mode",
    ("CompilationConfig", "use_inductor"): "backend",
    ("SpeculativeConfig", "disable_by_batch_size"): "num_speculative_tokens_per_batch_size",
    ("KVTransferConfig", "kv_buffer_size"): "",
    ("KVTransferConfig", "kv_ip"): "",
    ("KVTransferConfig", "kv_parallel_size"): "",
    ("KVTransferConfig", "kv_rank"): "",
}
# Keys of a connector's own configuration, with the last release that is known not to read them.
CONNECTOR_KEYS = {("SimpleCPUOffloadConnector", "cpu_hugepage_block_size"): "0.33.0"}
# Still taken, with a warning or without effect.
DEPRECATED = {
    "--disable-cascade-attn": ("0.33.0", "it has no effect"),
    "--ir-op-priority": ("0.33.0", "it goes with 0.34.0"),
    "--log-config-file": ("0.31.0", "use --logging-config.pylogging_config_file"),
    "--mamba-cache-mode": ("0.33.0", "it has no effect: --enable-prefix-caching decides"),
    "--model": ("0.24.0", "name the model without a flag"),
}
