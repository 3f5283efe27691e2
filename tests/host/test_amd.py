"""AMD hosts: the SMI library, its command, the kernel's files; each may be missing or broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.host import amd_tree, amdsmi_stub
from tests.host.machines import Machine
from vllm_launch.host import amd, amd_smi, amd_sysfs, drivers, facts
from vllm_launch.host.child import SECONDS
from vllm_launch.model.host import GpuProcess, HostFacts

Files = Callable[[dict[str, str]], str]
ReadHost = Callable[..., HostFacts]
ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("no_amd_tools")
class TestKernel:
    def test_every_field_of_an_mi355x_node(self, files: Files) -> None:
        root = files(amd_tree.mi355x())
        host = amd.read(root)
        assert dict(host.looked_for) == {
            amd.LIBRARY: "not installed",
            amd_smi.SOURCE: "not found",
            amd_sysfs.SOURCE: "8 GPUs",
        }
        assert host.rocm == "7.0.2"
        assert host.video_gid == os.stat(f"{root}/dev/kfd").st_gid
        assert host.render_gid == os.stat(f"{root}/dev/dri/renderD128").st_gid
        assert host.device_access == tuple(
            (name, "read and write")
            for name in ("/dev/kfd", *(f"/dev/dri/renderD{128 + index}" for index in range(8)))
        )
        assert [gpu.index for gpu in host.gpus] == list(range(8))
        gpu = host.gpus[1]
        assert (gpu.vendor, gpu.name) == ("AMD", "AMD Instinct MI355X OAM")
        assert (gpu.pci_device_id, gpu.pci_bus_id) == ("75a3", "0000:15:00.0")
        assert (gpu.gfx_target, gpu.uuid) == ("gfx950", "GPU-abcdef0000000001")
        assert (gpu.numa_node, host.gpus[7].numa_node) == (0, 1)
        assert (gpu.memory_bytes, gpu.memory_used_bytes) == (amd_tree.MI355X_BYTES, 297795584)
        assert gpu.memory_free_bytes == amd_tree.MI355X_BYTES - 297795584
        assert gpu.processes is None
        assert (gpu.compute_partition, gpu.memory_partition) == ("SPX", "NPS1")
        assert gpu.unknown == ()
        assert host == facts.from_dict(facts.to_dict(host))

    def test_processes_are_named_by_program(self, files: Files) -> None:
        first, second, *_ = amd.read(
            files({**amd_tree.mi355x(), **amd_tree.held(4711, 5 << 30), **amd_tree.held(7, 0)})
        ).gpus
        assert first.processes == (GpuProcess(pid=4711, name="python3", memory_bytes=5 << 30),)
        assert second.processes == ()

    def test_a_driver_that_came_as_a_package_has_a_version(self, files: Files) -> None:
        tree = {**amd_tree.mi355x(1), "sys/module/amdgpu/version": "6.14.14\n"}
        assert amd.read(files(tree)).amd_driver == "6.14.14"

    def test_rocm_elsewhere(self, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
        root = files({**amd_tree.card(0, 1, "744c", 24 << 30), "rocm7/.info/version": "7.1.0-1\n"})
        monkeypatch.setenv("ROCM_PATH", f"{root}/rocm7")
        assert amd.read(root).rocm == "7.1.0"

    def test_device_files_that_cannot_be_opened(self, files: Files) -> None:
        root = files(amd_tree.mi355x(2))
        os.remove(f"{root}/dev/kfd")
        os.remove(f"{root}/dev/dri/renderD129")
        os.mkdir(f"{root}/dev/dri/renderD129")  # refuses root too
        assert amd.read(root).device_access == (
            ("/dev/kfd", "No such file or directory"),
            ("/dev/dri/renderD128", "read and write"),
            ("/dev/dri/renderD129", "Is a directory"),
        )

    def test_another_vendors_render_node_is_not_ours(self, files: Files) -> None:
        other = {"sys/class/drm/renderD128/device/vendor": "0x10de\n"}
        host = amd.read(files({**amd_tree.mi355x(2), **other}))
        assert [name for name, _ in host.device_access] == ["/dev/kfd", "/dev/dri/renderD129"]

    def test_integrated_graphics_are_left_out_and_named(self, files: Files) -> None:
        host = amd.read(files(amd_tree.apu_and_discrete()))
        (gpu,) = host.gpus
        assert (gpu.pci_device_id, gpu.gfx_target) == ("744c", "gfx1100")
        assert gpu.name == "AMD GPU 744c"
        assert "name" in dict(gpu.unknown)
        assert dict(host.looked_for)["AMD GPU at 0000:0e:00.0"] == (
            "left out: 0.5 GiB of memory, not a serving device"
        )

    def test_an_index_stays_the_drivers_own(self, files: Files) -> None:
        tree = {**amd_tree.card(0, 1, "164e", 512 << 20), **amd_tree.node(1, 1, "164e", 100306)}
        tree |= {**amd_tree.card(1, 2, "744c", 24 << 30), **amd_tree.node(2, 2, "744c", 110000)}
        assert [gpu.index for gpu in amd.read(files(tree)).gpus] == [1]

    def test_a_servers_old_vga_is_left_out(self, files: Files) -> None:
        host = amd.read(files(amd_tree.card(0, 1, "515e", None)))
        assert host.gpus == ()
        assert "neither memory nor a compute target" in host.looked_for[-1][1]

    def test_a_card_without_kfd_is_kept(self, files: Files) -> None:
        (gpu,) = amd.read(files(amd_tree.card(0, 1, "74a1", amd_tree.MI300X_BYTES))).gpus
        assert gpu.gfx_target is None
        assert dict(gpu.unknown)["gfx_target"] == "no KFD node"

    def test_a_kfd_node_without_a_card_is_kept(self, files: Files) -> None:
        (gpu,) = amd.read(files(amd_tree.node(1, 5, "74a1", 90402))).gpus
        assert (gpu.pci_device_id, gpu.gfx_target) == ("74a1", "gfx942")
        assert gpu.memory_bytes is None
        assert dict(gpu.unknown)["memory_bytes"] == "no DRM card"

    def test_partitions_of_one_gpu_are_one_device(self, files: Files) -> None:
        tree = amd_tree.card(0, 5, "74a1", amd_tree.MI300X_BYTES, current_compute_partition="CPX\n")
        for number in range(8):
            tree |= amd_tree.node(1 + number, 5 | number << 20, "74a1", 90402)
        (gpu,) = amd.read(files(tree)).gpus
        assert gpu.compute_partition == "CPX"

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            pytest.param("", "mem_info_vram_total is not there or empty", id="empty"),
            pytest.param("lots\n", "mem_info_vram_total is no number", id="no number"),
        ],
    )
    def test_memory_that_cannot_be_read(self, files: Files, content: str, reason: str) -> None:
        tree = amd_tree.mi355x(2)
        tree["sys/class/drm/card2/device/mem_info_vram_total"] = content
        healthy, gpu = amd.read(files(tree)).gpus
        assert gpu.memory_bytes is None
        assert gpu.unknown == (("memory_bytes", reason),)
        assert healthy.unknown == ()

    def test_nodes_in_numeric_order(self, files: Files) -> None:
        tree = {**amd_tree.node(10, 0x01, "74a1", 90402), **amd_tree.node(9, 0x02, "74a1", 90402)}
        assert [gpu.pci_bus_id for gpu in amd.read(files(tree)).gpus] == [
            "0000:02:00.0",
            "0000:01:00.0",
        ]

    def test_the_address_is_the_link_where_uevent_is_missing(
        self, files: Files, tmp_path: Path
    ) -> None:
        root = files({"sys/devices/pci0000:00/0000:C1:00.0/vendor": "0x1002\n"})
        (tmp_path / "root/sys/class/drm/card0").mkdir(parents=True)
        os.symlink("../../../devices/pci0000:00/0000:C1:00.0", f"{root}/sys/class/drm/card0/device")
        assert [gpu.pci_bus_id for gpu in amd_sysfs.gpus(root)] == ["0000:c1:00.0"]

    @pytest.mark.parametrize(
        "tree",
        [
            pytest.param({}, id="nothing"),
            pytest.param({"sys/class/drm/card0/device": "a file"}, id="device is a file"),
            pytest.param({"sys/class/drm/card0/device/vendor": "zz"}, id="vendor is no number"),
            pytest.param(
                {"sys/class/kfd/kfd/topology/nodes/1/properties": "\0\0 vendor_id\n"}, id="garbage"
            ),
        ],
    )
    def test_no_gpu_in_broken_files(self, files: Files, tree: dict[str, str]) -> None:
        assert amd.read(files(tree)).gpus == ()


@pytest.mark.parametrize(
    ("version", "target"),
    [
        (90500, "gfx950"),
        (90402, "gfx942"),
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (110501, "gfx1151"),
    ],
)
def test_gfx_target(version: int, target: str) -> None:
    assert amd_sysfs.gfx_target(version) == target


ASIC = {
    "market_name": "AMD Instinct MI300X",
    "vendor_id": "0x1002",
    "device_id": "0x74a1",
    "target_graphics_version": "gfx942",
}
STATIC = [
    {
        "gpu": index,
        "asic": ASIC,
        "bus": {"bdf": f"0000:{0x05 + 0x10 * index:02x}:00.0"},
        "vram": {"type": "HBM", "size": {"value": 196592, "unit": "MB"}},
        "partition": {"accelerator_partition": "SPX", "memory_partition": "NPS1"},
    }
    for index in range(2)
]
LIST = [{"gpu": index, "bdf": "", "uuid": f"uuid-{index}"} for index in range(2)]


@pytest.fixture
def command(
    no_amd_tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Put an ``amd-smi`` on the path that prints what it is given, or is a script."""
    path = tmp_path / "bin" / "amd-smi"

    def install(static: str = "", listing: str = "", processes: str = "", script: str = "") -> None:
        (tmp_path / "static").write_text(static)
        (tmp_path / "list").write_text(listing)
        (tmp_path / "process").write_text(processes)
        path.write_text(script or f'#!/bin/sh\n[ "$2" = --json ] && /bin/cat "{tmp_path}/$1"\n')
        path.chmod(0o755)

    monkeypatch.setattr(amd_smi, "TIMEOUT_S", 20.0)
    return install


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(lambda rows: json.dumps(rows, indent=4), id="bare list"),
        pytest.param(lambda rows: json.dumps({"gpu_data": rows}), id="gpu_data"),
        pytest.param(
            lambda rows: (
                "[WARNING] user is not in the render group\n{oops\n[1]\n"
                + json.dumps(rows, indent=4)
            ),
            id="warnings before",
        ),
        pytest.param(lambda rows: json.dumps(rows) + "\ndone\n", id="words after"),
    ],
)
def test_amd_smi(command: Callable[..., None], files: Files, form: Callable[[object], str]) -> None:
    command(form(STATIC), form(LIST))
    host = amd.read(files({}))
    assert host.looked_for[-1] == (amd_smi.SOURCE, "2 GPUs")
    gpu = host.gpus[1]
    assert (gpu.index, gpu.name, gpu.uuid) == (1, "AMD Instinct MI300X", "uuid-1")
    assert (gpu.pci_device_id, gpu.pci_bus_id) == ("74a1", "0000:15:00.0")
    assert (gpu.gfx_target, gpu.memory_bytes) == ("gfx942", amd_tree.MI300X_BYTES)
    assert (gpu.compute_partition, gpu.memory_partition) == ("SPX", "NPS1")
    assert gpu.unknown == (("memory_used_bytes", "amd-smi does not say"),)


def test_the_kernel_fills_what_amd_smi_does_not_say(
    command: Callable[..., None], files: Files
) -> None:
    command(json.dumps(STATIC))
    host = amd.read(files(amd_tree.card(0, 0x15, "74a1", amd_tree.MI300X_BYTES)))
    assert [gpu.memory_used_bytes for gpu in host.gpus] == [None, 297795584]
    assert dict(host.gpus[1].unknown) == {"uuid": "amd-smi does not say"}


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        pytest.param({"value": 196592, "unit": "MB"}, amd_tree.MI300X_BYTES, id="value and unit"),
        pytest.param("196592 MB", amd_tree.MI300X_BYTES, id="text"),
        pytest.param(196592, amd_tree.MI300X_BYTES, id="number"),
        pytest.param({"value": 24, "unit": "GB"}, 24 << 30, id="GB"),
        pytest.param({"value": "N/A", "unit": "MB"}, None, id="not available"),
        pytest.param("N/A", None, id="not available, text"),
        pytest.param({"value": 1, "unit": "furlong"}, None, id="strange unit"),
        pytest.param(None, None, id="null"),
        pytest.param(0, None, id="zero"),
    ],
)
def test_amd_smi_sizes(
    command: Callable[..., None], files: Files, size: object, expected: int | None
) -> None:
    command(json.dumps([{"gpu": 0, "asic": ASIC, "vram": {"size": size}}]))
    (gpu,) = amd.read(files({})).gpus
    assert gpu.memory_bytes == expected
    assert ("memory_bytes" in dict(gpu.unknown)) == (expected is None)


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("0x74A1", "74a1"),
        ("74a1", "74a1"),
        (0x74A1, "74a1"),
        ("N/A", None),
        (None, None),
        (0, None),
    ],
)
def test_device_id(device: object, expected: str | None) -> None:
    assert amd_smi.device_id(device) == expected


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        pytest.param("#!/bin/sh\necho no json\n", "its answer has no list of GPUs", id="no JSON"),
        pytest.param("#!/bin/sh\nexit 3\n", "its answer has no list of GPUs", id="nothing said"),
        pytest.param('#!/bin/sh\necho "[[[[[["\n', "its answer has no list", id="cut short"),
        pytest.param("#!/no/such/shell\n", "No such file or directory", id="cannot be run"),
        pytest.param("#!/bin/sh\necho '[]'\n", "no GPU", id="none listed"),
    ],
)
def test_an_amd_smi_of_no_use_leaves_the_kernel(
    command: Callable[..., None], files: Files, script: str, outcome: str
) -> None:
    command(script=script)
    host = amd.read(files(amd_tree.mi355x()))
    assert len(host.gpus) == 8
    assert dict(host.looked_for)[amd_smi.SOURCE].startswith(outcome)


def test_an_amd_smi_that_hangs_is_left_behind(
    command: Callable[..., None], files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(amd_smi, "TIMEOUT_S", 3.0)
    command(script=f'#!/bin/sh\n/bin/sleep 600 & echo $! > "{tmp_path}/pid-$1"; wait\n')
    host = amd.read(files(amd_tree.mi355x()))
    assert len(host.gpus) == 8
    assert dict(host.looked_for)[amd_smi.SOURCE] == "`amd-smi static` gave no answer in 3.0 s"
    for what in ("static", "list", "process"):
        assert is_gone(int((tmp_path / f"pid-{what}").read_text()))


def is_gone(pid: int) -> bool:
    """A killed grandchild is gone, or waits to be reaped by whoever adopted it."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


LIBRARY = """
import ctypes
ctypes.CDLL(None).printf(b"noise in the buffer of a C library")
print("noise of the wrapper")
class AmdSmiMemoryType:
    VRAM = "vram"
class Refused(Exception):
    pass
open_count = 0
def amdsmi_init():
    global open_count
    open_count += 1
def amdsmi_shut_down():
    global open_count
    open_count -= 1
def amdsmi_get_processor_handles():
    return [0, 1]
def amdsmi_get_gpu_asic_info(handle):
    return {"market_name": "AMD Instinct MI325X", "device_id": "0x74a5",
            "target_graphics_version": "gfx942"}
def amdsmi_get_gpu_device_uuid(handle):
    return f"uuid-{handle}"
def amdsmi_get_gpu_device_bdf(handle):
    return f"0000:{0x05 + 0x10 * handle:02x}:00.0"
def amdsmi_get_gpu_memory_total(handle, kind):
    assert kind == "vram"
    return 274861129728
def amdsmi_get_gpu_memory_usage(handle, kind):
    return 297795584
def amdsmi_get_gpu_compute_partition(handle):
    return "SPX"
def amdsmi_get_gpu_memory_partition(handle):
    return "NPS1"
def amdsmi_topo_get_numa_node_number(handle):
    return handle
def amdsmi_get_gpu_process_list(handle):
    return []
def amdsmi_get_gpu_driver_info(handle):
    return {"driver_version": "6.14.14"}
"""
REFUSING = """
def refused(*args):
    raise Refused("Error code:\\n\\t2 | AMDSMI_STATUS_NOT_SUPPORTED")
"""


@pytest.fixture
def library(
    no_amd_tools: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[str], None]:
    """Install an ``amdsmi`` package of the given source."""

    def install(source: str) -> None:
        monkeypatch.delitem(sys.modules, "amdsmi")
        (tmp_path / "site").mkdir()
        (tmp_path / "site/amdsmi.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path / "site")

    return install


def test_amdsmi(library: Callable[[str], None], files: Files) -> None:
    library(LIBRARY)
    host = amd.read(files({}))
    assert host.looked_for == ((amd.LIBRARY, "2 GPUs"),)
    gpu = host.gpus[1]
    assert (gpu.index, gpu.name, gpu.uuid) == (1, "AMD Instinct MI325X", "uuid-1")
    assert (gpu.pci_device_id, gpu.pci_bus_id) == ("74a5", "0000:15:00.0")
    assert (gpu.gfx_target, gpu.memory_bytes) == ("gfx942", 274861129728)
    assert gpu.memory_used_bytes == 297795584
    assert (gpu.compute_partition, gpu.memory_partition) == ("SPX", "NPS1")
    assert gpu.unknown == ()
    assert sys.modules["amdsmi"].open_count == 0
    assert host.amd_driver == "6.14.14"


def test_what_amdsmi_prints_never_reaches_a_pipe(
    library: Callable[[str], None], tmp_path: Path
) -> None:
    library(LIBRARY)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "site")])}
    env.pop("PYTHONUNBUFFERED", None)  # it takes C's buffer away too
    script = (
        "print('before'); from vllm_launch.host import facts; "
        "assert len(facts.read_host('/none').gpus) == 2; print('after')"
    )
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"before\nafter\n", b"")


@pytest.mark.parametrize("closed", [">&-", "<&- >&-", "<&- >&- 2>&-"])
def test_amdsmi_with_standard_streams_closed(
    library: Callable[[str], None], tmp_path: Path, closed: str
) -> None:
    library(LIBRARY)
    script = "from vllm_launch.host import facts; assert len(facts.read_host('/none').gpus) == 2"
    path = os.pathsep.join([str(ROOT), str(tmp_path / "site")])
    subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, script],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
    )


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("amdsmi_get_gpu_asic_info", ["name", "pci_device_id", "gfx_target"]),
        ("amdsmi_get_gpu_device_uuid", ["uuid"]),
        ("amdsmi_get_gpu_device_bdf", ["pci_bus_id"]),
        ("amdsmi_get_gpu_memory_total", ["memory_bytes"]),
        ("amdsmi_get_gpu_memory_usage", ["memory_used_bytes"]),
        ("amdsmi_topo_get_numa_node_number", ["numa_node"]),
        ("amdsmi_get_gpu_process_list", ["processes"]),
        ("amdsmi_get_gpu_driver_info", []),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_one_refused_query_of_amdsmi_hides_nothing_else(
    library: Callable[[str], None], files: Files, query: str, fields: list[str]
) -> None:
    library(f"{LIBRARY}{REFUSING}\n{query} = refused\n")
    gpus = amd.read(files({})).gpus
    assert len(gpus) == 2
    assert [field for field, _ in gpus[0].unknown] == fields


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        pytest.param(
            "print('Unable to find libamd_smi.so'); {}['libamd_smi.so']",
            "installed, but not its library: KeyError: 'libamd_smi.so'",
            id="KeyError",
        ),
        pytest.param(
            "import ctypes; ctypes.CDLL('libno.so')", "installed, but not its", id="OSError"
        ),
        pytest.param("import sys; sys.none", "installed, but not its", id="AttributeError"),
        pytest.param("raise ImportError('x')", "installed, but not its", id="ImportError"),
        pytest.param("import sys; sys.exit(1)", "installed, but not its", id="exits"),
        pytest.param(f"{LIBRARY}{REFUSING}\namdsmi_init = refused", "failed: Refused:", id="init"),
        pytest.param("", "failed: AttributeError:", id="another package of that name"),
        pytest.param(
            f"{LIBRARY}\namdsmi_get_processor_handles = list", "no GPU", id="lists nothing"
        ),
    ],
)
def test_an_amdsmi_of_no_use_leaves_the_kernel(
    library: Callable[[str], None],
    files: Files,
    capfd: pytest.CaptureFixture[str],
    source: str,
    outcome: str,
) -> None:
    library(source)
    (host,) = drivers.finish(
        drivers.begin({"AMD GPUs": amd.read}, files(amd_tree.mi355x()), SECONDS), SECONDS
    )
    assert len(host.gpus) == 8
    assert host.looked_for[0][0] == amd.LIBRARY
    assert host.looked_for[0][1].startswith(outcome)
    assert host == facts.from_dict(facts.to_dict(host))
    assert capfd.readouterr() == ("", "")


class TestRealBindings:
    """The real amdsmi, and a stub of the library under it."""

    def test_every_field_of_a_healthy_gpu(self, read_amd: ReadHost) -> None:
        host = read_amd("mi300x_8x")
        assert host.looked_for[-1] != (amd_smi.SOURCE, "8 GPUs")
        assert (amd.LIBRARY, "8 GPUs") in host.looked_for
        assert host.amd_driver == "6.14.14"
        gpu = host.gpus[1]
        assert (gpu.index, gpu.vendor, gpu.name) == (1, "AMD", "AMD Instinct MI300X")
        assert (gpu.uuid, gpu.pci_bus_id) == ("GPU-abcdef0000000001", "0000:15:00.0")
        assert (gpu.pci_device_id, gpu.gfx_target) == ("74a1", "gfx942")
        assert (gpu.memory_bytes, gpu.memory_used_bytes) == (amd_tree.MI300X_BYTES, 297795584)
        assert gpu.memory_free_bytes == amd_tree.MI300X_BYTES - 297795584
        assert (gpu.compute_partition, gpu.memory_partition) == ("SPX", "NPS1")
        assert (gpu.numa_node, gpu.processes) == (0, ())
        assert gpu.unknown == ()
        holder = GpuProcess(pid=4711, name="python3", memory_bytes=183500 << 20)
        assert host.gpus[0].processes == (holder,)

    def test_without_a_serial_number_the_librarys_own_uuid(self, read_amd: ReadHost) -> None:
        gpu = read_amd("mi300x_vm").gpus[1]
        assert gpu.uuid == "00ff74a1-0000-1000-8001-000000000000"
        assert (gpu.name, gpu.pci_device_id) == ("AMD Radeon Graphics", "74b5")

    def test_parts_of_one_gpu_share_its_modes(self, read_amd: ReadHost) -> None:
        gpus = read_amd("mi300x_cpx").gpus
        assert len(gpus) == 8
        modes = {(gpu.compute_partition, gpu.memory_partition) for gpu in gpus}
        assert modes == {("CPX", "NPS4")}

    def test_integrated_graphics_are_left_out(self, read_amd: ReadHost) -> None:
        host = read_amd("apu_and_discrete")
        assert [gpu.pci_device_id for gpu in host.gpus] == ["744c"]
        assert "0.5 GiB of memory" in dict(host.looked_for)["AMD GPU at 0000:0e:00.0"]

    @pytest.mark.parametrize(
        ("scenario", "outcome"),
        [
            ("no_rocm", "installed, but not its library: KeyError: 'libamd_smi.so'"),
            ("not_loaded", "AMDSMI_STATUS_DRIVER_NOT_LOADED - Driver not loaded"),
            ("no_gpus", "no GPU"),
        ],
    )
    def test_no_gpus_has_a_reason(self, read_amd: ReadHost, scenario: str, outcome: str) -> None:
        host = read_amd(scenario)
        assert host.gpus == ()
        assert dict(host.looked_for)[amd.LIBRARY].removeprefix("failed: ") == outcome

    def test_one_failing_query_hides_nothing_else(self, read_amd: ReadHost, amdsmi: Path) -> None:
        queries = {
            "amdsmi_get_gpu_device_bdf": "pci_bus_id",
            "amdsmi_get_gpu_memory_total": "memory_bytes",
            "amdsmi_get_gpu_memory_usage": "memory_used_bytes",
            "amdsmi_topo_get_numa_node_number": "numa_node",
            "amdsmi_get_gpu_process_list": "processes",
        }
        whole = amdsmi_stub.MI300X
        broken = [{**whole, f"rc.{function}": amdsmi_stub.NO_PERM} for function in queries]
        amdsmi_stub.write(amdsmi, "broken", amdsmi_stub.machine([whole, *broken]))
        healthy, *gpus = read_amd("broken").gpus
        assert healthy.unknown == ()
        for gpu, field in zip(gpus, queries.values(), strict=True):
            assert gpu.unknown == ((field, "AMDSMI_STATUS_NO_PERM - Permission Denied"),)

    def test_rocms_own_package_where_the_installed_one_is_broken(
        self, amdsmi: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "site/amdsmi").mkdir(parents=True)
        (tmp_path / "site/amdsmi/__init__.py").write_text("from . import nothing_of_the_kind")
        (tmp_path / "share/amd_smi").mkdir(parents=True)
        (tmp_path / "share/amd_smi/amdsmi").symlink_to(amdsmi_stub.package())
        (tmp_path / "lib").symlink_to(amdsmi / "rocm/lib")
        env = Machine("no_driver", "mi300x_8x").env(amdsmi, amdsmi)
        env |= {"ROCM_PATH": str(tmp_path), "ROCM_HOME": str(tmp_path)}
        env["PYTHONPATH"] = os.pathsep.join([str(tmp_path / "site"), env["PYTHONPATH"]])
        script = (
            "import sys; before = list(sys.path); from vllm_launch.host import amd; "
            "print(len(amd.read('/none').gpus)); assert sys.path == before"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, check=True
        )
        assert done.stdout == b"8\n"

    def test_the_library_is_shut_down(self, amdsmi: Path, tmp_path: Path) -> None:
        env = Machine("no_driver", "mi300x_1x").env(amdsmi, amdsmi)
        env["STUB_LOG"] = str(tmp_path / "calls")
        script = "from vllm_launch.host import amd; amd.read('/none')"
        subprocess.run([sys.executable, "-c", script], env=env, check=True)
        calls = (tmp_path / "calls").read_text().split()
        assert (calls[0], calls[-1]) == ("amdsmi_init", "amdsmi_shut_down")


def test_gpus_are_numbered_in_the_runtimes_order(
    files: Files, library: Callable[[str], None]
) -> None:
    """amdsmi goes by address; HIP, and so its masks, by the KFD's nodes."""
    library(LIBRARY)
    tree = {**amd_tree.node(1, 0x15, "74a5", 90402), **amd_tree.node(2, 0x05, "74a5", 90402)}
    gpus = amd.read(files(tree)).gpus
    assert [(gpu.index, gpu.pci_bus_id) for gpu in gpus] == [
        (0, "0000:15:00.0"),
        (1, "0000:05:00.0"),
    ]
    assert [gpu.uuid for gpu in gpus] == ["uuid-1", "uuid-0"]


PROCESSES = [
    {
        "gpu": 0,
        "process_list": [
            {
                "process_info": {
                    "name": "/usr/bin/python3 --token hunter2",
                    "pid": 4711,
                    "memory_usage": {"vram_mem": {"value": 1 << 30, "unit": "B"}},
                }
            },
            {"process_info": "No running processes detected"},
        ],
    },
    {"gpu": 1, "process_list": [{"process_info": "No running processes detected"}]},
]


def test_amd_smi_processes(command: Callable[..., None], files: Files) -> None:
    static = [
        {
            **one,
            "asic": {**ASIC, "asic_serial": f"0xABCDEF000000000{index}"},
            "driver": {"name": "amdgpu", "version": "6.14.14"},
            "numa": {"node": index, "affinity": 0},
        }
        for index, one in enumerate(STATIC)
    ]
    command(json.dumps(static), json.dumps(LIST), json.dumps(PROCESSES))
    host = amd.read(files({}))
    first, second = host.gpus
    assert first.processes == (GpuProcess(pid=4711, name="python3", memory_bytes=1 << 30),)
    assert second.processes == ()
    assert [gpu.uuid for gpu in host.gpus] == ["GPU-abcdef0000000000", "GPU-abcdef0000000001"]
    assert [gpu.numa_node for gpu in host.gpus] == [0, 1]
    assert host.amd_driver == "6.14.14"
    assert "hunter2" not in str(host)
