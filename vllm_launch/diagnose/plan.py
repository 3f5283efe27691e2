"""The plan itself: sizes, flags, values, parsers, versions."""

from __future__ import annotations

from .symptom import Symptom, Try

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _dividing(values: Mapping[str, str]) -> Try:
    """The largest tensor parallel size below the one that was tried that divides the heads."""
    heads, tried = int(values["heads"]), int(values["tp"])
    size = next((n for n in range(min(tried - 1, heads), 0, -1) if heads % n == 0), 1)
    return Try(options=("--tp", str(size)))


def _length(values: Mapping[str, str]) -> Try | None:
    length = values.get("length", "")
    return Try(flags=("--max-model-len", length)) if length.isdecimal() else None


def _quantization(values: Mapping[str, str]) -> Try | None:
    name = values["name"]
    return Try(flags=("--quantization", name)) if name != "None" else None


_ASK = Try(subcommand="check")

_FAILED = (
    r"(?:device-side assert|an illegal memory access|misaligned address"
    r"|unspecified launch failure)"
)

PLAN = (
    Symptom(
        code="TP_HEADS",
        hint="must be divisible by tensor parallel size",
        pattern=r"attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size "
        r"\((?P<tp>\d+)\)",
        what="the model's heads cannot be shared out among so many GPUs",
        remedy="Use a tensor parallel size that divides them.",
        next=_dividing,
    ),
    Symptom(
        code="TP_BLOCK_QUANT",
        hint="size_per_partition",
        pattern=r"(?:in|out)put_size_per_partition = \d+ is not divisible by weight quantization "
        r"block_[nk] = \d+",
        what="blocks of the quantised weights do not divide among so many GPUs",
        remedy="Keep experts whole, or use fewer GPUs: fit lists what goes.",
        next=Try(subcommand="fit"),
    ),
    Symptom(
        code="MAX_MODEL_LEN",
        hint="derived max_model_len",
        pattern=r"max_model_len \(\d+\) is greater than the derived max_model_len "
        r"\(\w+=(?P<length>[\d.]+)",
        what="--max-model-len is longer than the context that the model was made for",
        remedy="Serve the model's own context.",
        next=_length,
    ),
    Symptom(
        code="BLOCK_SIZE",
        hint="no common block size",
        pattern=r"No common block size for (?P<size>\d+)",
        what="no attention backend of the model works with this --block-size",
        remedy="Keep the recipe's --block-size; models with MSA need 128.",
        next=Try(flags=("--block-size", "128")),
    ),
    Symptom(
        code="FLAG_UNKNOWN",
        hint="unrecognized arguments",
        pattern=r"error: unrecognized arguments: (?P<flags>.+)",
        what="this vLLM does not know an argument",
        remedy="check says since when, until when, and what to use instead.",
        next=_ASK,
    ),
    Symptom(
        code="FLAG_VALUE",
        hint="invalid choice",
        pattern=r"error: argument \S+: invalid choice",
        what="this vLLM does not take a value of an argument",
        remedy="check lists the values that it takes.",
        next=_ASK,
    ),
    Symptom(
        code="JSON_VALUE",
        hint="error: argument",
        pattern=r"error: argument \S+:.*(?:cannot be converted|invalid loads value|Invalid JSON"
        r"|Expecting )",
        what="an argument's JSON did not arrive whole: a shell or a unit file took its quotes",
        remedy="Let the launcher quote it: print the command anew, or execute it as it is.",
        next=Try(options=("--dry-run",)),
    ),
    Symptom(
        code="BOOL_FALSE",
        hint="error: argument",
        pattern=r"error: argument \S+: (?:ignored explicit argument|invalid bool)",
        what="a switch was given a value",
        remedy="Write it as --x or --no-x; check says where it stands.",
        next=_ASK,
    ),
    Symptom(
        code="PARSER_UNKNOWN",
        hint="parser",
        pattern=r"invalid tool call parser: |Tool parser '[^']*' not found",
        what="this vLLM has no such tool call parser",
        remedy="Use the recipe's image or a newer vLLM, or serve without tool calls.",
        next=Try(options=("--no-feature", "tool_calling")),
    ),
    Symptom(
        code="PARSER_UNKNOWN",
        hint="parser",
        pattern=r"invalid reasoning parser: |Reasoning parser '[^']*' not found",
        what="this vLLM has no such reasoning parser",
        remedy="Use the recipe's image or a newer vLLM, or serve without it.",
        next=Try(options=("--no-feature", "reasoning")),
    ),
    Symptom(
        code="NIXL_SIDES",
        hint="compatibility hash mismatch",
        pattern=r"NIXL compatibility hash mismatch",
        what="prefill and decode servers are not alike, and cannot hand KV cache on",
        remedy="Give both the same vLLM, model, precision, KV cache and attention backend.",
        next=Try(subcommand="explain"),
    ),
    Symptom(
        code="QUANTIZATION",
        hint="does not match the quantization",
        pattern=r"model config \((?P<name>[\w-]+)\) does not match the quantization",
        what="--quantization names another method than the checkpoint was made with",
        remedy="Name the checkpoint's own, or leave the flag out.",
        next=_quantization,
    ),
    Symptom(
        code="CONNECTOR_UNKNOWN",
        hint="connector",
        pattern=r"Unsupported connector type: (?P<name>\w+)",
        what="this vLLM has no such KV connector",
        remedy="Use the recipe's image or a newer vLLM, or leave KV offload out.",
        next=_ASK,
    ),
    Symptom(
        code="BACKEND_UNKNOWN",
        hint="backend",
        pattern=r"Selected backend \S+ is not valid for this configuration"
        r"|(?:Invalid|Unknown) attention backend",
        what="an attention backend is not to be had here",
        remedy="Leave its choice to vLLM, or use the recipe's image.",
        next=_ASK,
    ),
    Symptom(
        code="VERSION",
        hint="model architectures",
        pattern=r"Model architectures \[.*\] (?:are not supported|failed to be inspected)",
        what="this vLLM does not know the model yet",
        remedy="Use the recipe's image, or a vLLM that is new enough.",
        next=Try(options=("--runtime", "docker")),
    ),
    Symptom(
        code="VERSION",
        hint="does not recognize this architecture",
        pattern=r"Transformers does not recognize this architecture",
        what="the transformers package is too old for the model",
        remedy="Use the recipe's image, or a newer vLLM with what it needs.",
        next=Try(options=("--runtime", "docker")),
    ),
    Symptom(
        code="TRUST_REMOTE_CODE",
        hint="trust_remote_code",
        pattern=r"(?:pass the argument|setting|passing) "
        r"`?(?:trust_remote_code=True|--trust-remote-code)",
        what="the model brings code of its own, and vLLM was not told to run it",
        remedy="Look at that code; where it is to be trusted, say so.",
        next=Try(flags=("--trust-remote-code",)),
    ),
    Symptom(
        code="PLACEHOLDER",
        hint="$",
        pattern=r"(?:resolve|name or service|hostname|getaddrinfo|connect|parse|invalid)"
        r".*\$\{?(?P<name>[A-Z][A-Z0-9_]+)",
        what="a placeholder reached the server as it stands",
        remedy="Fill it with --endpoint; a launch by vllm-launch refuses to start with one.",
        next=lambda values: Try(options=("--endpoint", f"{values['name']}=10.0.0.1")),
    ),
    *(
        Symptom(
            code="COMPANION_DOWN",
            hint=hint,
            pattern=pattern,
            what="a package that the plan needs is not installed beside vLLM",
            remedy="Install it into the environment that vLLM runs in.",
            next=lambda values: Try(instead=f"uv pip install {_package(values['name'])}"),
        )
        for hint, pattern in (
            (
                "no module named",
                r"No module named '(?P<name>lmcache|nixl|mooncake|vllm_router|flashinfer)\b",
            ),
            ("nixl", r"(?P<name>NIXL) is not available"),
        )
    ),
    Symptom(
        code="VLLM_MISSING",
        hint="vllm",
        pattern=r"vllm: (?:command )?not found|No module named '?vllm'?(?![.\w])"
        r"|vllm is not on PATH",
        what="vLLM is not installed here",
        remedy="Install it, or run the recipe's image.",
        next=Try(options=("--runtime", "docker")),
    ),
    *(
        Symptom(
            code="COMPILER",
            hint=hint,
            pattern=pattern,
            what="kernels are compiled at the start, and what that takes is not here",
            remedy="Install it, or run the recipe's image, which has it.",
            next=Try(options=("--runtime", "docker")),
        )
        for hint, pattern in (
            ("compiler", r"Failed to find C compiler|No working C\+\+ compiler|C\+\+ compiler"),
            (
                "nvcc",
                r"nvcc'?:? not found|Could not find nvcc|No such file or directory: '\S*nvcc'",
            ),
            (
                "ninja",
                (
                    r"ninja: build stopped|Ninja build failed|directory: 'ninja'"
                    r"|Ninja is required"
                ),
            ),
            ("cuda_home", r"CUDA_HOME environment variable is not set"),
            ("fatal error", r"fatal error: \S+\.h(?:pp)?: No such file"),
        )
    ),
    *(
        Symptom(
            code="BUILD",
            hint=hint,
            pattern=pattern,
            what="this vLLM was built for another torch, CUDA or ROCm than is installed beside it",
            remedy="Install vLLM with the torch that it names into a new environment, or run its "
            "image.",
            next=Try(options=("--runtime", "docker")),
        )
        for hint, pattern in (
            (
                "cannot open shared object",
                (
                    r"\blib(?!cuda\.so|nvidia-ml)[\w+-]+\.so\S*: cannot open "
                    r"shared object file"
                ),
            ),
            ("undefined symbol", r"\.so: undefined symbol"),
        )
    ),
    *(
        Symptom(
            code="TOO_FEW_GPUS",
            hint=hint,
            pattern=pattern,
            what="the plan takes more GPUs than the server sees",
            remedy="Plan for those that are here: fit lists what goes; a mask may hide some.",
            next=Try(subcommand="fit"),
        )
        for hint, pattern in (
            (
                "world",
                (
                    r"world[_ ]size \(\d+\).*(?:max local gpu count|visible devices"
                    r"|available GPUs)"
                ),
            ),
            (
                "placement group",
                (
                    r"required GPUs exceeds the total number|placement group.*cannot be "
                    r"created"
                ),
            ),
            ("resource request", r"No available node types can fulfill resource request.*GPU"),
        )
    ),
    Symptom(
        code="TIMEOUTS",
        hint="time",
        pattern=r"Timed out waiting for engine|Did not receive response from front-end"
        r"|engine core.* (?:not ready|timed out)|increase VLLM_ENGINE_READY_TIMEOUT_S",
        what="the engines took longer to start than the API server waits",
        remedy="Give a cold start more time.",
        next=Try(options=("--env", "VLLM_ENGINE_READY_TIMEOUT_S=3600")),
        consequence=True,
    ),
    *(
        Symptom(
            code="KERNEL",
            hint=hint,
            pattern=pattern,
            what="a kernel failed on a GPU; where it is told is later than where it was",
            remedy="Have kernels run one at a time, for a traceback that names the right one.",
            next=Try(options=("--env", variable)),
            consequence=True,
        )
        for hint, pattern, variable in (
            ("cuda error: ", rf"CUDA error: {_FAILED}", "CUDA_LAUNCH_BLOCKING=1"),
            ("hip error: ", rf"HIP error: {_FAILED}", "AMD_SERIALIZE_KERNEL=3"),
            ("access fault", r"Memory access fault by GPU node", "AMD_SERIALIZE_KERNEL=3"),
        )
    ),
    Symptom(
        code="ENGINE_DEAD",
        hint="engine",
        pattern=r"Engine core initialization failed|EngineCore encountered (?:an issue|a fatal)"
        r"|EngineCore failed to start",
        what="an engine died; its own error stands further up",
        remedy="Look for the first traceback of an EngineCore or Worker process.",
        next=Try(options=("--env", "VLLM_LOGGING_LEVEL=DEBUG")),
        consequence=True,
    ),
)


def _package(module: str) -> str:
    packages = {
        "mooncake": "mooncake-transfer-engine",
        "vllm_router": "vllm-router",
        "flashinfer": "flashinfer-python",
    }
    return packages.get(module.lower(), module.lower())
