"""Every known failure, in a log as it is written, and the command that is to be tried next."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from vllm_launch.commandline import parse, split
from vllm_launch.commands.retry import next_command
from vllm_launch.diagnose import SYMPTOMS, diagnose
from vllm_launch.diagnose.started import started_by

SAMPLES = Path(__file__).parent / "samples"
# Lines that each tell of a failure: its code, what is to be tried next, the text.
LINES = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parent / "lines.txt").read_text().splitlines()
]
EXPECTED = {
    "context-estimate": (
        "CONTEXT_TOO_LONG",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 -- --max-model-len 107872",
    ),
    "context-no-estimate": (
        "CONTEXT_TOO_LONG",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 -- --max-model-len 65536",
    ),
    "no-kv-memory": (
        "CONTEXT_TOO_LONG",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 -- --gpu-memory-utilization 0.95",
    ),
    "gpu-busy": (
        "GPU_BUSY",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 -- --gpu-memory-utilization 0.62",
    ),
    "pinned-memory": (
        "KV_HOST_RAM",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "hugetlb": (
        "HUGETLB",
        "vllm-launch check MiniMaxAI/MiniMax-M3 --fix",
    ),
    "memlock": (
        "MEMLOCK",
        "ulimit -l unlimited",
    ),
    "shared-memory": (
        "SHM",
        "sudo mount -o remount,size=16G /dev/shm",
    ),
    "bus-error": (
        "SHM",
        "sudo mount -o remount,size=16G /dev/shm",
    ),
    "open-files": (
        "NOFILE",
        "ulimit -n 65536",
    ),
    "gpu-oom": (
        "GPU_MEMORY",
        "vllm-launch fit MiniMaxAI/MiniMax-M3",
    ),
    "hip-oom": (
        "GPU_MEMORY",
        "vllm-launch fit MiniMaxAI/MiniMax-M3",
    ),
    "oom-killed": (
        "KV_HOST_RAM",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "oom-killer": (
        "KV_HOST_RAM",
        "vllm-launch check MODEL",
    ),
    "cpu-memory": (
        "CPU_MEMORY",
        "vllm-launch serve /data/tiny-model --port 8765 -- --gpu-memory-utilization 0.87",
    ),
    "tp-heads": (
        "TP_HEADS",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --tp 4",
    ),
    "tp-blocks": (
        "TP_BLOCK_QUANT",
        "vllm-launch fit MiniMaxAI/MiniMax-M3",
    ),
    "longer-than-model": (
        "MAX_MODEL_LEN",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 -- --max-model-len 131072",
    ),
    "block-size": (
        "BLOCK_SIZE",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 -- --block-size 128",
    ),
    "unknown-flag": (
        "FLAG_UNKNOWN",
        "vllm-launch check MODEL",
    ),
    "choice": (
        "FLAG_VALUE",
        "vllm-launch check MODEL",
    ),
    "json": (
        "JSON_VALUE",
        "vllm-launch serve MODEL --dry-run",
    ),
    "switch": (
        "BOOL_FALSE",
        "vllm-launch check MODEL",
    ),
    "tool-parser": (
        "PARSER_UNKNOWN",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --no-feature tool_calling",
    ),
    "reasoning-parser": (
        "PARSER_UNKNOWN",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --no-feature reasoning",
    ),
    "connector": (
        "CONNECTOR_UNKNOWN",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "backend": (
        "BACKEND_UNKNOWN",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "architecture": (
        "VERSION",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --runtime docker",
    ),
    "transformers": (
        "VERSION",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --runtime docker",
    ),
    "remote-code": (
        "TRUST_REMOTE_CODE",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 -- --trust-remote-code",
    ),
    "placeholder": (
        "PLACEHOLDER",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --endpoint HEAD_IP=10.0.0.1",
    ),
    "package": (
        "COMPANION_DOWN",
        "uv pip install lmcache",
    ),
    "no-vllm": (
        "VLLM_MISSING",
        "vllm-launch serve MODEL --runtime docker",
    ),
    "compiler": (
        "COMPILER",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --runtime docker",
    ),
    "ready-timeout": (
        "TIMEOUTS",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --env VLLM_ENGINE_READY_TIMEOUT_S=3600",
    ),
    "engine-died": (
        "ENGINE_DEAD",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --env VLLM_LOGGING_LEVEL=DEBUG",
    ),
    "cuda-803": (
        "CUDA_803",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --runtime docker",
    ),
    "fabric": (
        "FABRIC_802",
        "sudo systemctl restart nvidia-fabricmanager",
    ),
    "driver-old": (
        "DRIVER_CUDA",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "image-cuda": (
        "DRIVER_CUDA",
        "vllm-launch check MODEL",
    ),
    "uuid-mask": (
        "CVD_UUID",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --gpus 0",
    ),
    "ordinal": (
        "MASK",
        "vllm-launch detect",
    ),
    "imex": (
        "IMEX",
        "sudo systemctl start nvidia-imex",
    ),
    "no-kernel": (
        "HARDWARE_FIT",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --runtime docker",
    ),
    "precision": (
        "HARDWARE_FIT",
        "vllm-launch fit MiniMaxAI/MiniMax-M3",
    ),
    "kfd": (
        "AMD_DEVICES",
        "sudo usermod -aG render,video $USER",
    ),
    "no-gpu": (
        "GPU_MISSING",
        "vllm-launch detect",
    ),
    "no-platform": (
        "GPU_MISSING",
        "vllm-launch detect",
    ),
    "xid": (
        "GPU_LOST",
        "vllm-launch detect",
    ),
    "ecc": (
        "GPU_ECC",
        "vllm-launch detect",
    ),
    "numa": (
        "NUMA",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --runtime docker",
    ),
    "port": (
        "PORT_BUSY",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --port 8001",
    ),
    "port-named": (
        "PORT_BUSY",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --port 8101",
    ),
    "port-docker": (
        "PORT_BUSY",
        "vllm-launch serve MODEL --port 8001",
    ),
    "not-own-address": (
        "NIXL_HOST",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "interface": (
        "IFACE",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "gloo": (
        "IFACE",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "resolve": (
        "HEAD",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "head-timeout": (
        "HEAD",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "nccl": (
        "NCCL",
        "vllm-launch serve MiniMaxAI/MiniMax-M3 --env NCCL_DEBUG=INFO",
    ),
    "gated": (
        "HF_GATED",
        "hf auth login",
    ),
    "no-token": (
        "HF_GATED",
        "hf auth login",
    ),
    "offline": (
        "HF_OFFLINE",
        "unset HF_HUB_OFFLINE",
    ),
    "unreachable": (
        "HF_OFFLINE",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "no-such-model": (
        "HF_NAME",
        "vllm-launch explain MiniMaxAI/MiniMax-M3",
    ),
    "torn-file": (
        "MODEL_INCOMPLETE",
        "vllm-launch check MiniMaxAI/MiniMax-M3",
    ),
    "disk": (
        "DISK",
        "export HF_HOME=/large/disk",
    ),
    "toolkit": (
        "TOOLKIT",
        "sudo nvidia-ctk runtime configure --runtime=docker",
    ),
    "cdi": (
        "ROOTLESS",
        "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    ),
    "image-tag": (
        "IMAGE_TAG",
        "vllm-launch explain MODEL",
    ),
    "docker-socket": (
        "ENGINE",
        "sudo systemctl start docker",
    ),
    "entrypoint": (
        "ENTRYPOINT",
        "vllm-launch serve MODEL --runtime docker",
    ),
    "tilde": (
        "TILDE",
        "vllm-launch serve MODEL --runtime docker --dry-run",
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_log_names_its_failure_first_and_what_to_try(name):
    lines = (SAMPLES / f"{name}.log").read_text().splitlines()
    first = diagnose(lines)[0]
    assert (first.symptom.code, next_command(first, started_by(lines))) == EXPECTED[name]


@pytest.mark.parametrize(("code", "next_step", "line"), LINES)
@pytest.mark.parametrize(
    "around",
    [
        pytest.param("{}", id="bare"),
        pytest.param(
            "\x1b[1;36m(Worker_TP3 pid=41)\x1b[0;0m ERROR 11-30 09:56:09 [core.py:708] {}",
            id="rank 3",
        ),
        pytest.param("Loading: 1%\r" * 1000 + "{}", id="behind a bar"),
    ],
)
def test_a_line_of_a_failure_is_known_wherever_it_stands(code, next_step, line, around):
    end = "RuntimeError: Engine core initialization failed. See root cause above."
    log = ["INFO vllm serve M", around.format(line), end]
    first = diagnose(log)[0]
    assert (first.symptom.code, first.line) == (code, 2)
    assert next_command(first, started_by(log)) == next_step
    assert "\x1b" not in first.text


def test_commands_of_the_launcher_are_such():
    steps = [step for _, step in EXPECTED.values()] + [step for _, step, _ in LINES]
    own = [shlex.split(step)[1:] for step in steps if step.startswith("vllm-launch ")]
    assert len(own) > 50
    assert [words for words in own if parse(split(words)[0]) is None] == []


def test_there_is_a_sample_for_every_symptom():
    lines = [line for path in SAMPLES.glob("*.log") for line in path.read_text().splitlines()]
    lines += [line for _, _, line in LINES]
    for symptom in SYMPTOMS:
        hits = [
            line
            for line in lines
            if symptom.hint in line.lower() and re.search(symptom.pattern, line, re.IGNORECASE)
        ]
        assert hits, symptom.pattern
    assert {path.stem for path in SAMPLES.glob("*.log")} == set(EXPECTED)


def test_a_healthy_log_says_nothing():
    lines = (Path(__file__).parent / "healthy.log").read_text().splitlines()
    assert diagnose(lines) == ()


ONCE = {
    "a name that the hub does not have": (
        "RepositoryNotFoundError: 401 Client Error.",
        "Repository Not Found for url: https://huggingface.co/api/models/a/b.",
        "If you are trying to access a private or gated repo, make sure you are authenticated",
        "HF_NAME",
    ),
    "shared memory is no disk": (
        "NCCL WARN Call to posix_fallocate failed : No space left on device",
        "Error while creating shared memory segment /dev/shm/n, error: No space left on device",
        "SHM",
    ),
}


@pytest.mark.parametrize("case", ONCE.values(), ids=ONCE)
def test_a_failure_is_not_told_as_another_as_well(case):
    *lines, code = case
    assert [each.symptom.code for each in diagnose(lines)] == [code]
