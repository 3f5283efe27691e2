"""Memory: of GPUs, of the host, locked, shared, in huge pages."""

from __future__ import annotations

from .symptom import Symptom, Try

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def _shorter(values: Mapping[str, str]) -> Try:
    return Try(flags=("--max-model-len", values["length"]))


def _half(values: Mapping[str, str]) -> Try:
    return Try(flags=("--max-model-len", str(int(values["length"]) // 2)))


def _what_is_free(values: Mapping[str, str]) -> Try:
    """The share of the GPU that is free, with a hundredth to spare, rounded down."""
    free, total = float(values["free"]), float(values["total"])
    share = int(100 * free / total) - 1 if total else 0
    return Try(flags=("--gpu-memory-utilization", f"{share / 100:.2f}")) if share > 0 else Try()


_KILLED = "the kernel ended a process of the server: the host ran out of memory"
_LESS = "Take less host memory for KV cache, or raise the container's limit."

MEMORY = (
    Symptom(
        code="CONTEXT_TOO_LONG",
        hint="estimated maximum model length",
        pattern=r"estimated maximum model length is (?P<length>\d+)",
        what="the KV cache of --max-model-len does not fit into what the weights leave",
        remedy="Serve the longest context that fits, as vLLM estimates it.",
        next=_shorter,
    ),
    Symptom(
        code="CONTEXT_TOO_LONG",
        hint="tokens that can be stored in kv cache",
        pattern=r"tokens that can be stored in KV cache \((?P<length>\d+)\)",
        what="the KV cache of --max-model-len does not fit into what the weights leave",
        remedy="Serve the longest context that fits, as vLLM counts it.",
        next=_shorter,
    ),
    Symptom(
        code="CONTEXT_TOO_LONG",
        hint="larger than the available kv cache",
        pattern=r"max seq len\s*\((?P<length>\d+)\).*larger than the available KV cache",
        what="the KV cache of --max-model-len does not fit into what the weights leave",
        remedy="Serve a shorter context; vLLM gave no estimate, so half of it is tried.",
        next=_half,
    ),
    Symptom(
        code="CONTEXT_TOO_LONG",
        hint="no available memory for the cache blocks",
        pattern=r"No available memory for the cache blocks",
        what="the weights leave no memory for KV cache",
        remedy="Give the server more of each GPU, or plan with more GPUs: see vllm-launch fit.",
        next=Try(flags=("--gpu-memory-utilization", "0.95")),
    ),
    Symptom(
        code="GPU_BUSY",
        hint="free memory on device",
        pattern=r"Free memory on device \S*\s*\((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on startup"
        r".* less than (?:desired GPU|the engine)",
        what="another process holds memory of a GPU that the server is to use",
        remedy="End that process (vllm-launch detect names it), or take less of the GPU.",
        next=_what_is_free,
    ),
    Symptom(
        code="GPU_BUSY",
        hint="error in memory profiling",
        pattern=r"Error in memory profiling",
        what="another process gave memory of a GPU back while vLLM measured what is free",
        remedy="Start it anew once nothing else comes or goes on its GPUs; detect names what does.",
        next=Try(subcommand="detect"),
    ),
    Symptom(
        code="CPU_MEMORY",
        hint="available memory on node",
        pattern=r"Available memory on node \S+ \((?P<free>[\d.]+)/(?P<total>[\d.]+) GiB\) on "
        r"startup",
        what="the CPU backend asks for more memory of a NUMA node than is free",
        remedy="Take less of it; on CPUs too the flag is --gpu-memory-utilization.",
        next=_what_is_free,
    ),
    Symptom(
        code="KV_HOST_RAM",
        hint="pin",
        pattern=r"(?:cudaHostRegister|cudaHostAlloc|hipHostMalloc|pin(?:ned|ning)?.memory).*"
        r"(?:out of memory|failed|cannot allocate|invalid argument)",
        what="the host has no memory left to pin for KV cache",
        remedy="Take less host memory for KV cache, or leave KV offload out.",
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="HUGETLB",
        hint="hugetlb",
        pattern=r"Cannot map (?P<gib>[\d.]+) GiB of (?P<page>\d+) MiB HugeTLB pages",
        what="too few HugeTLB pages are free for the KV cache in host memory",
        remedy="Reserve them: the check counts them for all ranks and prints the command.",
        next=Try(subcommand="check", options=("--fix",)),
    ),
    Symptom(
        code="MEMLOCK",
        hint="cannot allocate memory",
        pattern=r"(?:ibv_reg_mr|register(?:ing)? memory|memory registration|mlock).*"
        r"Cannot allocate memory",
        what="memory could not be locked for an RDMA device",
        remedy="Raise the limit on locked memory; a container needs --ulimit memlock=-1.",
        next=Try(instead="ulimit -l unlimited"),
    ),
    Symptom(
        code="SHM",
        hint="shared memory",
        pattern=r"insufficient shared memory|unable to (?:allocate|open|resize) shared memory"
        r"|shared memory.*No space left on device|creating shared memory segment /dev/shm",
        what="shared memory (/dev/shm) is too small for the ranks to talk to each other",
        remedy="Make it larger; a container needs --ipc=host or --shm-size 16g.",
        next=Try(instead="sudo mount -o remount,size=16G /dev/shm"),
    ),
    Symptom(
        code="SHM",
        hint="no space left on device",
        pattern=r"No space left on device: '?/(?:psm_|dev/shm|torch_\d|sem\.)"
        r"|</torch_\d\S*>: No space left"
        r"|/dev/shm.*No space left on device|posix_fallocate failed ?: No space left",
        what="shared memory (/dev/shm) is full",
        remedy="Make it larger; a container needs --ipc=host or --shm-size 16g.",
        next=Try(instead="sudo mount -o remount,size=16G /dev/shm"),
    ),
    Symptom(
        code="SHM",
        hint="bus error",
        pattern=r"\bBus error\b",
        what="a rank died of a bus error, as it does where /dev/shm is full",
        remedy="Make /dev/shm larger; a container needs --ipc=host or --shm-size 16g.",
        next=Try(instead="sudo mount -o remount,size=16G /dev/shm"),
    ),
    Symptom(
        code="NOFILE",
        hint="too many open files",
        pattern=r"^(?!.*(?:can cause|WARNING)).*Too many open files",
        what="the limit on open files was met",
        remedy="Raise it before the server is started.",
        next=Try(instead="ulimit -n 65536"),
    ),
    Symptom(
        code="GPU_MEMORY",
        hint="out of memory",
        pattern=r"(?:CUDA|HIP|XPU) out of memory|OutOfMemoryError|hipErrorOutOfMemory"
        r"|(?:CUDA|HIP) error: out of memory|Cuda failure (?:\d+ )?'out of memory'",
        what="a GPU ran out of memory while the model was loaded or warmed up",
        remedy="Plan with more GPUs or a smaller precision: fit says which would do.",
        next=Try(subcommand="fit"),
    ),
    Symptom(
        code="KV_HOST_RAM",
        hint="kill",
        pattern=r"oom-kill|Out of memory: Killed process|OOMKilled|died with <Signals\.SIGKILL",
        what=_KILLED,
        remedy=_LESS,
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="KV_HOST_RAM",
        hint="exit",
        pattern=r"exited with code 137|exitcode: -9\b|exit code: (?:-9|137)\b",
        what=_KILLED,
        remedy=_LESS,
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="KV_HOST_RAM",
        hint="failed core proc",
        pattern=r"Failed core proc\(s\): \{[^}]*: -9\b",
        what=_KILLED,
        remedy=_LESS,
        next=Try(subcommand="check"),
    ),
    Symptom(
        code="KV_HOST_RAM",
        hint="allocate memory",
        pattern=r"DefaultCPUAllocator: can't allocate memory",
        what="the host has no memory left for what the server asks of it",
        remedy=_LESS,
        next=Try(subcommand="check"),
    ),
    *(
        Symptom(
            code="THREADS",
            hint=hint,
            pattern=pattern,
            what="the limit on processes and threads was met",
            remedy="Raise it before the server is started; a container has --pids-limit.",
            next=Try(instead="ulimit -u 65536"),
        )
        for hint, pattern in (
            ("new thread", r"can't start new thread"),
            ("pthread_create", r"pthread_create failed"),
        )
    ),
)
