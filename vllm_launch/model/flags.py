"""How a flag may be spelt: vLLM's parser reads all of these as one."""

from __future__ import annotations

# Short forms. All releases agree on them.
LONG = {
    "-ac": "--attention-config",
    "-asc": "--api-server-count",
    "-cc": "--compilation-config",
    "-dc": "--diffusion-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-dpa": "--data-parallel-address",
    "-dpb": "--data-parallel-backend",
    "-dpe": "--data-parallel-external-lb",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpl": "--data-parallel-size-local",
    "-dpn": "--data-parallel-rank",
    "-dpp": "--data-parallel-rpc-port",
    "-dpr": "--data-parallel-start-rank",
    "-ep": "--enable-expert-parallel",
    "-n": "--nnodes",
    "-pcp": "--prefill-context-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-q": "--quantization",
    "-r": "--node-rank",
    "-sc": "--speculative-config",
    "-tp": "--tensor-parallel-size",
    "--device-memory-utilization": "--gpu-memory-utilization",
}


def long(token: str) -> str:
    """A flag's long name with dashes; a dotted key and a joined value stay as they are."""
    name = token.partition("=")[0].partition(".")[0]
    dashed = name.replace("_", "-") if name.startswith("--") else name
    return LONG.get(dashed, dashed) + token[len(name) :]


def is_flag(token: str) -> bool:
    """Whether a token begins an argument: a negative number is a value, as for vLLM's parser."""
    return token.startswith("-") and not token[1:2].isdecimal()
