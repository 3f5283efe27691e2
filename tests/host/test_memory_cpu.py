"""Host memory and CPU model out of /proc."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vllm_launch.host import cpu, facts, memory, nvidia


@pytest.mark.parametrize(
    ("meminfo", "expected"),
    [
        pytest.param(
            "MemTotal: 2 kB\nMemFree: 9 kB\nMemAvailable:  1 kB\n", (2048, 1024), id="both"
        ),
        pytest.param("MemTotal:  2 kB\n", (2048, None), id="kernel without MemAvailable"),
        pytest.param("MemTotal: two kB\nMemAvailable: 1\n", (None, None), id="no numbers"),
        pytest.param("", (None, None), id="empty"),
        pytest.param(None, (None, None), id="no file"),
    ],
)
def test_memory(
    files: Callable[[dict[str, str]], str],
    meminfo: str | None,
    expected: tuple[int | None, int | None],
) -> None:
    assert memory.read(files({} if meminfo is None else {"proc/meminfo": meminfo})) == expected


@pytest.mark.parametrize(
    ("cpuinfo", "expected"),
    [
        pytest.param(
            "processor\t: 0\nmodel name\t: AMD EPYC 9575F 64-Core  Processor\n"
            "\nprocessor\t: 1\nmodel name\t: other\n",
            "AMD EPYC 9575F 64-Core Processor",
            id="x86",
        ),
        pytest.param("CPU implementer : 0x41\nCPU part : 0xd4f\n", "Arm Neoverse-V2", id="Grace"),
        pytest.param(
            "CPU implementer : 0x61\nCPU part : 0x022\n",
            "Arm CPU, implementer 0x61, part 0x022",
            id="another Arm",
        ),
        pytest.param("processor : 0\n", None, id="nothing said"),
        pytest.param(None, None, id="no file"),
    ],
)
def test_cpu(
    files: Callable[[dict[str, str]], str], cpuinfo: str | None, expected: str | None
) -> None:
    assert cpu.read(files({} if cpuinfo is None else {"proc/cpuinfo": cpuinfo})) == expected


@pytest.mark.usefixtures("no_amd_tools")
def test_a_host_of_nothing_has_only_reasons(
    files: Callable[[dict[str, str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(root: str) -> None:
        raise MemoryError(root)

    monkeypatch.setattr(nvidia, "read", fails)
    host = facts.read_host(files({}))
    assert host.gpus == ()
    assert dict(host.looked_for) == {
        "NVIDIA GPUs": f"failed: MemoryError: {files({})}",
        "AMD SMI library (Python package amdsmi)": "not installed",
        "amd-smi command": "not found",
        "AMD kernel driver (/sys/class/kfd, /sys/class/drm)": "not loaded",
        "memory (/proc/meminfo)": "not readable",
        "CPU model (/proc/cpuinfo)": "not named there",
    }
