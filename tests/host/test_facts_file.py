"""Host facts as a file: what is written loads again, and nothing else loads."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vllm_launch.errors import UsageError
from vllm_launch.host import facts, facts_file
from vllm_launch.model.host import (
    Gpu,
    GpuProcess,
    HostFacts,
    LocalImage,
    MigDevice,
    NetworkInterface,
    NumaNode,
    RdmaDevice,
)
from vllm_launch.model.record import Record

GPU = Gpu(
    index=0,
    vendor="NVIDIA",
    name="NVIDIA H200",
    uuid="GPU-0",
    compute_capability="9.0",
    memory_bytes=150754820096,
    processes=(GpuProcess(pid=4711, name="python3", memory_bytes=1 << 30),),
    mig_devices=(MigDevice(uuid="MIG-0", profile="1g.18gb"),),
    unknown=(("pci_bus_id", "Unknown Error"),),
)
HOST = HostFacts(
    gpus=(GPU, GPU.replace(index=1)),
    cpu_flags=("avx2", "amx_bf16"),
    numa_nodes=(NumaNode(node=0, cpus=64),),
    memory_bytes=1 << 40,
    looked_for=(("driver", "2 GPUs"),),
)


def test_saved_facts_load(tmp_path: Path) -> None:
    path = str(tmp_path / "facts.json")
    facts.save(HOST, path)
    assert facts.load(path) == HOST


def test_the_file_is_versioned_ascii_and_stable(tmp_path: Path) -> None:
    facts.save(HOST, str(tmp_path / "one"))
    facts.save(HOST, str(tmp_path / "two"))
    content = (tmp_path / "one").read_bytes()
    assert content == (tmp_path / "two").read_bytes()
    assert content.isascii()
    assert list(json.loads(content))[:2] == ["format", "version"]


def test_the_file_has_the_records_fields_and_nothing_else() -> None:
    written = facts.to_dict(HOST)
    assert list(written) == ["format", "version", *HostFacts.__annotations__]
    assert list(written["gpus"][0]) == list(Gpu.__annotations__)


def test_every_field_can_be_parsed() -> None:
    for record in (HostFacts, *PARTS):
        for annotation in record.__annotations__.values():
            plain = annotation.removesuffix(" | None")
            assert plain in facts_file._SCALARS or plain in facts_file._LISTS


def changed(path: str, value: object) -> Any:
    """The file of HOST with one thing in it replaced; "gpus.0.name" is a place."""
    whole = copy.deepcopy(facts.to_dict(HOST))
    *parents, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    place: Any = whole
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return whole


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        ("format", ..., 'has no "format"'),
        ("format", "another", 'has no "format"'),
        ("version", ..., "is of version None"),
        ("version", 2, "is of version 2"),
        ("version", True, "is of version True"),
        ("version", "1", "is of version '1'"),
        ("gpus", ..., "gpus: is missing"),
        ("gpus", {}, "gpus: must be a list"),
        ("gpus", None, "gpus: must be a list"),
        ("gpus.0", [], "gpus[0]: must be an object"),
        ("gpus.1.name", ..., "gpus[1].name: is missing"),
        ("gpus.1.name", None, "gpus[1].name: must be a string"),
        ("gpus.1.name", "\x1b[2J", "gpus[1].name: must be a string of printable characters"),
        ("gpus.1.name", "\ud800", "gpus[1].name: must be a string of printable characters"),
        ("gpus.1.index", True, "gpus[1].index: must be a whole number, 0 or more"),
        ("gpus.1.index", -1, "gpus[1].index: must be a whole number, 0 or more"),
        ("gpus.1.index", 0, "gpus[1].index: a second NVIDIA GPU 0"),
        ("gpus.1.vendor", "Nvidia", "gpus[1].vendor: must be one of NVIDIA, AMD"),
        ("gpus.1.memory_bytes", 1.5, "gpus[1].memory_bytes: must be a whole number, 0 or more or"),
        ("gpus.1.memory_bytes", 1 << 63, "gpus[1].memory_bytes: must be a whole number"),
        ("gpus.1.memory_bytes", float("nan"), "gpus[1].memory_bytes: must be a whole number"),
        ("gpus.1.unified_memory", 1, "gpus[1].unified_memory: must be true or false"),
        ("gpus.1.unified_memory", None, "gpus[1].unified_memory: must be true or false"),
        ("gpus.1.mig_enabled", "no", "gpus[1].mig_enabled: must be true or false or null"),
        ("gpus.1.unknown.0", ["a"], "gpus[1].unknown[0]: must be a list of two strings"),
        ("gpus.1.unknown.0", ["a", 1], "gpus[1].unknown[0]: must be a list of two strings"),
        ("gpus.1.vram", 1, "gpus[1].vram: no such key"),
        ("gpus.1.processes", {}, "gpus[1].processes: must be a list"),
        ("gpus.1.processes.0", 4711, "gpus[1].processes[0]: must be an object"),
        ("gpus.1.processes.0.pid", ..., "gpus[1].processes[0].pid: is missing"),
        ("gpus.1.processes.0.arguments", "", "gpus[1].processes[0].arguments: no such key"),
        ("gpus.1.mig_devices.0.uuid", 7, "gpus[1].mig_devices[0].uuid: must be a string of"),
        ("cpu_flags.1", "\x07", "cpu_flags[1]: must be a string of printable characters"),
        ("numa_nodes.0.cpus", -1, "numa_nodes[0].cpus: must be a whole number, 0 or more"),
        ("nodename", "node7", "nodename: no such key"),
        ("\x1b[2J", 1, r"\x1b[2J: no such key"),
        ("memory_bytes", "1 TB", "memory_bytes: must be a whole number, 0 or more or null"),
        ("looked_for", "nothing", "looked_for: must be a list"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isprintable() else None,
)
def test_a_wrong_file_is_refused(tmp_path: Path, path: str, value: object, fault: str) -> None:
    file = tmp_path / "facts.json"
    file.write_text(json.dumps(changed(path, value)))
    with pytest.raises(UsageError) as caught:
        facts.load(str(file))
    message = str(caught.value)
    assert str(file) in message
    assert fault in message
    assert "\x1b" not in message
    assert caught.value.hint


def test_every_fault_is_named_at_once() -> None:
    value = changed("gpus.0.name", 1)
    value["rocm"] = 7
    with pytest.raises(UsageError, match=r"gpus\[0\]\.name: .*\n.*rocm: must be"):
        facts.from_dict(value)


def test_many_faults_are_cut_short() -> None:
    value = changed("looked_for", [0] * 1000)
    with pytest.raises(UsageError, match="and 980 more") as caught:
        facts.from_dict(value)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param(b"", "is not JSON", id="empty"),
        pytest.param(b"gpus: []", "is not JSON", id="YAML"),
        pytest.param(b"\xff\xfe\xfd", "is not JSON", id="no text"),
        pytest.param(b"[" * 100_000, "is not JSON", id="deep"),
        pytest.param(b"1" * 10_000, "is not JSON", id="endless number"),
        pytest.param(b"[]", 'has no "format"', id="a list"),
        pytest.param(b"null", 'has no "format"', id="null"),
        pytest.param(b" " * (1 << 20) + b"{}", "is over 1 MiB", id="over 1 MiB"),
    ],
)
def test_what_is_no_facts_file_is_refused(tmp_path: Path, content: bytes, fault: str) -> None:
    file = tmp_path / "facts.json"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=fault):
        facts.load(str(file))


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        pytest.param("none", "No such file", id="missing"),
        pytest.param(".", "Is a directory", id="directory"),
        pytest.param("a\0b", "null byte", id="no path"),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, path: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        facts.load(f"{tmp_path}/{path}")


@pytest.mark.parametrize("path", ["none/facts.json", ".", "a\0b"])
def test_what_cannot_be_written(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError, match="cannot write host facts to"):
        facts.save(HOST, f"{tmp_path}/{path}")


def test_a_short_file_written_by_hand_is_enough() -> None:
    gpu = {"index": 0, "vendor": "AMD", "name": "x", "pci_device_id": "75a3"}
    value = {"format": facts_file.FORMAT, "version": 1, "gpus": [gpu]}
    host = facts.from_dict(value)
    assert host.gpus == (Gpu(index=0, vendor="AMD", name="x", pci_device_id="75a3"),)


WORDS = st.text(st.characters(exclude_categories=("C", "Z"), include_characters=" "))
SCALARS = {"str": WORDS, "int": st.integers(0, (1 << 63) - 1), "bool": st.booleans()}
PARTS = (Gpu, GpuProcess, LocalImage, MigDevice, NumaNode, NetworkInterface, RdmaDevice)
RECORDS = {record.__name__: record for record in PARTS}


def values(annotation: str) -> st.SearchStrategy[Any]:
    plain = annotation.removesuffix(" | None")
    inner = plain.removeprefix("tuple[").removesuffix(", ...]")
    one = SCALARS[plain] if plain in SCALARS else several(inner)
    return one if plain == annotation else st.none() | one


def several(kind: str) -> st.SearchStrategy[Any]:
    if kind in RECORDS:
        return st.lists(records(RECORDS[kind]), max_size=2).map(tuple)
    one = WORDS if kind == "str" else st.tuples(WORDS, WORDS)
    return st.lists(one, max_size=3).map(tuple)


def records(record: type[Record]) -> st.SearchStrategy[Any]:
    fields = {key: values(kind) for key, kind in record.__annotations__.items()}
    return st.builds(record, **fields)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(records(HostFacts))
def test_any_facts_come_back(host: HostFacts) -> None:
    gpus = (gpu.replace(index=index, vendor="AMD") for index, gpu in enumerate(host.gpus))
    host = host.replace(gpus=tuple(gpus))
    assert facts.from_dict(json.loads(json.dumps(facts.to_dict(host)))) == host


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.sampled_from(["gpus", "gpus.0", "gpus.0.name", "gpus.1.unknown", "looked_for"]), JSON)
def test_nothing_but_a_usage_error(path: str, value: Any) -> None:
    message = ""
    try:
        facts.from_dict(changed(path, value))
    except UsageError as error:
        message = str(error)
    assert message.replace("\n", "").isprintable()


ANEW = "write it again with this version's: vllm-launch detect --save FILE"


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        pytest.param({"version": 0}, ANEW, id="older"),
        pytest.param(
            {"version": 2},
            f"a newer vllm-launch wrote it: use that one, or {ANEW}",
            id="newer",
        ),
        pytest.param(
            {"flux": 1}, f"a newer vllm-launch may have written it: {ANEW}", id="more keys"
        ),
        pytest.param(
            {"flux": 1, "gpus": 2},
            "such a file is written by: vllm-launch detect --save FILE",
            id="nonsense",
        ),
    ],
)
def test_facts_of_another_version_say_what_to_do(change: dict[str, Any], hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        facts_file.from_dict({"format": facts_file.FORMAT, "version": 1, "gpus": [], **change})
    assert caught.value.hint == hint
