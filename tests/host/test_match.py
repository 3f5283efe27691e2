"""From GPUs to a hardware profile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_launch.model.host import Gpu, HostFacts, MigDevice
from vllm_launch.model.taxonomy import HardwareProfile
from vllm_launch.resolve.match import Match, match_profile

MIB, GIB = 1 << 20, 1 << 30


def profile(
    name: str, count: int, vram_gb: float, restricted: bool = False, brand: str = "NVIDIA"
) -> HardwareProfile:
    return HardwareProfile(
        id=name,
        brand=brand,
        generation="any",
        gpu_count=count,
        vram_gb=vram_gb,
        restricted=restricted,
    )


PROFILES = {
    one.id: one
    for one in (
        profile("h100", 8, 640),
        profile("h200", 8, 1128),
        profile("b200", 8, 1440),
        profile("gb200", 4, 768),
        profile("b300", 8, 2144),
        profile("gb300", 4, 1152),
        profile("dgx_station_gb300", 1, 252, True),
        profile("dgx_spark_gb10", 1, 128, True),
        profile("rtx_pro_6000", 1, 96, True),
        profile("rtx_pro_6000_2x", 2, 192, True),
        profile("rtx_pro_5000", 1, 72, True),
        profile("rtx_pro_5000_4x", 4, 288, True),
        profile("rtx_pro_6000_8x", 8, 768, True),
        profile("rtx_5090", 1, 32, True),
        profile("rtx_4090_2x", 2, 48, True),
        profile("rtx_5090_2x", 2, 64, True),
        profile("mi300x", 8, 1536, brand="AMD"),
        profile("mi325x", 8, 2048, brand="AMD"),
        profile("mi355x", 8, 2304, brand="AMD"),
    )
}


def nvidia(
    name: str, capability: str | None, mib: int | None, count: int = 1, first: int = 0
) -> list[Gpu]:
    return [
        Gpu(
            index=first + index,
            vendor="NVIDIA",
            name=name,
            compute_capability=capability,
            memory_bytes=None if mib is None else mib * MIB,
        )
        for index in range(count)
    ]


def amd(
    device: str | None,
    count: int = 1,
    gib: float = 287.98,
    compute: str | None = None,
    memory: str | None = None,
) -> list[Gpu]:
    return [
        Gpu(
            index=index,
            vendor="AMD",
            name="AMD Radeon Graphics",
            pci_device_id=device,
            memory_bytes=round(gib * GIB),
            compute_partition=compute,
            memory_partition=memory,
        )
        for index in range(count)
    ]


def h200(count: int, first: int = 0) -> list[Gpu]:
    return nvidia("NVIDIA H200", "9.0", 143771, count, first)


def check(gpus: list[Gpu], expected: str | None, used: int) -> Match:
    match = match_profile(gpus, PROFILES)
    assert match.profile_id == expected, match
    assert len(match.gpus) == used
    return match


@pytest.mark.parametrize(
    ("name", "capability", "mib", "count", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "9.0", 81559, 8, "h100"),
        ("NVIDIA H100 PCIe", "9.0", 81559, 2, "h100"),
        ("NVIDIA H100 NVL", "9.0", 95830, 2, "h100"),
        ("NVIDIA H200", "9.0", 143771, 8, "h200"),
        ("NVIDIA H200 NVL", "9.0", 143771, 4, "h200"),
        ("nvidia h200", "9.0", 143771, 1, "h200"),
        ("NVIDIA L20X", "9.0", 143771, 8, "h200"),
        ("NVIDIA H200", None, 143771, 8, "h200"),
        ("NVIDIA H200", "9.0", None, 8, "h200"),
        ("NVIDIA H20", "9.0", 97871, 8, None),
        ("NVIDIA GH200 480GB", "9.0", 97871, 1, None),
        ("NVIDIA B200", "10.0", 183359, 8, "b200"),
        ("NVIDIA B300 SXM6 AC", "10.3", 275040, 8, "b300"),
        ("NVIDIA GB200", "10.0", 189471, 4, "gb200"),
        ("NVIDIA GB300", "10.3", 284208, 4, "gb300"),
        ("NVIDIA GB300", "10.3", 284208, 2, "gb300"),
        ("NVIDIA GB300", "10.3", 284208, 1, "dgx_station_gb300"),
        ("NVIDIA GB10", "12.1", 122575, 1, "dgx_spark_gb10"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 97887, 8, "rtx_pro_6000_8x"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0", 97886, 1, "rtx_pro_6000"),
        (
            "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
            "12.0",
            97887,
            2,
            "rtx_pro_6000_2x",
        ),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 97887, 4, None),
        ("NVIDIA RTX 6000 Ada Generation", "8.9", 49140, 1, None),
        ("NVIDIA RTX PRO 5000 Blackwell", "12.0", 73415, 4, "rtx_pro_5000_4x"),
        ("NVIDIA RTX PRO 5000 Blackwell", "12.0", 48935, 4, None),
        ("NVIDIA GeForce RTX 5090", "12.0", 32607, 1, "rtx_5090"),
        ("NVIDIA GeForce RTX 5090", "12.0", 32607, 2, "rtx_5090_2x"),
        ("NVIDIA GeForce RTX 5090", "12.0", 32607, 3, None),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", "12.0", 32607, 1, None),
        ("NVIDIA GeForce RTX 4090", "8.9", 24564, 2, "rtx_4090_2x"),
        ("NVIDIA GeForce RTX 4090", "8.9", 24564, 1, None),
        ("NVIDIA GeForce RTX 3090", "8.6", 24576, 2, None),
        ("NVIDIA A100-SXM4-80GB", "8.0", 81920, 8, None),
        ("NVIDIA L40S", "8.9", 46068, 8, None),
        ("Tesla T4", "7.5", 15360, 1, None),
        ("NVIDIA H200", "8.0", 143771, 8, None),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "9.0", 9984, 7, None),
        ("NVIDIA Graphics Device", "9.0", 95830, 8, "h100"),
        ("NVIDIA Graphics Device", "9.0", 143771, 8, "h200"),
        ("NVIDIA Graphics Device", "10.0", 183359, 8, "b200"),
        ("NVIDIA Graphics Device", "10.0", 189471, 4, "gb200"),
        ("NVIDIA Graphics Device", "9.0", 24576, 8, None),
        ("NVIDIA Graphics Device", "9.0", None, 8, None),
        ("NVIDIA Graphics Device", None, 143771, 8, None),
        ("NVIDIA Graphics Device", "12.0", 97887, 1, None),
    ],
)
def test_nvidia(
    name: str, capability: str | None, mib: int | None, count: int, expected: str | None
) -> None:
    match = check(nvidia(name, capability, mib, count), expected, count)
    assert str(count) in match.reason
    assert name in match.reason
    assert match.profile is None or match.profile.gpu_count == count
    if expected is not None:
        assert expected in match.reason
        assert match.profile is not None
        assert match.profile.id == expected
    elif mib is not None:
        assert match.profile is not None
        assert match.profile.id.startswith("generic_nvidia")
        assert f"planned as {match.profile.id}, on which no recipe was verified" in match.notes[-1]
    else:
        assert match.profile is None
        assert "no profile: no known profile has this name" in match.notes[0]


@pytest.mark.parametrize(
    ("device", "gib", "expected"),
    [
        ("74a1", 191.98, "mi300x"),
        ("74B5", 191.98, "mi300x"),
        ("74a9", 191.98, "mi300x"),
        ("74bd", 191.98, "mi300x"),
        ("74a5", 255.98, "mi325x"),
        ("74b9", 255.98, "mi325x"),
        ("75a3", 287.98, "mi355x"),
        ("75a0", 287.98, None),
        ("74a0", 128, None),
        ("74a2", 191.98, None),
        ("744c", 24, None),
        (None, 191.98, None),
    ],
)
def test_amd(device: str | None, gib: float, expected: str | None) -> None:
    check(amd(device, 8, gib), expected, 8)


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        pytest.param(
            nvidia("NVIDIA A100-SXM4-80GB", "8.0", 81920, 8),
            ("generic_nvidia_sm80", "NVIDIA", "ampere", 8, 687.2, "sm80"),
            id="A100",
        ),
        pytest.param(
            nvidia("NVIDIA L40S", "8.9", 46068, 4),
            ("generic_nvidia_sm89", "NVIDIA", "ada", 4, 193.2, "sm89"),
            id="L40S",
        ),
        pytest.param(
            nvidia("NVIDIA GeForce RTX 4090", "8.9", 24564),
            ("generic_nvidia_sm89", "NVIDIA", "ada", 1, 25.8, "sm89"),
            id="one RTX 4090",
        ),
        pytest.param(
            nvidia("NVIDIA GH200 480GB", "9.0", 97871),
            ("generic_nvidia_sm90", "NVIDIA", "hopper", 1, 102.6, "sm90"),
            id="GH200",
        ),
        pytest.param(
            nvidia("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 97887, 4),
            ("generic_nvidia_sm120", "NVIDIA", "blackwell", 4, 410.6, "sm120"),
            id="four RTX PRO 6000",
        ),
        pytest.param(
            nvidia("NVIDIA R100", "14.0", 300000, 8),
            ("generic_nvidia_sm140", "NVIDIA", "sm140", 8, 2516.6, "sm140"),
            id="a future one",
        ),
        pytest.param(
            nvidia("Tesla V100-SXM2-32GB", "7.0", 32768, 2),
            ("generic_nvidia_sm70", "NVIDIA", "volta", 2, 68.7, "sm70"),
            id="V100",
        ),
        pytest.param(
            nvidia("Tesla T4", "7.5", 15360),
            ("generic_nvidia_sm75", "NVIDIA", "turing", 1, 16.1, "sm75"),
            id="T4",
        ),
        pytest.param(
            nvidia("NVIDIA Thor", "11.0", 125772),
            ("generic_nvidia_sm110", "NVIDIA", "blackwell", 1, 131.9, "sm110"),
            id="Thor",
        ),
        pytest.param(
            nvidia("NVIDIA H100 80GB HBM3", None, 16384, 1),
            ("generic_nvidia", "NVIDIA", "unknown", 1, 17.2, ""),
            id="capability unread",
        ),
        pytest.param(
            [gpu.replace(gfx_target="gfx942") for gpu in amd("74a0", 4, 128)],
            ("generic_amd_gfx942", "AMD", "amd", 4, 549.8, "gfx942"),
            id="MI300A",
        ),
        pytest.param(
            [gpu.replace(gfx_target="gfx942") for gpu in amd("74a2", 8, 191.98)],
            ("generic_amd_gfx942", "AMD", "amd", 8, 1649.1, "gfx942"),
            id="MI308X",
        ),
    ],
)
def test_what_no_profile_names_gets_one_of_its_own(
    gpus: list[Gpu], expected: tuple[object, ...]
) -> None:
    match = check(gpus, None, len(gpus))
    made = match.profile
    assert made is not None
    assert (
        made.id, made.brand, made.generation, made.gpu_count, made.vram_gb, made.compute_arch
    ) == expected  # fmt: skip
    assert not made.restricted
    assert match.notes == (f"no profile: planned as {made.id}, on which no recipe was verified",)


@pytest.mark.parametrize(
    ("gpus", "reason"),
    [
        pytest.param(
            nvidia("NVIDIA H200", "9.0", 143771, 2),
            "2 x NVIDIA H200 is profile h200, 2 of its 8 GPUs "
            "(by name NVIDIA H200 and compute capability 9.0)",
            id="some NVIDIA GPUs",
        ),
        pytest.param(
            nvidia("NVIDIA H200", None, 143771, 8),
            "8 x NVIDIA H200 is profile h200 (by name NVIDIA H200)",
            id="a capability that could not be read",
        ),
        pytest.param(
            amd("74a1", 8, 191.98),
            "8 x AMD Radeon Graphics is profile mi300x (by PCI device id 74a1)",
            id="AMD GPUs",
        ),
    ],
)
def test_what_a_profile_was_known_by(gpus: list[Gpu], reason: str) -> None:
    assert match_profile(gpus, PROFILES).reason == reason


def test_a_gpu_that_vllm_has_left_behind() -> None:
    match = match_profile(nvidia("NVIDIA GeForce GTX 1080", "6.1", 8192), PROFILES)
    assert match.notes[-1] == "vLLM needs compute capability 7.0 or newer"


def test_memory_is_what_the_devices_report() -> None:
    match = check(h200(8), "h200", 8)
    assert match.vram_gb == pytest.approx(8 * 143771 * MIB / 1e9)
    assert match.profile == PROFILES["h200"].replace(vram_gb=1206.0, compute_arch="sm90")


def test_fewer_gpus_than_the_profile() -> None:
    match = check(h200(4), "h200", 4)
    assert match.vram_gb == pytest.approx(4 * 143771 * MIB / 1e9)
    assert "4 of its 8 GPUs" in match.reason
    assert match.profile == PROFILES["h200"].replace(
        gpu_count=4, vram_gb=603.0, compute_arch="sm90"
    )


def test_without_measured_memory_the_profiles_own_share() -> None:
    match = match_profile(nvidia("NVIDIA H200", "9.0", None, 4), PROFILES)
    assert match.vram_gb is None
    assert match.profile == PROFILES["h200"].replace(
        gpu_count=4, vram_gb=564.0, compute_arch="sm90"
    )


def test_more_gpus_than_the_profile() -> None:
    match = check(h200(16), "h200", 8)
    assert [gpu.index for gpu in match.gpus] == list(range(8))
    assert "8 of 16 GPUs: the profile has no more" in match.notes


def test_of_more_gpus_than_the_profile_the_idle_ones() -> None:
    busy = [gpu.replace(memory_used_bytes=100 * GIB) for gpu in h200(8)]
    idle = [gpu.replace(memory_used_bytes=0) for gpu in h200(8, 8)]
    match = check(busy + idle, "h200", 8)
    assert [gpu.index for gpu in match.gpus] == list(range(8, 16))
    assert "8 of 16 GPUs (idle ones first): the profile has no more" in match.notes


def test_no_gpu() -> None:
    match = check([], None, 0)
    assert (match.reason, match.vram_gb, match.notes) == ("no GPU was found", 0.0, ())


def test_a_lost_gpu_is_left_out_and_named() -> None:
    lost = Gpu(index=3, vendor="NVIDIA", name="unknown", unknown=(("name", "GPU is lost"),))
    match = check([*h200(3), lost, *h200(4, 4)], "h200", 7)
    assert match.notes[0] == "left out: NVIDIA GPU 3 does not answer: GPU is lost"


def test_a_gpu_that_never_answers_is_left_out_though_its_name_is_known() -> None:
    gpus = [gpu.replace(fault="no answer in 4 s") if gpu.index == 3 else gpu for gpu in h200(8)]
    match = check(gpus, "h200", 7)
    assert match.notes[0] == "left out: NVIDIA GPU 3 (NVIDIA H200): no answer in 4 s"


def test_gpus_left_out_for_one_reason_are_named_together() -> None:
    match = match_profile(amd("74a1", 8, gib=48, compute="CPX", memory="NPS4"), PROFILES)
    assert match.notes == (
        "left out: AMD GPUs 0-7 (AMD Radeon Graphics): partitioned as CPX/NPS4, not SPX/NPS1",
    )


def test_a_host_of_mig_instances_says_how_to_take_one() -> None:
    instances = (MigDevice(uuid="MIG-1", profile="1g.18gb"), MigDevice(uuid="MIG-2"))
    gpus = [gpu.replace(mig_enabled=True, mig_devices=instances) for gpu in h200(1)]
    match = check(gpus, None, 0)
    assert match.reason == "every GPU is cut into MIG instances: name one, such as --gpus MIG-1"


@pytest.mark.parametrize(
    ("gpus", "note"),
    [
        pytest.param(
            [gpu.replace(mig_enabled=True) for gpu in h200(1)],
            "left out: NVIDIA GPU 0 (NVIDIA H200): cut into MIG instances",
            id="MIG",
        ),
        pytest.param(
            amd("74a1", gib=24, compute="CPX", memory="NPS4"),
            "left out: AMD GPU 0 (AMD Radeon Graphics): partitioned as CPX/NPS4, not SPX/NPS1",
            id="CPX",
        ),
        pytest.param(
            amd("74a1", gib=192, compute="SPX", memory="NPS4"),
            "left out: AMD GPU 0 (AMD Radeon Graphics): partitioned as SPX/NPS4, not SPX/NPS1",
            id="NPS4",
        ),
    ],
)
def test_a_gpu_in_parts_is_left_out(gpus: list[Gpu], note: str) -> None:
    match = check(gpus, None, 0)
    assert match.notes == (note,)
    assert match.reason == "no GPU can be used whole"


def test_whole_amd_gpus_have_a_profile() -> None:
    check(amd("74a1", 8, 191.98, compute="SPX", memory="NPS1"), "mi300x", 8)


@pytest.mark.parametrize(
    ("gpus", "expected", "used", "left_out"),
    [
        pytest.param(
            nvidia("NVIDIA A100-SXM4-80GB", "8.0", 81920)
            + nvidia("NVIDIA H100 80GB HBM3", "9.0", 81559, first=1),
            "h100",
            [1],
            "left out: 1 x NVIDIA A100-SXM4-80GB",
            id="as large: the one with a profile",
        ),
        pytest.param(
            nvidia("NVIDIA H20", "9.0", 97871) + nvidia("NVIDIA H100 NVL", "9.0", 95830, first=1),
            "h100",
            [1],
            "left out: 1 x NVIDIA H20",
            id="nearly as large: the one with a profile",
        ),
        pytest.param(
            nvidia("NVIDIA A100-SXM4-80GB", "8.0", 81920, 4)
            + nvidia("NVIDIA H100 80GB HBM3", "9.0", 81559, first=4),
            None,
            [0, 1, 2, 3],
            "left out: 1 x NVIDIA H100 80GB HBM3",
            id="the larger, without a profile",
        ),
        pytest.param(
            nvidia("NVIDIA T400 4GB", "7.5", 4096, 2)
            + nvidia("NVIDIA GB300", "10.3", 284208, first=2),
            "dgx_station_gb300",
            [2],
            "left out: 2 x NVIDIA T400 4GB",
            id="display cards beside a GB300",
        ),
        pytest.param(
            amd("744c", gib=24) + h200(2),
            "h200",
            [0, 1],
            "left out: 1 x AMD Radeon Graphics",
            id="AMD display, NVIDIA serving",
        ),
        pytest.param(
            nvidia("NVIDIA A100-SXM4-80GB", "8.0", 81920, 8) + amd("74a1", 1, 191.98),
            "mi300x",
            [0],
            "left out: 8 x NVIDIA A100-SXM4-80GB",
            id="two vendors: the one with a profile",
        ),
        pytest.param(
            nvidia("NVIDIA GeForce RTX 5090", "12.0", 32607, 2) + amd("744c", 3, 24),
            "rtx_5090_2x",
            [0, 1],
            "left out: 3 x AMD Radeon Graphics",
            id="two vendors' desktop cards: the one with a profile",
        ),
        pytest.param(
            nvidia("NVIDIA T400 4GB", "7.5", 4096) + amd("744c", 1, 24),
            None,
            [0],
            "left out: 1 x NVIDIA T400 4GB",
            id="two vendors' desktop cards: the larger",
        ),
    ],
)
def test_mixed_gpus(gpus: list[Gpu], expected: str | None, used: list[int], left_out: str) -> None:
    match = check(gpus, expected, len(used))
    assert [gpu.index for gpu in match.gpus] == used
    assert left_out in match.notes


@pytest.mark.parametrize(
    ("gpus", "choices"),
    [
        pytest.param(h200(2) + amd("75a3", 8), "h200|mi355x", id="both have a profile"),
        pytest.param(
            nvidia("NVIDIA A100-SXM4-80GB", "8.0", 81920) + amd("74a0", 4, 128),
            "ID",
            id="both made for servers, without a profile",
        ),
        pytest.param(
            nvidia("NVIDIA GeForce RTX 3090", "8.6", 24576) + amd("744c", 1, 24),
            "ID",
            id="desktop cards as large",
        ),
    ],
)
def test_two_vendors_that_nothing_tells_apart(gpus: list[Gpu], choices: str) -> None:
    match = check(gpus, None, 0)
    assert match.profile is None
    assert match.reason.endswith(" can both serve here: choose with --gpus")
    assert match.named_by == choices


def test_two_names_of_one_product_are_uniform() -> None:
    gpus = nvidia("NVIDIA H100", "9.0", 81559) + nvidia("NVIDIA H100 NVL", "9.0", 95830, first=1)
    match = check(gpus, "h100", 2)
    assert match.vram_gb == pytest.approx(2 * 81559 * MIB / 1e9)
    assert "memory differs between these GPUs: sized by the smallest" in match.notes


def test_unread_memory_is_the_siblings() -> None:
    gpus = h200(8)
    gpus[5] = gpus[5].replace(memory_bytes=None)
    match = check(gpus, "h200", 8)
    assert match.vram_gb == pytest.approx(8 * 143771 * MIB / 1e9)
    assert "memory of 1 unread: taken to be their siblings'" in match.notes


def test_unread_memory_of_all_is_unknown_not_zero() -> None:
    match = check(nvidia("NVIDIA H200", "9.0", None, 8), "h200", 8)
    assert match.vram_gb is None
    assert "memory of these GPUs could not be read" in match.notes


def test_a_guess_is_called_one() -> None:
    assert (
        "a guess"
        in match_profile(nvidia("NVIDIA Graphics Device", "9.0", 95830), PROFILES).notes[-1]
    )
    assert (
        "--hardware gb300"
        in match_profile(nvidia("NVIDIA GB300", "10.3", 284208), PROFILES).notes[-1]
    )


def test_counts_that_have_a_profile_are_named() -> None:
    match = match_profile(nvidia("NVIDIA GeForce RTX 5090", "12.0", 32607, 4), PROFILES)
    assert match.reason.endswith(
        "no profile is for 4 of these (there is rtx_5090 for 1, rtx_5090_2x for 2)"
    )


def test_recipes_without_the_profile() -> None:
    match = match_profile(h200(8), {})
    assert match.profile_id is None
    assert "these recipes have no profile for H200" in match.reason


def test_one_gb300_where_recipes_have_no_station() -> None:
    profiles = {key: one for key, one in PROFILES.items() if key != "dgx_station_gb300"}
    assert match_profile(nvidia("NVIDIA GB300", "10.3", 284208), profiles).profile_id == "gb300"


@pytest.mark.parametrize(
    ("scenario", "expected", "used"),
    [
        ("no_driver", None, 0),
        ("mismatch", None, 0),
        ("h200_8x", "h200", 8),
        ("h200_4x", "h200", 4),
        ("h200_one_lost", "h200", 7),
        ("b300_8x", "b300", 8),
        ("gb200_4x", "gb200", 4),
        ("gb300_1x", "dgx_station_gb300", 1),
        ("a100_and_h100", "h100", 1),
        ("rtx_5090_2x", "rtx_5090_2x", 2),
        ("rtx_pro_6000_8x", "rtx_pro_6000_8x", 8),
        ("mig", "h100", 1),
    ],
)
def test_detected_hosts(
    read_nvidia: Callable[..., HostFacts], scenario: str, expected: str | None, used: int
) -> None:
    check(list(read_nvidia(scenario).gpus), expected, used)


def test_detected_gb10(
    read_nvidia: Callable[..., HostFacts], files: Callable[[dict[str, str]], str]
) -> None:
    root = files({"proc/meminfo": "MemTotal: 125516820 kB\nMemAvailable: 117440512 kB\n"})
    match = check(list(read_nvidia("gb10", root).gpus), "dgx_spark_gb10", 1)
    assert match.vram_gb == pytest.approx(125516820 * 1024 / 1e9)


NAMES = st.sampled_from(
    ["NVIDIA H200", "NVIDIA GB300", "unknown", "Tesla T4", "", "NVIDIA Graphics Device"]
)


@given(
    st.lists(
        st.builds(
            Gpu,
            index=st.integers(0, 99),
            vendor=st.sampled_from(["NVIDIA", "AMD"]),
            name=NAMES | st.text(),
            pci_device_id=st.none() | st.sampled_from(["74a1", "75a3", "zz"]),
            compute_capability=st.none() | st.sampled_from(["9.0", "10.3", "x"]),
            memory_bytes=st.none() | st.integers(0, 1 << 62),
            mig_enabled=st.none() | st.booleans(),
            compute_partition=st.none() | st.sampled_from(["SPX", "CPX"]),
            memory_used_bytes=st.none() | st.integers(0, 1 << 40),
            fault=st.none() | st.just("GPU is lost"),
        )
    )
)
def test_any_gpus_have_a_match(gpus: list[Gpu]) -> None:
    match = match_profile(gpus, PROFILES)
    assert match == match_profile(gpus, PROFILES)
    assert all(gpu in gpus for gpu in match.gpus)
    assert match.vram_gb is None or match.vram_gb >= 0
    assert match.profile is None or match.profile.gpu_count == len(match.gpus)
    if match.profile_id:
        assert 1 <= len(match.gpus) <= PROFILES[match.profile_id].gpu_count
        assert len({gpu.vendor for gpu in match.gpus}) == 1
