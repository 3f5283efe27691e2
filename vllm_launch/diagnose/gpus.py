"""GPUs: drivers, fabrics, devices, generations."""

from __future__ import annotations

from .symptom import Symptom, Try

_LOOK = Try(subcommand="check")

GPUS = (
    Symptom(
        code="CUDA_803",
        hint="803",
        pattern=r"Error 803: system has unsupported display driver",
        what="the container brought a CUDA compatibility library that this driver does not take",
        remedy="Hand the GPUs in with --gpus, as the launcher does, and not with --runtime=nvidia.",
        next=Try(options=("--runtime", "docker")),
    ),
    Symptom(
        code="FABRIC_802",
        hint="802",
        pattern=r"Error 802: system not yet initialized",
        what="the fabric manager is not running, or is of another version than the driver",
        remedy="Start it, in the driver's own version.",
        next=Try(instead="sudo systemctl restart nvidia-fabricmanager"),
    ),
    Symptom(
        code="DRIVER_CUDA",
        hint="driver",
        pattern=r"driver on your system is too old|driver version is insufficient"
        r"|unsatisfied condition: cuda\s*>=|forward compatibility was attempted",
        what="the driver is older than the CUDA version of this vLLM needs",
        remedy="Update it (CUDA 13 needs r580), or use an image for an older CUDA.",
        next=_LOOK,
    ),
    Symptom(
        code="DRIVER_CUDA",
        hint="unsupported toolchain",
        pattern=r"PTX was compiled with an unsupported toolchain",
        what="kernels were compiled by a newer CUDA than the driver knows",
        remedy="Update it (CUDA 13 needs r580), or use an image for an older CUDA.",
        next=_LOOK,
    ),
    Symptom(
        code="DRIVER_LOADED",
        hint="version mismatch",
        pattern=r"(?:NVML|nvml).*version mismatch|Driver/library version mismatch",
        what="the driver was updated, and the kernel still has the one before",
        remedy="Restart the machine, or load the driver's modules anew.",
        next=Try(instead="cat /proc/driver/nvidia/version"),
    ),
    Symptom(
        code="COMPILER",
        hint="ptxas",
        pattern=r"ptxas fatal\s*: Value '\w+' is not defined",
        what="the CUDA toolkit here is older than the GPU's generation",
        remedy="Use the recipe's image, whose toolkit knows it, or name a newer one in "
        "TRITON_PTXAS_PATH.",
        next=Try(options=("--runtime", "docker")),
    ),
    Symptom(
        code="CVD_UUID",
        hint="invalid literal for int",
        pattern=r"invalid literal for int\(\) with base 10: '(?:GPU|MIG)-",
        what="CUDA_VISIBLE_DEVICES names GPUs by UUID, which this vLLM cannot read",
        remedy="Name them by number: the launcher does it where it is asked to choose them.",
        next=Try(options=("--gpus", "0")),
    ),
    Symptom(
        code="MASK",
        hint="invalid device ordinal",
        pattern=r"invalid device ordinal|hipErrorInvalidDevice",
        what="a rank asked for a GPU that the device mask hides",
        remedy="Unset the mask of the environment, or choose the GPUs with --gpus.",
        next=Try(subcommand="detect"),
    ),
    Symptom(
        code="MASK",
        hint="duplicate gpu detected",
        pattern=r"Duplicate GPU detected",
        what="two ranks were given the same GPU",
        remedy="Name as many different ones as there are ranks, in the mask or with --gpus.",
        next=Try(subcommand="detect"),
    ),
    Symptom(
        code="IMEX",
        hint="imex",
        pattern=r"^(?!.*(?:fall(?:s|ing)? ?back))"
        r".*(?:no IMEX channel|IMEX.*(?:fail|not (?:found|running|initialized)))",
        what="memory shared between trays needs IMEX channels, and there are none",
        remedy="Start nvidia-imex with the driver's own configuration.",
        next=Try(instead="sudo systemctl start nvidia-imex"),
    ),
    Symptom(
        code="HARDWARE_FIT",
        hint="no kernel image is available",
        pattern=r"no kernel image is available for execution|hipErrorNoBinaryForGpu",
        what="this build of vLLM has no kernels for the GPU's generation",
        remedy="Use the image that the recipe names for this hardware.",
        next=Try(options=("--runtime", "docker")),
    ),
    Symptom(
        code="HARDWARE_FIT",
        hint="not supported",
        pattern=r"fp8e4nv not supported|(?:FP4|FP8|NVFP4|MXFP4).*(?:requires|not supported).*"
        r"(?:compute capability|sm_?\d+|GPU)"
        r"|not supported (?:on|for) (?:the )?current (?:GPU|device)",
        what="the precision does not run on this generation of GPUs",
        remedy="Serve a variant that does: fit says which.",
        next=Try(subcommand="fit"),
    ),
    Symptom(
        code="HARDWARE_FIT",
        hint="bfloat16",
        pattern=r"Bfloat16 is only supported on GPUs with compute capability",
        what="the GPU is too old for the model's bfloat16",
        remedy="Serve it in half precision.",
        next=Try(flags=("--dtype", "half")),
    ),
    Symptom(
        code="HARDWARE_FIT",
        hint="invalid device function",
        pattern=r"(?:CUDA|HIP) error: invalid device function",
        what="this build of vLLM has no kernels for the GPU's generation",
        remedy="Use the image that the recipe names for this hardware.",
        next=Try(options=("--runtime", "docker")),
    ),
    Symptom(
        code="AMD_DEVICES",
        hint="/dev/kfd",
        pattern=r"/dev/kfd.*(?:Permission denied|No such file|not (?:readable|found))"
        r"|(?:open|access) /dev/kfd",
        what="the AMD GPUs cannot be opened",
        remedy="Join the groups that own /dev/kfd and /dev/dri/renderD*, and log in anew.",
        next=Try(instead="sudo usermod -aG render,video $USER"),
    ),
    Symptom(
        code="GPU_MISSING",
        hint="gpu",
        pattern=r"No (?:CUDA|HIP) GPUs are available"
        r"|NVML.*(?:driver not loaded|not found)|no NVIDIA GPU",
        what="the server sees no GPU",
        remedy="detect says which GPUs are there, and what hides them.",
        next=Try(subcommand="detect"),
    ),
    *(
        Symptom(
            code="GPU_MISSING",
            hint=hint,
            pattern=pattern,
            what="the server sees no GPU",
            remedy="detect says which GPUs are there, and what hides them.",
            next=Try(subcommand="detect"),
        )
        for hint, pattern in (
            ("nvidia driver", r"Found no NVIDIA driver on your system"),
            ("device type", r"Failed to infer device type"),
            ("device string", r"Device string must not be empty"),
            ("shared object", r"lib(?:cuda|nvidia-ml)\.so\S*: cannot open shared object"),
        )
    ),
    Symptom(
        code="GPU_LOST",
        hint="xid",
        pattern=r"\bXid\b.*: (?:48|63|64|74|79|94|95)\b|GPU has fallen off the bus",
        what="a GPU failed",
        remedy="Leave it out with --gpus, and have it reset or replaced.",
        next=Try(subcommand="detect"),
    ),
    Symptom(
        code="GPU_ECC",
        hint="ecc",
        pattern=r"uncorrectable ECC error",
        what="a GPU has uncorrectable memory errors",
        remedy="Leave it out with --gpus, and have it reset or replaced.",
        next=Try(subcommand="detect"),
    ),
    Symptom(
        code="NUMA",
        hint="permitted",
        pattern=r"(?:set_mempolicy|mbind|numactl|numa).*(?:Operation not permitted)",
        what="the container may not bind memory to NUMA nodes",
        remedy="Give it CAP_SYS_NICE, as the launcher's container has, or leave --numa-bind out.",
        next=Try(options=("--runtime", "docker")),
    ),
)
