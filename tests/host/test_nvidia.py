"""NVIDIA hosts through the real pynvml and a stub driver library."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.host import nvml_stub
from vllm_launch.host import facts, nvidia
from vllm_launch.host.nvidia import DRIVER
from vllm_launch.model.host import HostFacts

MIB = 1 << 20
SPARK = {"proc/meminfo": "MemTotal:       125516820 kB\nMemAvailable:   117440512 kB\n"}


def test_every_field_of_a_healthy_gpu(read_nvidia: Callable[..., HostFacts]) -> None:
    host = read_nvidia("h200_8x")
    assert host.nvidia_driver == "580.95.05"
    assert host.cuda_driver == "13.0"
    assert host.looked_for == ((DRIVER, "8 GPUs, driver 580.95.05"),)
    assert [gpu.index for gpu in host.gpus] == list(range(8))
    gpu = host.gpus[1]
    assert (gpu.vendor, gpu.name) == ("NVIDIA", "NVIDIA H200")
    assert gpu.uuid == "GPU-00000000-0000-4000-8000-000000000001"
    assert gpu.pci_bus_id == "00000000:1A:00.0"
    assert gpu.pci_device_id == "2335"
    assert gpu.compute_capability == "9.0"
    assert (gpu.memory_bytes, gpu.memory_used_bytes) == (143771 * MIB, 4 * MIB)
    assert gpu.mig_enabled is False
    assert not gpu.unified_memory
    assert gpu.unknown == ()


@pytest.mark.parametrize(
    ("scenario", "outcome"),
    [
        pytest.param("no_driver", "not found", id="no library"),
        pytest.param("mismatch", "different versions: reload the driver, or reboot", id="mismatch"),
        pytest.param("not_loaded", "kernel driver is not loaded", id="kernel driver not loaded"),
        pytest.param("count_fails", "does not list its GPUs: Unknown Error", id="no count"),
        pytest.param("no_gpus", "no GPU, driver 580.95.05", id="no GPU"),
    ],
)
def test_no_gpus_has_a_reason(
    read_nvidia: Callable[..., HostFacts], scenario: str, outcome: str
) -> None:
    host = read_nvidia(scenario)
    assert host.gpus == ()
    (what, came_of_it), *rest = host.looked_for
    assert what == DRIVER
    assert came_of_it.endswith(outcome)
    assert not rest


@pytest.mark.parametrize(
    ("module", "outcome"),
    [
        pytest.param(None, "cannot be imported: ModuleNotFoundError", id="blocked"),
        pytest.param("raise ImportError('no symbol')", "cannot be imported", id="broken"),
        pytest.param("1/0", "cannot be imported: ZeroDivisionError", id="crashing"),
    ],
)
def test_bindings_that_do_not_import(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str | None, outcome: str
) -> None:
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    if module is None:
        (tmp_path / "pynvml.py").write_text("raise ModuleNotFoundError('of something else')")
        outcome = "not installed"
    else:
        (tmp_path / "pynvml.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    host = nvidia.read()
    assert host.gpus == ()
    assert host.looked_for[0][0] == nvidia.BINDINGS
    assert host.looked_for[0][1].startswith(outcome)


def test_a_lost_gpu_keeps_its_place_and_its_siblings(
    read_nvidia: Callable[..., HostFacts],
) -> None:
    host = read_nvidia("h200_one_lost")
    assert [gpu.name for gpu in host.gpus] == [
        *["NVIDIA H200"] * 3,
        "unknown",
        *["NVIDIA H200"] * 4,
    ]
    lost = host.gpus[3]
    assert dict(lost.unknown)["name"] == "GPU is lost"
    assert dict(lost.unknown)["memory_bytes"] == "GPU is lost"
    assert lost.memory_bytes is None
    assert ("NVIDIA GPU 3", "GPU is lost") in host.looked_for


QUERIES = {
    "nvmlDeviceGetName": ["name"],
    "nvmlDeviceGetUUID": ["uuid"],
    "nvmlDeviceGetPciInfo": ["pci_bus_id", "pci_device_id"],
    "nvmlDeviceGetCudaComputeCapability": ["compute_capability"],
    "nvmlDeviceGetMemoryInfo": ["memory_bytes", "memory_used_bytes"],
    "nvmlDeviceGetMigMode": ["mig_enabled"],
}


@pytest.mark.parametrize("function", QUERIES)
def test_one_failing_query_hides_nothing_else(
    read_nvidia: Callable[..., HostFacts], nvml: Path, function: str
) -> None:
    broken = {**nvml_stub.H200, f"rc.{function}": nvml_stub.UNKNOWN_ERROR}
    nvml_stub.write(nvml, function, nvml_stub.machine([nvml_stub.H200, broken]))
    healthy, gpu = read_nvidia(function).gpus
    assert healthy.unknown == ()
    assert gpu.unknown == tuple((field, "Unknown Error") for field in QUERIES[function])
    empty = {"name": "unknown"}
    for field in type(gpu).__annotations__:
        if field in QUERIES[function]:
            assert getattr(gpu, field) == empty.get(field)
        elif field not in ("index", "uuid", "pci_bus_id", "unknown"):
            assert getattr(gpu, field) == getattr(healthy, field)


@pytest.mark.parametrize(
    ("failures", "driver", "cuda"),
    [
        pytest.param({"nvmlSystemGetDriverVersion": 999}, None, "13.0", id="no driver version"),
        pytest.param(
            {"nvmlSystemGetCudaDriverVersion_v2": 13}, "580.95.05", "13.0", id="old library"
        ),
        pytest.param(
            {"nvmlSystemGetCudaDriverVersion_v2": 12, "nvmlSystemGetCudaDriverVersion": 999},
            "580.95.05",
            None,
            id="no CUDA version",
        ),
        pytest.param({"nvmlShutdown": 999}, "580.95.05", "13.0", id="shutdown fails"),
    ],
)
def test_versions_may_be_unread(
    read_nvidia: Callable[..., HostFacts],
    nvml: Path,
    failures: dict[str, int],
    driver: str | None,
    cuda: str | None,
) -> None:
    nvml_stub.write(nvml, "versions", nvml_stub.machine([nvml_stub.H200], failures=failures))
    host = read_nvidia("versions")
    assert (host.nvidia_driver, host.cuda_driver) == (driver, cuda)
    assert len(host.gpus) == 1


@pytest.mark.parametrize(
    ("number", "version"), [(12080, "12.8"), (13000, "13.0"), (13010, "13.1"), (11040, "11.4")]
)
def test_cuda_version(
    read_nvidia: Callable[..., HostFacts], nvml: Path, number: int, version: str
) -> None:
    nvml_stub.write(nvml, "cuda", nvml_stub.machine([], cuda=number))
    assert read_nvidia("cuda").cuda_driver == version


def test_gb10_has_the_hosts_memory(
    read_nvidia: Callable[..., HostFacts], files: Callable[[dict[str, str]], str]
) -> None:
    (gpu,) = read_nvidia("gb10", files(SPARK)).gpus
    assert gpu.unified_memory
    assert gpu.memory_bytes == 125516820 * 1024
    assert gpu.memory_used_bytes == (125516820 - 117440512) * 1024
    assert gpu.mig_enabled is False
    assert gpu.unknown == ()


@pytest.mark.parametrize(
    ("meminfo", "total", "unread"),
    [
        pytest.param("", None, ["memory_bytes", "memory_used_bytes"], id="no meminfo"),
        pytest.param("MemTotal: 8 kB\n", 8192, ["memory_used_bytes"], id="no MemAvailable"),
    ],
)
def test_gb10_without_meminfo_is_unknown(
    read_nvidia: Callable[..., HostFacts],
    files: Callable[[dict[str, str]], str],
    meminfo: str,
    total: int | None,
    unread: list[str],
) -> None:
    (gpu,) = read_nvidia("gb10", files({"proc/meminfo": meminfo})).gpus
    assert gpu.memory_bytes == total
    assert [field for field, _ in gpu.unknown] == unread


def test_memory_of_a_gpu_in_mig_mode_is_unknown(read_nvidia: Callable[..., HostFacts]) -> None:
    cut, whole = read_nvidia("mig").gpus
    assert (cut.mig_enabled, whole.mig_enabled) == (True, False)
    assert cut.memory_bytes is None
    assert dict(cut.unknown)["memory_bytes"].startswith("MIG is on")
    assert whole.memory_bytes == 81559 * MIB


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"total": 0}, "memory_bytes", id="no memory"),
        pytest.param({"uuid": ""}, "uuid", id="no uuid"),
        pytest.param({"name": "\udcff\udcfe"}, "name", id="name that is no text"),
        pytest.param({"name": ""}, "name", id="empty name"),
    ],
)
def test_an_empty_answer_is_unknown(
    read_nvidia: Callable[..., HostFacts], nvml: Path, change: dict[str, object], field: str
) -> None:
    nvml_stub.write(nvml, "empty", nvml_stub.machine([{**nvml_stub.H200, **change}]))
    (gpu,) = read_nvidia("empty").gpus
    assert field in dict(gpu.unknown)
    assert getattr(gpu, field) == ("unknown" if field == "name" else None)


@pytest.mark.parametrize("scenario", ["h200_8x", "h200_one_lost", "count_fails"])
def test_nvml_is_shut_down(nvml: Path, tmp_path: Path, scenario: str) -> None:
    log = tmp_path / "calls"
    subprocess.run(
        [sys.executable, "-c", "from vllm_launch.host import nvidia; nvidia.read()"],
        env={**nvml_stub.env(scenario, nvml), "NVML_STUB_LOG": str(log)},
        check=True,
    )
    calls = log.read_text().split()
    assert (calls[0], calls[-1]) == ("nvmlInit", "nvmlShutdown")
    assert calls.count("nvmlShutdown") == 1


def test_the_whole_host(
    read_nvidia: Callable[..., HostFacts], files: Callable[[dict[str, str]], str]
) -> None:
    root = files({**SPARK, "proc/cpuinfo": "CPU implementer\t: 0x41\nCPU part\t: 0xd85\n"})
    host = read_nvidia("gb10", root, call="facts.read_host")
    assert host.cpu_model == "Arm Cortex-X925"
    assert host.memory_bytes == 125516820 * 1024
    assert host.gpus[0].name == "NVIDIA GB10"
    assert host == facts.from_dict(facts.to_dict(host))
