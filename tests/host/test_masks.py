"""Masks in the environment, by the rules of the runtimes that they are for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.model.host import Gpu, MigDevice
from vllm_launch.resolve.masks import device_id, mask_for, visible
from vllm_launch.resolve.match import match_profile

CUDA, RUNTIME, ORDER = "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"
ROCR, HIP, ORDINAL = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"
UUIDS = ["a1b2", "a1c3", "b0d4", "c7e5", "d9f6", "e8a7", "f6b8", "05c9"]


def nvidia(count: int = 8, name: str = "NVIDIA H200") -> list[Gpu]:
    return [
        Gpu(
            index=index,
            vendor="NVIDIA",
            name=name,
            uuid=f"GPU-{UUIDS[index]}0000-0000-4000-8000-000000000000",
            compute_capability="9.0",
            memory_bytes=141 << 30,
        )
        for index in range(count)
    ]


def amd(count: int = 8) -> list[Gpu]:
    return [
        Gpu(
            index=index,
            vendor="AMD",
            name="AMD Instinct MI300X",
            uuid=f"GPU-{UUIDS[index]}000000000000",
            pci_device_id="74a1",
        )
        for index in range(count)
    ]


MIG = [
    nvidia(1)[0].replace(
        mig_enabled=True,
        memory_bytes=None,
        mig_devices=(
            MigDevice(uuid="MIG-11aa", profile="3g.71gb", memory_bytes=71 << 30),
            MigDevice(uuid="MIG-11bb", profile="3g.71gb", unknown=(("memory_bytes", "no"),)),
        ),
    ),
    nvidia(2)[1],
]
NOT_HERE = "names no GPU here"


def left(gpus: list[Gpu], environ: dict[str, str], asked: str | None = None) -> list[int]:
    return [gpu.index for gpu in visible(gpus, environ, asked).gpus]


@pytest.mark.parametrize(
    ("value", "expected", "note", "problem"),
    [
        pytest.param(None, [0, 1, 2, 3, 4, 5, 6, 7], "", "", id="unset"),
        pytest.param("0", [0], "", "", id="one"),
        pytest.param("2,1", [2, 1], "", "", id="in its order"),
        pytest.param(" 3 , 4", [3, 4], "", "", id="spaces"),
        pytest.param("1gpu2,2ampere", [1, 2], "", "", id="as C reads numbers"),
        pytest.param("+3", [3], "", "", id="a sign"),
        pytest.param("", [], "hides every NVIDIA GPU", "", id="empty"),
        pytest.param("-1", [], "hides every NVIDIA GPU", "", id="-1"),
        pytest.param("NoDevFiles", [], "hides every NVIDIA GPU", "", id="NoDevFiles"),
        pytest.param("0,2,-1,1", [0, 2], "-1 hides 1", "", id="behind -1"),
        pytest.param("-1,0", [], "-1 hides 0", "", id="all behind -1"),
        pytest.param("0,1,8,2", [0, 1], "'8' names no GPU here", "", id="out of range"),
        pytest.param("0,x,1", [0], "'x' names no GPU here", "", id="no number"),
        pytest.param("0,,1", [0], "'' names no GPU here", "", id="a gap"),
        pytest.param("8,9", [], "", NOT_HERE, id="none that is here"),
        pytest.param("all", [], "", NOT_HERE, id="all is no word of CUDA's"),
        pytest.param("0,0", [], "", "names GPU 0 twice", id="twice"),
        pytest.param("0,1,2,1", [], "", "names GPU 1 twice", id="twice, later"),
        pytest.param("99999999999999999999", [], "", NOT_HERE, id="huge"),
        pytest.param("GPU-b0d4", [2], "by index: 2", "", id="UUID, by its beginning"),
        pytest.param("GPU-B0D40000", [2], "by index: 2", "", id="UUID in capitals"),
        pytest.param("GPU-05c9,GPU-a1b2", [7, 0], "by index: 7,0", "", id="UUIDs in their order"),
        pytest.param("GPU-a1", [], "", NOT_HERE, id="an ambiguous beginning"),
        pytest.param("GPU-", [], "", NOT_HERE, id="the prefix alone"),
        pytest.param("GPU-c7e5,GPU-a1", [3], "'GPU-a1' names no GPU", "", id="then ambiguous"),
        pytest.param("GPU-c7e5,0", [3], "'0' names no GPU", "", id="UUID, then index"),
        pytest.param("0,GPU-c7e5", [0], "'GPU-c7e5' names no GPU", "", id="index, then UUID"),
        pytest.param("GPU-c7e5,GPU-c7", [], "", "names GPU 3 twice", id="one UUID twice"),
        pytest.param("MIG-11aa", [], "", "names no MIG instance", id="MIG where there is none"),
    ],
)
def test_cuda(value: str | None, expected: list[int], note: str, problem: str) -> None:
    seen = visible(nvidia(), {} if value is None else {CUDA: value})
    assert [gpu.index for gpu in seen.gpus] == expected
    assert seen.masked == (expected != [*range(8)])
    for texts, text in ((seen.notes, note), (seen.problems, problem)):
        assert len(texts) == bool(text)
        assert text in "".join(texts)


def test_a_mig_instance_is_a_gpu_of_its_own() -> None:
    seen = visible(MIG, {CUDA: "MIG-11a"})
    (gpu,) = seen.gpus
    assert (gpu.name, gpu.uuid) == ("NVIDIA H200 MIG 3g.71gb", "MIG-11aa")
    assert (gpu.memory_bytes, gpu.mig_enabled) == (71 << 30, False)
    assert device_id(gpu) == "MIG-11aa"
    assert not seen.problems
    match = match_profile(seen.gpus, {})
    assert match.profile is not None
    assert (match.profile.id, match.profile.gpu_count) == ("generic_nvidia_sm90", 1)


def test_cuda_uses_one_mig_instance() -> None:
    seen = visible(MIG, {CUDA: "MIG-11bb,MIG-11aa"})
    assert [gpu.uuid for gpu in seen.gpus] == ["MIG-11bb"]
    assert seen.gpus[0].unknown == (("memory_bytes", "no"),)
    assert "CUDA uses the first MIG instance alone" in seen.notes[0]


def test_a_mig_instance_without_a_uuid_is_not_named() -> None:
    instances = (MigDevice(profile="1g.18gb"), *(MIG[0].mig_devices or ()))
    seen = visible([MIG[0].replace(mig_devices=instances)], {CUDA: "MIG-11a"})
    assert [gpu.uuid for gpu in seen.gpus] == ["MIG-11aa"]


def test_an_ambiguous_mig_instance() -> None:
    assert "'MIG-11' names 2 MIG instances" in visible(MIG, {CUDA: "MIG-11"}).problems[0]


@pytest.mark.parametrize(
    ("value", "count", "expected", "note"),
    [
        pytest.param("all", 8, [*range(8)], "", id="all"),
        pytest.param("void", 8, [*range(8)], "", id="void: devices came another way"),
        pytest.param("", 8, [*range(8)], "", id="empty"),
        pytest.param("none", 8, [], "hides every NVIDIA GPU", id="none"),
        pytest.param("2,3", 2, [0, 1], "", id="applied when the container was made"),
        pytest.param("5", 1, [0], "", id="one, applied"),
        pytest.param("GPU-ffff,GPU-eeee", 2, [0, 1], "", id="UUIDs, applied"),
        pytest.param("2,3", 8, [2, 3], "the other GPUs are left alone", id="not applied"),
        pytest.param("GPU-b0d4", 8, [2], "the other GPUs are left alone", id="UUID, not applied"),
        pytest.param("9", 8, [*range(8)], "not followed", id="of no GPU"),
        pytest.param("nvidia.com/gpu=0", 8, [*range(8)], "not followed", id="another's words"),
    ],
)
def test_the_container_runtimes(value: str, count: int, expected: list[int], note: str) -> None:
    seen = visible(nvidia(count), {RUNTIME: value})
    assert [gpu.index for gpu in seen.gpus] == expected
    assert note in "".join(seen.notes)
    assert not seen.problems


@pytest.mark.parametrize(
    ("environ", "count", "expected", "problem"),
    [
        pytest.param({RUNTIME: "0,1,2", CUDA: "1"}, 8, [1], "", id="CUDA's within the runtime's"),
        pytest.param({RUNTIME: "4,5", CUDA: "0"}, 2, [0], "", id="renumbered in a container"),
        pytest.param({RUNTIME: "all", CUDA: "3"}, 8, [3], "", id="all of them"),
        pytest.param(
            {RUNTIME: "0,1", CUDA: "2,3"},
            8,
            [2, 3],
            "CUDA_VISIBLE_DEVICES=2,3 names GPUs 2, 3, which NVIDIA_VISIBLE_DEVICES=0,1 hides",
            id="against each other",
        ),
        pytest.param({RUNTIME: "none", CUDA: "0"}, 8, [0], "hides", id="none, and one"),
        pytest.param({RUNTIME: "4,5", CUDA: "4,5"}, 2, [], NOT_HERE, id="applied twice"),
    ],
)
def test_two_masks(environ: dict[str, str], count: int, expected: list[int], problem: str) -> None:
    seen = visible(nvidia(count), environ)
    assert [gpu.index for gpu in seen.gpus] == expected
    assert len(seen.problems) == bool(problem)
    assert problem in "".join(seen.problems)


@pytest.mark.parametrize(
    ("environ", "expected", "note", "problem"),
    [
        pytest.param({}, [*range(8)], "", "", id="none"),
        pytest.param({HIP: "1,0"}, [1, 0], "", "", id="HIP"),
        pytest.param({HIP: "1,1,2"}, [1, 2], "", "", id="HIP, twice counts once"),
        pytest.param({HIP: "0,9,1"}, [0], "'9' names no GPU here", "", id="HIP, out of range"),
        pytest.param({HIP: "0, 1"}, [0], "' 1' names no GPU here", "", id="HIP reads no spaces"),
        pytest.param({HIP: "0,-1,1"}, [0], "the list ends there", "", id="HIP, behind -1"),
        pytest.param({HIP: ""}, [], "hides every AMD GPU", "", id="HIP, empty"),
        pytest.param({HIP: "-1"}, [], "hides every AMD GPU", "", id="HIP, -1"),
        pytest.param({HIP: "9"}, [], "", NOT_HERE, id="HIP, none that is here"),
        pytest.param({HIP: "GPU-b0d4"}, [2], "", "", id="HIP, UUID"),
        pytest.param({CUDA: "3"}, [3], "", "", id="CUDA's name for HIP's"),
        pytest.param({HIP: "3", CUDA: "3"}, [3], "", "", id="both, the same"),
        pytest.param({HIP: "3", CUDA: "4"}, [3], "", "vLLM refuses", id="both, different"),
        pytest.param({ORDINAL: "5"}, [5], "", "", id="OpenCL's"),
        pytest.param({ORDINAL: "5", HIP: "6"}, [6], "", "", id="HIP's before OpenCL's"),
        pytest.param({ROCR: "4,5"}, [4, 5], "", "", id="ROCr"),
        pytest.param({ROCR: " 4 , 0x5,06"}, [4, 5, 6], "", "", id="ROCr, as C reads numbers"),
        pytest.param({ROCR: "4,5,4,6"}, [4, 5], "one twice", "", id="ROCr ends at a second"),
        pytest.param({ROCR: "gpu-b0d4,0"}, [2, 0], "", "", id="ROCr, UUID and index"),
        pytest.param({ROCR: "GPU-a1"}, [], "", NOT_HERE, id="ROCr, ambiguous UUID"),
        pytest.param({ROCR: "1x"}, [], "", NOT_HERE, id="ROCr, no number"),
        pytest.param({ROCR: ""}, [], "hides every AMD GPU", "", id="ROCr, empty"),
        pytest.param({ROCR: "4,5,6", HIP: "2,0"}, [6, 4], "", "", id="HIP among ROCr's"),
        pytest.param({ROCR: "GPU-c7e5,6", CUDA: "1"}, [6], "", "", id="CUDA's among ROCr's"),
        pytest.param({ROCR: "4,5", HIP: "4,5"}, [], "", "that ROCR_VIS", id="applied twice"),
        pytest.param({ROCR: "4,5", HIP: "0,1,2"}, [4, 5], "", "that ROCR_VIS", id="more of them"),
        pytest.param({ROCR: "", HIP: "0"}, [], "hides every AMD GPU", "", id="none left"),
        pytest.param({RUNTIME: "0", ORDER: "PCI_BUS_ID"}, [*range(8)], "", "", id="NVIDIA's"),
    ],
)
def test_rocm(environ: dict[str, str], expected: list[int], note: str, problem: str) -> None:
    seen = visible(amd(), environ)
    assert [gpu.index for gpu in seen.gpus] == expected
    for texts, text in ((seen.notes, note), (seen.problems, problem)):
        assert len(texts) == bool(text)
        assert text in "".join(texts)


def test_a_device_that_was_left_out_keeps_its_number() -> None:
    discrete = [gpu.replace(index=gpu.index + 1) for gpu in amd(2)]  # 0: integrated graphics
    assert left(discrete, {HIP: "1"}) == [1]
    assert left(discrete, {HIP: "0,2"}) == [2]
    assert left(discrete, {ROCR: "0,1,2", HIP: "1"}) == [2]


def test_both_vendors_each_by_its_own() -> None:
    seen = visible([*nvidia(2), *amd(2)], {CUDA: "1", HIP: "0"})
    assert [(gpu.vendor, gpu.index) for gpu in seen.gpus] == [("NVIDIA", 1), ("AMD", 0)]
    assert not seen.problems


MIXED = [*nvidia(1, "NVIDIA GeForce RTX 3090"), nvidia(2, "NVIDIA GeForce RTX 5090")[1]]


@pytest.mark.parametrize(
    ("environ", "asked", "says"),
    [
        pytest.param({CUDA: "0"}, None, True, id="by index"),
        pytest.param({CUDA: "0", ORDER: "FASTEST_FIRST"}, None, True, id="fastest first"),
        pytest.param({}, "1", True, id="asked for by index"),
        pytest.param({CUDA: "0", ORDER: "PCI_BUS_ID"}, None, False, id="by bus"),
        pytest.param({CUDA: "GPU-a1b2"}, None, False, id="by UUID"),
        pytest.param({}, "GPU-a1c3", False, id="asked for by UUID"),
        pytest.param({}, None, False, id="no mask"),
    ],
)
def test_the_order_of_different_gpus(
    environ: dict[str, str], asked: str | None, says: bool
) -> None:
    seen = visible(MIXED, environ, asked)
    assert any("CUDA_DEVICE_ORDER=PCI_BUS_ID" in note for note in seen.notes) == says
    assert seen.mixed == (environ.get(ORDER) != "PCI_BUS_ID")


def test_the_order_of_like_gpus_does_not_matter() -> None:
    seen = visible(nvidia(2), {CUDA: "0"})
    assert (seen.notes, seen.mixed) == ((), False)


def test_numbers_behind_a_lost_gpu() -> None:
    gpus = [gpu.replace(fault="GPU is lost") if gpu.index == 1 else gpu for gpu in nvidia(4)]
    assert "GPU 1 does not answer" in visible(gpus, {CUDA: "2"}).notes[0]
    assert mask_for(gpus[2:], gpus, {}) == ((CUDA, f"{gpus[2].uuid},{gpus[3].uuid}"),)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("0", ["0"]),
        ("3, 1", ["3", "1"]),
        ("GPU-b0d4,7", ["2", "7"]),
        ("gpu-B0D4", ["2"]),
    ],
)
def test_asked_for(asked: str, expected: list[str]) -> None:
    seen = visible(nvidia(), {}, asked)
    assert [device_id(gpu) for gpu in seen.gpus] == expected
    assert seen.problems == ()
    assert seen.masked


def test_a_mig_instance_asked_for() -> None:
    seen = visible(MIG, {}, "MIG-11bb")
    assert [device_id(gpu) for gpu in seen.gpus] == ["MIG-11bb"]
    assert mask_for(seen.gpus, MIG, {}) == ((CUDA, "MIG-11bb"),)


@pytest.mark.parametrize(
    ("asked", "environ", "problem"),
    [
        pytest.param("9", {}, "'9' names no GPU; here are 0, 1", id="none"),
        pytest.param("0,0", {}, "GPU 0 is named twice", id="twice"),
        pytest.param("0,GPU-a1b2", {}, "GPU GPU-a1b2 is named twice", id="twice, in two ways"),
        pytest.param("GPU-a1", {}, "'GPU-a1' names 2 GPUs: give a UUID", id="ambiguous"),
        pytest.param("0,", {}, "'' names no GPU", id="nothing"),
        pytest.param("h200", {}, "'h200' names no GPU", id="a name"),
        pytest.param(
            "0,1", {CUDA: "0"}, "--gpus names GPU 1, hidden by CUDA_VISIBLE_DEVICES=0", id="masked"
        ),
        pytest.param("0,1", {CUDA: ""}, "names GPUs 0, 1, hidden by", id="all masked"),
        pytest.param(
            "1", {RUNTIME: "0"}, "hidden by NVIDIA_VISIBLE_DEVICES=0", id="masked by the runtime"
        ),
    ],
)
def test_asked_for_in_vain(asked: str, environ: dict[str, str], problem: str) -> None:
    (said,) = visible(nvidia(2), environ, asked).problems
    assert problem in said


def test_asked_for_by_a_number_of_both_vendors() -> None:
    (said,) = visible([*nvidia(2), *amd(2)], {}, "0").problems
    assert "'0' names 2 GPUs (AMD and NVIDIA): give a UUID" in said


def test_asked_for_within_a_mask() -> None:
    seen = visible(nvidia(), {CUDA: "4,5,6"}, "6,4")
    assert ([gpu.index for gpu in seen.gpus], seen.problems) == ([6, 4], ())


@pytest.mark.parametrize(
    ("gpus", "environ", "chosen", "expected"),
    [
        pytest.param(nvidia(), {}, [*range(8)], (), id="all: no mask"),
        pytest.param(nvidia(), {}, [2, 3], ((CUDA, "2,3"),), id="some"),
        pytest.param(nvidia(), {CUDA: "2,3"}, [2, 3], (), id="what a mask leaves: it stays"),
        pytest.param(nvidia(), {CUDA: "2,3"}, [3], ((CUDA, "3"),), id="some of what it leaves"),
        pytest.param(
            nvidia(), {RUNTIME: "2,3"}, [2, 3], ((CUDA, "2,3"),), id="CUDA does not read it"
        ),
        pytest.param(nvidia(2), {RUNTIME: "4,5"}, [0, 1], (), id="in a container"),
        pytest.param(MIXED, {}, [1], ((ORDER, "PCI_BUS_ID"), (CUDA, "1")), id="different GPUs"),
        pytest.param(MIXED, {ORDER: "PCI_BUS_ID"}, [1], ((CUDA, "1"),), id="ordered already"),
        pytest.param(amd(), {}, [1, 2], ((HIP, "1,2"),), id="AMD"),
        pytest.param(amd(), {ROCR: "4,5,6"}, [5, 6], ((HIP, "1,2"),), id="AMD, among ROCr's"),
        pytest.param(amd(), {ROCR: "4,5"}, [4, 5], (), id="AMD, what ROCr leaves"),
        pytest.param(
            amd(), {CUDA: "0,1"}, [1], ((HIP, "1"), (CUDA, "1")), id="AMD, under both names"
        ),
        pytest.param(nvidia(), {}, [], (), id="none"),
    ],
)
def test_the_mask_to_set(
    gpus: list[Gpu],
    environ: dict[str, str],
    chosen: list[int],
    expected: tuple[tuple[str, str], ...],
) -> None:
    assert mask_for([gpus[index] for index in chosen], gpus, environ) == expected


MASKS = st.text(alphabet="0123456789,-GPUMIGgpu ax", max_size=12) | st.lists(
    st.integers(-1, 9).map(str) | st.sampled_from(UUIDS).map("GPU-{}".format)
).map(",".join)


@given(
    st.sampled_from([nvidia(), amd(), MIG, MIXED, [*nvidia(3), *amd(3)], []]),
    st.dictionaries(st.sampled_from([CUDA, RUNTIME, ROCR, HIP, ORDINAL, ORDER]), MASKS),
    st.none() | MASKS,
)
def test_any_mask_leaves_gpus_that_are_there(
    gpus: list[Gpu], environ: dict[str, str], asked: str | None
) -> None:
    seen = visible(gpus, environ, asked)
    there = {(gpu.vendor, gpu.index) for gpu in gpus}
    assert all((gpu.vendor, gpu.index) in there for gpu in seen.gpus)
    keys = [(gpu.vendor, device_id(gpu)) for gpu in seen.gpus]
    assert len(set(keys)) == len(keys)
    for text in (*seen.notes, *seen.problems):
        assert "\n" not in text


@given(
    st.sampled_from([nvidia(), amd()]),
    st.sets(st.integers(0, 7), min_size=1),
    st.dictionaries(
        st.sampled_from([CUDA, ROCR, HIP]),
        st.permutations(range(8)).map(lambda order: ",".join(map(str, order))),
    ),
)
def test_the_mask_that_is_set_leaves_what_was_chosen(
    gpus: list[Gpu], chosen: set[int], environ: dict[str, str]
) -> None:
    wanted = [gpu for gpu in gpus if gpu.index in chosen]
    after = {**environ, **dict(mask_for(wanted, gpus, environ))}
    assert [*visible(gpus, after).gpus] == wanted
