"""Variables around the server that matter to a plan; of secrets, not even the names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_READ = (
    "CUDA_DEVICE_ORDER",
    "CUDA_VISIBLE_DEVICES",
    "GLOO_SOCKET_IFNAME",
    "HIP_VISIBLE_DEVICES",
    "NCCL_IB_HCA",
    "NCCL_MNNVL_ENABLE",
    "NCCL_SOCKET_IFNAME",
    "ROCR_VISIBLE_DEVICES",
    "UCX_NET_DEVICES",
    "VLLM_ENABLE_CUDA_COMPATIBILITY",
    "VLLM_KV_CACHE_LAYOUT",
    "VLLM_MOONCAKE_BOOTSTRAP_PORT",
    "VLLM_NIXL_SIDE_CHANNEL_HOST",
    "VLLM_NIXL_SIDE_CHANNEL_PORT",
    "VLLM_USE_MODELSCOPE",
    "VLLM_USE_SIMPLE_KV_OFFLOAD",
)
_OURS = "VLLM_LAUNCH_"
_SECRETS = ("VLLM_API_KEY",)


def read(environ: Mapping[str, str]) -> dict[str, Any]:
    """Values of a fixed list, and the names of all of vLLM's own variables."""
    names = [name for name in environ if name.startswith("VLLM_")]
    return {
        "variables": tuple((name, environ[name]) for name in _READ if name in environ),
        "vllm_variables": tuple(
            sorted(n for n in names if not n.startswith(_OURS) and n not in _SECRETS)
        ),
    }
