"""NVIDIA hosts through the real pynvml and a stub driver library."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.host import nvml_stub
from vllm_launch.host import facts, nvidia
from vllm_launch.host.nvidia import DRIVER
from vllm_launch.model.host import Gpu, GpuProcess, HostFacts, MigDevice

MIB = 1 << 20
ReadHost = Callable[..., HostFacts]
# What every GPU has.
UNSUPPORTED_MEANS_MORE = {
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetMemoryInfo",  # in a machine without /proc/meminfo
}
SPARK = {"proc/meminfo": "MemTotal:       125516820 kB\nMemAvailable:   117440512 kB\n"}


def test_every_field_of_a_healthy_gpu(read_nvidia: ReadHost) -> None:
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
    assert gpu.memory_free_bytes == 143767 * MIB
    assert gpu.processes == ()
    assert (gpu.mig_enabled, gpu.mig_devices) == (False, None)
    assert (gpu.nvlink_active, gpu.nvlink_peers) == (18, ("switch",))
    assert (gpu.fabric_state, gpu.fabric_clique, gpu.fabric_cluster) == ("completed", 0, None)
    assert gpu.persistence_mode is True
    assert (gpu.ecc_uncorrected, gpu.ecc_pending) == (0, False)
    assert (gpu.numa_node, host.gpus[7].numa_node) == (0, 1)
    assert not gpu.unified_memory
    assert gpu.fault is None
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
def test_no_gpus_has_a_reason(read_nvidia: ReadHost, scenario: str, outcome: str) -> None:
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
    read_nvidia: ReadHost,
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
    assert lost.fault == "GPU is lost"
    assert ("NVIDIA GPU 3", "GPU is lost") in host.looked_for


def test_a_gpu_that_is_lost_while_it_is_asked(read_nvidia: ReadHost, nvml: Path) -> None:
    healthy = nvml_stub.H200
    nvml_stub.write(nvml, "later", nvml_stub.machine([healthy, nvml_stub.LOST_LATER, healthy]))
    first, lost, last = read_nvidia("later").gpus
    assert (lost.name, lost.uuid) == ("NVIDIA H200", "GPU-00000000-0000-4000-8000-000000000001")
    assert lost.fault == "GPU is lost"
    assert dict(lost.unknown)["memory_bytes"] == "GPU is lost"
    assert dict(lost.unknown)["numa_node"] == "GPU is lost"
    assert (first.fault, last.fault) == (None, None)


MEMORY = ["memory_bytes", "memory_used_bytes", "memory_free_bytes"]
QUERIES = {
    "nvmlDeviceGetName": ["name"],
    "nvmlDeviceGetUUID": ["uuid"],
    "nvmlDeviceGetPciInfo": ["pci_bus_id", "pci_device_id"],
    "nvmlDeviceGetCudaComputeCapability": ["compute_capability"],
    "nvmlDeviceGetMemoryInfo": MEMORY,
    "nvmlDeviceGetMigMode": ["mig_enabled"],
    "nvmlDeviceGetComputeRunningProcesses": ["processes"],
    "nvmlDeviceGetGraphicsRunningProcesses": ["processes"],
    "nvmlDeviceGetNvLinkState": ["nvlink_active", "nvlink_peers"],
    "nvmlDeviceGetGpuFabricInfoV": ["fabric_state", "fabric_clique", "fabric_cluster"],
    "nvmlDeviceGetPersistenceMode": ["persistence_mode"],
    "nvmlDeviceGetTotalEccErrors": ["ecc_uncorrected"],
    "nvmlDeviceGetRemappedRows": ["ecc_pending"],
    "nvmlDeviceGetMemoryAffinity": ["numa_node"],
}
OWN = {"index", "uuid", "pci_bus_id", "unknown"}


REASONS = {
    nvml_stub.UNKNOWN_ERROR: "Unknown Error",
    nvml_stub.NO_PERMISSION: "Insufficient Permissions",
}


def broken_each(nvml: Path, codes: Iterable[int], read_nvidia: ReadHost) -> tuple[Gpu, ...]:
    """A healthy GPU, then one for each code and query, of which that one fails."""
    same = {**nvml_stub.H200, "numa": 0}
    broken = [{**same, f"rc.{function}": code} for code in codes for function in QUERIES]
    nvml_stub.write(nvml, "broken", nvml_stub.machine([same, *broken]))
    return read_nvidia("broken", "/none").gpus


def test_one_failing_query_hides_nothing_else(read_nvidia: ReadHost, nvml: Path) -> None:
    healthy, *gpus = broken_each(nvml, REASONS, read_nvidia)
    assert healthy.unknown == ()
    cases = [(function, reason) for reason in REASONS.values() for function in QUERIES]
    empty = {"name": "unknown", "nvlink_peers": ()}
    for gpu, (function, reason) in zip(gpus, cases, strict=True):
        assert gpu.unknown == tuple((field, reason) for field in QUERIES[function]), function
        assert gpu.fault is None
        for field in type(gpu).__annotations__:
            if field in QUERIES[function]:
                assert getattr(gpu, field) == empty.get(field), function
            elif field not in OWN:
                assert getattr(gpu, field) == getattr(healthy, field), function


def test_what_a_gpu_does_not_support_is_not_unknown(read_nvidia: ReadHost, nvml: Path) -> None:
    _, *gpus = broken_each(nvml, [nvml_stub.NOT_SUPPORTED], read_nvidia)
    for gpu, function in zip(gpus, QUERIES, strict=True):
        assert bool(gpu.unknown) == (function in UNSUPPORTED_MEANS_MORE), function


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
    read_nvidia: ReadHost,
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
def test_cuda_version(read_nvidia: ReadHost, nvml: Path, number: int, version: str) -> None:
    nvml_stub.write(nvml, "cuda", nvml_stub.machine([], cuda=number))
    assert read_nvidia("cuda").cuda_driver == version


def test_an_old_driver_has_older_functions(read_nvidia: ReadHost) -> None:
    host = read_nvidia("h100_8x_old_driver")
    assert (host.nvidia_driver, host.cuda_driver) == ("470.256.02", "11.4")
    gpu = host.gpus[1]
    assert (gpu.memory_bytes, gpu.memory_free_bytes) == (81559 * MIB, 81555 * MIB)
    assert gpu.processes == ()
    assert (gpu.nvlink_active, gpu.nvlink_peers) == (18, ())
    assert gpu.fabric_state == "completed"
    assert gpu.unknown == (("numa_node", "Function Not Found"),)


def test_an_old_driver_lists_processes(read_nvidia: ReadHost, nvml: Path) -> None:
    gpu = {**nvml_stub.H100, "processes": "7:512", "reserved": 300, "used": 500}
    programs = {7: "/opt/app/run"}
    nvml_stub.write(nvml, "one_old_driver", nvml_stub.machine([gpu], programs=programs))
    (old,) = read_nvidia("one_old_driver", "/none").gpus
    assert old.processes == (GpuProcess(pid=7, name="run", memory_bytes=512 * MIB),)
    assert old.memory_used_bytes == 800  # with what the driver keeps to itself


def test_a_newer_driver_tells_its_own_memory_apart(read_nvidia: ReadHost, nvml: Path) -> None:
    gpu = {**nvml_stub.H100, "reserved": 300 * MIB, "used": 500 * MIB}
    nvml_stub.write(nvml, "reserved", nvml_stub.machine([gpu]))
    (one,) = read_nvidia("reserved").gpus
    assert one.memory_used_bytes == 500 * MIB
    assert one.memory_free_bytes == (81559 - 800) * MIB


OLD_BINDINGS = """
import sys, json, pynvml
from vllm_launch.host import facts, nvidia
newer = ("Processes_v3", "InfoV", "InfoV_t", "MemoryAffinity")
for name in [name for name in dir(pynvml) if name.endswith(newer)]:
    delattr(pynvml, name)
del pynvml.nvmlMemory_v2
json.dump(facts.to_dict(nvidia.read("/none")), sys.stdout)
"""
BYTES = """
import sys, json, pynvml
from vllm_launch.host import facts, nvidia
for name in ["nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlSystemGetDriverVersion"]:
    call = getattr(pynvml, name)
    setattr(pynvml, name, lambda *of, call=call: call(*of).encode() + b"\\0\\xff")
json.dump(facts.to_dict(nvidia.read()), sys.stdout)
"""


def run(script: str, env: dict[str, str]) -> HostFacts:
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
    return facts.from_dict(json.loads(done.stdout))


def test_bindings_older_than_the_functions(nvml: Path) -> None:
    gpu = run(OLD_BINDINGS, nvml_stub.env("h200_8x", nvml)).gpus[1]
    assert gpu.memory_bytes == 143771 * MIB
    assert gpu.processes == ()
    assert gpu.fabric_state == "completed"
    assert [field for field, _ in gpu.unknown] == ["numa_node"]


def test_bindings_that_return_bytes(nvml: Path) -> None:
    env = nvml_stub.env("h200_8x", nvml)
    host = run(BYTES, env)
    assert host.nvidia_driver == "580.95.05"
    assert host.gpus[1].name == "NVIDIA H200"
    assert host.gpus[1].uuid == "GPU-00000000-0000-4000-8000-000000000001"


def test_processes_by_program_and_never_by_argument(
    read_nvidia: ReadHost, nvml: Path, files: Callable[[dict[str, str]], str]
) -> None:
    gpu = {**nvml_stub.H200, "processes": "10:100,11:200,12", "graphics": "12:50,13:1"}
    programs = {
        10: "/usr/bin/python3 -m serve --api-key hunter2",
        11: "/opt/server --token=hunter2",
        13: "",
    }
    nvml_stub.write(nvml, "processes", nvml_stub.machine([gpu], programs=programs))
    root = files({"proc/10/comm": "VLLM::EngineCor\n", "proc/10/cmdline": "x\0--api-key\0hunter2"})
    (one,) = read_nvidia("processes", root).gpus
    assert one.processes == (
        GpuProcess(pid=10, name="VLLM::EngineCor", memory_bytes=100 * MIB),
        GpuProcess(pid=11, name="server", memory_bytes=200 * MIB),
        GpuProcess(pid=12, name=None, memory_bytes=50 * MIB),
        GpuProcess(pid=13, name=None, memory_bytes=1 * MIB),
    )
    assert "hunter2" not in str(one)
    assert one.unknown == ()


def test_links_of_a_pair_with_a_bridge(read_nvidia: ReadHost, nvml: Path) -> None:
    bridged = [
        {**nvml_stub.SERVER, "name": "NVIDIA H100 NVL", "cc": "9.0", "device": "2321",
         "nvlinks": 6, "nvlink_to": f"00000000:{other:02X}:00.0"}
        for other in (0x1A, 0x19)
    ]  # fmt: skip
    nvml_stub.write(nvml, "bridge", nvml_stub.machine(bridged))
    one, other = read_nvidia("bridge").gpus
    assert (one.nvlink_active, one.nvlink_peers) == (6, (other.pci_bus_id,))
    assert (other.nvlink_active, other.nvlink_peers) == (6, (one.pci_bus_id,))


NO_CLUSTER = "0" * 32
FABRICS = {
    f"1:0:0:{NO_CLUSTER}": ("not started", None, None),
    f"2:0:0:{NO_CLUSTER}": ("in progress", None, None),
    f"3:0:7:{NO_CLUSTER}": ("completed", 7, None),  # a node by itself
    "3:0:7:00112233445566778899aabbccddeeff": (  # in a rack
        "completed", 7, "00112233-4455-6677-8899-aabbccddeeff",
    ),
    f"3:999:0:{NO_CLUSTER}": ("failed: Unknown Error", 0, None),
    f"0:0:0:{NO_CLUSTER}": (None, None, None),  # it joins none
    f"9:0:0:{NO_CLUSTER}": ("state 9", None, None),
}  # fmt: skip


def test_fabric(read_nvidia: ReadHost, nvml: Path) -> None:
    gpus = [{**nvml_stub.H200, "fabric": fabric} for fabric in FABRICS]
    nvml_stub.write(nvml, "fabric", nvml_stub.machine(gpus))
    found = read_nvidia("fabric").gpus
    for gpu, expected in zip(found, FABRICS.values(), strict=True):
        assert (gpu.fabric_state, gpu.fabric_clique, gpu.fabric_cluster) == expected


def test_memory_errors(read_nvidia: ReadHost, nvml: Path) -> None:
    plain = {key: value for key, value in nvml_stub.H200.items() if key not in ("ecc", "remapped")}
    rows = {**plain, "ecc": 3, "remapped": 1}
    pages = {**plain, "ecc": 0, "retired": 1}  # a GPU of before rows could be remapped
    nvml_stub.write(nvml, "ecc", nvml_stub.machine([rows, pages, plain]))
    gpus = read_nvidia("ecc").gpus
    assert [gpu.ecc_uncorrected for gpu in gpus] == [3, 0, None]
    assert [gpu.ecc_pending for gpu in gpus] == [True, True, None]
    assert [gpu.unknown for gpu in gpus] == [()] * 3


def test_the_kernel_knows_the_numa_node_where_an_old_driver_does_not(
    read_nvidia: ReadHost, files: Callable[[dict[str, str]], str]
) -> None:
    nodes = {
        "sys/bus/pci/devices/0000:19:00.0/numa_node": "1\n",
        "sys/bus/pci/devices/0000:1a:00.0/numa_node": "-1\n",
    }
    first, second, *_ = read_nvidia("h100_8x_old_driver", files(nodes)).gpus
    assert (first.numa_node, first.unknown) == (1, ())
    assert (second.numa_node, second.unknown) == (None, (("numa_node", "Function Not Found"),))


def test_a_number_that_no_device_has_is_unknown(read_nvidia: ReadHost, nvml: Path) -> None:
    nvml_stub.write(nvml, "nonsense", nvml_stub.machine([{**nvml_stub.H200, "ecc": (1 << 64) - 1}]))
    (gpu,) = read_nvidia("nonsense").gpus
    assert gpu.ecc_uncorrected is None
    assert dict(gpu.unknown) == {"ecc_uncorrected": f"the driver says {(1 << 64) - 1}"}


def test_gb10_has_the_hosts_memory(
    read_nvidia: ReadHost, files: Callable[[dict[str, str]], str]
) -> None:
    (gpu,) = read_nvidia("gb10", files(SPARK)).gpus
    assert gpu.unified_memory
    assert gpu.memory_bytes == 125516820 * 1024
    assert gpu.memory_used_bytes == (125516820 - 117440512) * 1024
    assert gpu.memory_free_bytes == 117440512 * 1024
    assert gpu.mig_enabled is False
    assert gpu.unknown == ()


@pytest.mark.parametrize(
    ("meminfo", "total", "unread"),
    [
        pytest.param("", None, MEMORY, id="no meminfo"),
        pytest.param("MemTotal: 8 kB\n", 8192, MEMORY[1:], id="no MemAvailable"),
    ],
)
def test_gb10_without_meminfo_is_unknown(
    read_nvidia: ReadHost,
    files: Callable[[dict[str, str]], str],
    meminfo: str,
    total: int | None,
    unread: list[str],
) -> None:
    (gpu,) = read_nvidia("gb10", files({"proc/meminfo": meminfo})).gpus
    assert gpu.memory_bytes == total
    assert [field for field, _ in gpu.unknown] == unread


def test_memory_of_a_gpu_in_mig_mode_is_unknown(read_nvidia: ReadHost) -> None:
    cut, whole = read_nvidia("mig").gpus
    assert (cut.mig_enabled, whole.mig_enabled) == (True, False)
    assert cut.memory_bytes is None
    assert dict(cut.unknown)["memory_bytes"].startswith("MIG is on")
    assert whole.memory_bytes == 81559 * MIB


def test_mig_instances_have_their_own_memory(read_nvidia: ReadHost) -> None:
    (gpu,) = read_nvidia("mig_7x1g").gpus
    assert gpu.mig_devices is not None
    assert len(gpu.mig_devices) == 7
    assert gpu.mig_devices[1] == MigDevice(
        uuid="MIG-11111111-2222-5333-8444-000000000001",
        profile="1g.10gb",
        memory_bytes=9984 * MIB,
        memory_used_bytes=15 * MIB,
    )


def test_memory_of_mig_instances_that_may_not_be_read(read_nvidia: ReadHost) -> None:
    (gpu,) = read_nvidia("mig_no_permission").gpus
    assert gpu.mig_devices is not None
    assert [one.profile for one in gpu.mig_devices] == ["3g.40gb"] * 2
    for one in gpu.mig_devices:
        assert one.memory_bytes is None
        assert dict(one.unknown) == dict.fromkeys(MEMORY[:2], "Insufficient Permissions")
    assert gpu.memory_bytes is None


def test_mig_instances_with_holes_and_without_a_profile_in_the_name(
    read_nvidia: ReadHost, nvml: Path
) -> None:
    instances = nvml_stub.mig(3, "2g.20gb", 20096, name="NVIDIA H100 80GB HBM3", slices=2)
    del instances["m1.uuid"]
    nvml_stub.write(nvml, "holes", nvml_stub.machine([{**nvml_stub.H100, **instances}]))
    (gpu,) = read_nvidia("holes").gpus
    assert gpu.mig_devices is not None
    assert [(one.uuid or "")[-1] for one in gpu.mig_devices] == ["0", "2"]
    assert [one.profile for one in gpu.mig_devices] == ["2g.20gb"] * 2


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetMigDeviceHandleByIndex"]
)
def test_mig_instances_that_cannot_be_listed(
    read_nvidia: ReadHost, nvml: Path, function: str
) -> None:
    gpu = {**nvml_stub.MIG_7X1G, f"rc.{function}": nvml_stub.UNKNOWN_ERROR}
    nvml_stub.write(nvml, "unlisted", nvml_stub.machine([gpu]))
    (one,) = read_nvidia("unlisted").gpus
    assert one.mig_enabled is True
    assert dict(one.unknown)["mig_devices"] == "Unknown Error"


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
    read_nvidia: ReadHost, nvml: Path, change: dict[str, object], field: str
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
        env={**nvml_stub.env(scenario, nvml), "STUB_LOG": str(log)},
        check=True,
    )
    calls = log.read_text().split()
    assert (calls[0], calls[-1]) == ("nvmlInit", "nvmlShutdown")
    assert calls.count("nvmlShutdown") == 1


def test_the_whole_host(read_nvidia: ReadHost, files: Callable[[dict[str, str]], str]) -> None:
    root = files({**SPARK, "proc/cpuinfo": "CPU implementer\t: 0x41\nCPU part\t: 0xd85\n"})
    host = read_nvidia("gb10", root, call="facts.read_host")
    assert host.cpu_model == "Arm Cortex-X925"
    assert host.memory_bytes == 125516820 * 1024
    assert host.gpus[0].name == "NVIDIA GB10"
    assert host == facts.from_dict(facts.to_dict(host))
