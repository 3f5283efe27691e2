"""Choosing for a real host: its GPUs as they are, with the memory that was measured."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.resolve.build import M3, M31, deploy, library, own, profile, recipe, told
from vllm_launch.errors import NothingFits, UsageError
from vllm_launch.model.choice import Choice, Pool, Pools, Request
from vllm_launch.model.host import MAKE_WHOLE, Gpu, HostFacts
from vllm_launch.model.taxonomy import HardwareProfile
from vllm_launch.resolve.on_host import host_of

DEEPSEEK, KIMI = "deepseek-ai/DeepSeek-R1", "moonshotai/Kimi-K3"


class Host(NamedTuple):
    """A machine of a profile's kind: some of its GPUs, with this much memory measured."""

    kind: str
    gpus: int | None = None  # None: all of the profile's
    gb: float | None = None  # None: the nominal memory of those

    def profile(self) -> HardwareProfile:
        nominal = profile(self.kind)
        count = self.gpus or nominal.gpu_count
        gb = self.gb or nominal.vram_gb / nominal.gpu_count * count
        return nominal.replace(gpu_count=count, vram_gb=gb)


def choose(recipe_id: str, on: Host, **request: Any) -> Choice:
    return own(recipe_id).choose(Request(profile=on.profile(), because="8 x NVIDIA", **request))


def why(choice: Choice, subject: str) -> str:
    return next(reason for about, _, reason in choice.reasons if about == subject)


@pytest.mark.parametrize(
    ("recipe_id", "on", "variant", "reason"),
    [
        pytest.param(
            M3, Host("h200"), "default", "the recipe's default", id="the default where it fits"
        ),
        pytest.param(
            M3,
            Host("h200", gb=1024.9),
            "mxfp8",
            "default needs 1025 GB and h200 has 1024.9; the largest that runs there",
            id="measured memory is what counts",
        ),
        pytest.param(
            M3,
            Host("b200", gpus=4),
            "mxfp8",
            "default needs 1025 GB and b200 has 720; the largest that runs there",
            id="half of the node",
        ),
        pytest.param(
            M3,
            Host("b200", gpus=2),
            "nvfp4",
            "default needs 1025 GB and b200 has 360; the largest that runs there",
            id="a quarter of the node",
        ),
        pytest.param(
            M31,
            Host("h200"),
            "fp8",
            "variant default runs on b200, gb200, b300, gb300, mi355x only; "
            "the largest that runs there",
            id="the default does not run there",
        ),
    ],
)
def test_the_default_variant_or_the_largest_that_fits(
    recipe_id: str, on: Host, variant: str, reason: str
) -> None:
    choice = choose(recipe_id, on)
    assert choice.variant == variant
    assert why(choice, "variant") == reason
    assert choice.nodes == 1
    assert choice.hardware == on.profile()
    assert why(choice, "hardware") == "8 x NVIDIA"


@pytest.mark.parametrize(
    ("recipe_id", "on", "request_", "message", "hint"),
    [
        pytest.param(
            M3,
            Host("h100"),
            {"variant": "default"},
            "variant default needs 1025 GB, and 8 GPUs of h100 have 640 GB",
            "what would do: --variant mxfp8, --nodes 2",
            id="a named variant: the ones and the nodes that would do",
        ),
        pytest.param(
            M3,
            Host("b200", gpus=4),
            {"variant": "default"},
            "variant default needs 1025 GB, and 4 GPUs of b200 have 720 GB",
            "what would do: --variant mxfp8 or nvfp4, --nodes 2",
            id="several that would do",
        ),
        pytest.param(
            M3,
            Host("h200", gpus=1),
            {},
            "variant mxfp8 needs 513 GB, and 1 GPU of h200 has 141 GB",
            "what would do: --nodes 4",
            id="nothing fits: the smallest, on as many nodes",
        ),
        pytest.param(
            M3,
            Host("h200", gpus=1),
            {"nodes": 2},
            "variant mxfp8 needs 513 GB, and 2 GPUs of h200 have 282 GB",
            "what would do: --nodes 4",
            id="too few nodes",
        ),
        pytest.param(
            M3,
            Host("h200", gpus=1),
            {"variant": "default", "nodes": 4},
            "variant default needs 1025 GB, and 4 GPUs of h200 have 564 GB",
            "what would do: --variant mxfp8, --nodes 8",
            id="a named variant on too few nodes",
        ),
        pytest.param(
            M3,
            Host("h200", gpus=1),
            {"strategy": "single_node_tep"},
            "variant mxfp8 needs 513 GB, and 1 GPU of h200 has 141 GB",
            "what would do: --strategy multi_node_tp --nodes 4",
            id="a strategy for one node",
        ),
        pytest.param(
            M3,
            Host("h200", gpus=4),
            {"strategy": "multi_node_tp", "variant": "default"},
            "variant default needs 1025 GB, and 4 GPUs of h200 have 564 GB",
            "what would do: --nodes 2",
            id="a strategy for several nodes, and no nodes",
        ),
        pytest.param(
            M3,
            Host("h200", gpus=4),
            {"strategy": "pd_cluster"},
            "variant mxfp8 needs 513 GB, and 2 GPUs of h200 have 282 GB",
            "what would do: --prefill 1 --decode 1",
            id="two pools of half a node",
        ),
        pytest.param(
            M3,
            Host("mi355x", gpus=1),
            {"strategy": "pd_cluster"},
            "variant mxfp4 needs 257 GB, and half a GPU of mi355x has 144 GB",
            "what would do: --prefill 1 --decode 1",
            id="two pools of half a GPU",
        ),
        pytest.param(
            DEEPSEEK,
            Host("h200", gpus=1),
            {},
            "variant default needs 805 GB, and 1 GPU of h200 has 141 GB",
            "what would do: --nodes 8",
            id="as many as heads divide by",
        ),
        pytest.param(
            KIMI,
            Host("h200", gpus=4),
            {},
            "variant default needs 1680 GB, and 4 GPUs of h200 have 564 GB",
            "what would do: --nodes 4",
            id="so of nodes with several GPUs",
        ),
        pytest.param(
            M3,
            Host("h200"),
            {"variant": "nvfp4"},
            "variant nvfp4 is NVFP4, which needs Blackwell",
            "on h200: --variant default or mxfp8",
            id="a precision that does not run there",
        ),
        pytest.param(
            M31,
            Host("mi300x"),
            {},
            "variant default runs on b200, gb200, b300, gb300, mi355x only",
            "hardware that it runs on: h100, h200, b200, gb200, b300, gb300, mi355x",
            id="no variant runs there",
        ),
        pytest.param(
            M3,
            Host("h100"),
            {"preset": "h200_agentx"},
            "the preset h200_agentx is for h200, and this host is h100",
            "to plan for another machine, give --hardware h200",
            id="a preset for another machine",
        ),
    ],
)
def test_nothing_fits_says_what_would(
    recipe_id: str, on: Host, request_: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(NothingFits) as caught:
        choose(recipe_id, on, **request_)
    assert told(caught.value) == ("nothing_fits", message, hint)
    assert caught.value.exit_status == 3


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"strategy": "pd_cluster"}, id="pools"),
        pytest.param({"strategy": "multi_node_dep", "nodes": 2}, id="nodes with room"),
        pytest.param({"strategy": "multi_node_dep", "variant": "default"}, id="a named variant"),
        pytest.param({"strategy": "single_node_dep"}, id="one node, without room"),
    ],
)
def test_a_strategy_that_is_not_offered_is_said_before_the_memory_is_judged(
    request_: dict[str, Any],
) -> None:
    with pytest.raises(UsageError) as caught:
        choose(KIMI, Host("h200", gpus=4), **request_)
    asked = request_["strategy"]
    assert caught.value.message == f"{KIMI} does not offer the strategy {asked!r} on h200"
    assert "strategies on h200: single_node_tp, multi_node_tp, " in caught.value.hint


def test_a_model_that_does_not_run_there_is_said_before_its_strategy() -> None:
    with pytest.raises(NothingFits, match="variant default runs on b200"):
        choose(M31, Host("mi300x"), strategy="nonsense")


def test_a_machine_that_cannot_join_others_is_not_told_to() -> None:
    resolver = recipe(
        """
        variants: {v: {precision: bf16, vram_minimum_gb: 100}}
        meta: {hardware: {rtx_5090: verified}}
        """
    )
    with pytest.raises(NothingFits) as caught:
        resolver.choose(Request(profile=Host("rtx_5090").profile(), variant="v"))
    assert caught.value.hint == "what would do: a larger machine"


def test_nodes_are_not_suggested_where_no_strategy_has_several() -> None:
    resolver = recipe(
        """
        variants: {v: {precision: bf16, vram_minimum_gb: 2000}}
        compatible_strategies: [single_node_tp]
        """
    )
    with pytest.raises(NothingFits) as caught:
        resolver.choose(Request(profile=Host("h200").profile()))
    assert caught.value.hint == "what would do: a larger machine"


LOST = Gpu(index=0, vendor="NVIDIA", name="NVIDIA H200", fault="GPU is lost")
PART = Gpu(
    index=0, vendor="AMD", name="AMD Instinct MI355X", pci_device_id="75a3",
    memory_bytes=36 << 30, compute_partition="CPX", memory_partition="NPS4",
)  # fmt: skip
UNREAD = Gpu(index=0, vendor="NVIDIA", name="NVIDIA X999", compute_capability="9.0")
BOTH = (
    Gpu(index=0, vendor="NVIDIA", name="NVIDIA H200", compute_capability="9.0",
        memory_bytes=140 << 30),
    PART.replace(index=1, compute_partition="SPX", memory_partition="NPS1",
                 memory_bytes=288 << 30),
)  # fmt: skip
THERE = "see vllm-launch detect on that machine"


@pytest.mark.parametrize(
    ("gpus", "saved", "message", "hint"),
    [
        pytest.param(
            (LOST,),
            False,
            "no GPU can be used whole; left out: NVIDIA GPU 0 (NVIDIA H200): GPU is lost",
            "see vllm-launch detect",
            id="lost",
        ),
        pytest.param(
            (PART,),
            True,
            "no GPU can be used whole; left out: AMD GPU 0 (AMD Instinct MI355X): "
            "partitioned as CPX/NPS4, not SPX/NPS1",
            f"make partitioned GPUs whole again while nothing uses them: {MAKE_WHOLE}",
            id="in parts",
        ),
        pytest.param(
            (UNREAD,),
            False,
            "1 x NVIDIA X999: no known profile has this name with compute capability 9.0; "
            "no profile: no known profile has this name with compute capability 9.0; "
            "memory of these GPUs could not be read",
            "or name a profile with --hardware ID; see vllm-launch detect",
            id="whole, and nothing is known of them",
        ),
        pytest.param(
            BOTH,
            False,
            "1 x NVIDIA H200 and 1 x AMD Instinct MI355X can both serve here: choose with --gpus",
            "or name a profile with --hardware h200|mi355x; see vllm-launch detect",
            id="two vendors",
        ),
        pytest.param(
            BOTH,
            True,
            "1 x NVIDIA H200 and 1 x AMD Instinct MI355X can both serve here: choose with --gpus",
            THERE,
            id="two vendors of a saved host",
        ),
    ],
)
def test_gpus_that_are_no_profile_are_said_with_the_reason(
    gpus: tuple[Gpu, ...], saved: bool, message: str, hint: str
) -> None:
    with pytest.raises(NothingFits) as caught:
        host_of(HostFacts(gpus=gpus), library().taxonomy.hardware_profiles, {}, saved=saved)
    assert told(caught.value)[1:] == (f"no hardware profile matches: {message}", hint)


@pytest.mark.parametrize(
    ("request_", "nodes", "strategy"),
    [
        pytest.param({}, 1, "single_node_tp", id="this one node"),
        pytest.param({"nodes": 2}, 2, "multi_node_tp", id="as many as are named"),
        pytest.param(
            {"nodes": 2, "strategy": "multi_node_dep"}, 2, "multi_node_dep", id="with a strategy"
        ),
        pytest.param({"strategy": "pd_cluster"}, 1, "pd_cluster", id="pools of nodes"),
    ],
)
def test_one_node_unless_more_are_named(
    request_: dict[str, Any], nodes: int, strategy: str
) -> None:
    variant = {} if not request_ else {"variant": "default"}
    choice = choose(M3, Host("h100"), **variant, **request_)
    assert (choice.nodes, choice.strategy) == (nodes, strategy)
    assert choice.variant == ("default" if request_ else "mxfp8")


def test_a_multi_node_strategy_needs_the_nodes_named() -> None:
    with pytest.raises(UsageError, match="multi_node_tp needs at least two nodes"):
        choose(M3, Host("h200"), strategy="multi_node_tp")


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        pytest.param(
            {"nodes": 4},
            "default needs 1025 GB and 4 GPUs of h200 have 564; the largest that runs there",
            id="nodes",
        ),
        pytest.param(
            {"strategy": "pd_cluster", "pools": Pools(prefill=Pool(nodes=8), decode=Pool(nodes=4))},
            "default needs 1025 GB and 4 GPUs of h200 have 564; the largest that runs there",
            id="the smaller pool",
        ),
    ],
)
def test_the_largest_variant_that_all_nodes_hold(request_: dict[str, Any], reason: str) -> None:
    choice = choose(M3, Host("h200", gpus=1), **request_)
    assert (choice.variant, why(choice, "variant")) == ("mxfp8", reason)


def test_nodes_of_which_each_holds_all_of_the_weights_are_no_more_room() -> None:
    asked = {"variant": "default", "strategy": "multi_node_tp_dp", "nodes": 2}
    with pytest.raises(NothingFits) as caught:
        choose(KIMI, Host("h200"), **asked)
    assert told(caught.value)[1:] == (
        "variant default needs 1680 GB, and 8 GPUs of h200 have 1128 GB",
        "what would do: a larger machine",
    )


def test_a_recipes_tp_size_is_raised_where_measured_gpus_have_no_room() -> None:
    resolver = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 576, tp: 4}}")
    (server,) = deploy(resolver, profile=Host("h100").profile()).processes
    assert server.value("--tensor-parallel-size") == "8"
    (server,) = deploy(resolver, hardware="h100").processes
    assert server.value("--tensor-parallel-size") == "4"


def test_several_nodes_hold_a_variant_that_one_does_not() -> None:
    choice = choose(M3, Host("h100"), nodes=2)
    assert choice.variant == "default"
    assert why(choice, "variant") == "the recipe's default"


class TestPresetOnItsOwnHardware:
    RECIPE = """
        variants: {v: {precision: bf16, vram_minimum_gb: 2000}}
        presets:
          several: {hardware: h200, strategy: multi_node_tp, variants: [v], select: {nodes: 2}}
          pools: {hardware: h200, strategy: pd_cluster, variants: [v]}
          one: {hardware: h200, strategy: single_node_tp, variants: [v]}
    """

    @pytest.mark.parametrize(("preset", "nodes"), [("several", 2), ("pools", 1)])
    def test_its_own_nodes_are_counted_on(self, preset: str, nodes: int) -> None:
        choice = recipe(self.RECIPE).choose(Request(profile=Host("h200").profile(), preset=preset))
        assert choice.nodes == nodes

    def test_one_for_a_single_node_must_fit_it(self) -> None:
        with pytest.raises(
            NothingFits, match="variant v needs 2000 GB, and 8 GPUs of h200 have 1128"
        ):
            recipe(self.RECIPE).choose(Request(profile=Host("h200").profile(), preset="one"))


@pytest.mark.parametrize(
    ("on", "size"),
    [
        pytest.param(Host("h200"), "8", id="all of the node"),
        pytest.param(Host("h200", gpus=3), "3", id="all that are used"),
        pytest.param(Host("h200", gpus=3, gb=1600), "1", id="one, where the weights fit one"),
    ],
)
def test_tensor_parallelism_is_over_the_hosts_gpus(on: Host, size: str) -> None:
    resolver = recipe("variants: {v: {precision: bf16, vram_minimum_gb: 300}}")
    (server,) = deploy(resolver, profile=on.profile()).processes
    assert server.value("--tensor-parallel-size") == size


@pytest.mark.parametrize(
    ("hardware", "name"), [("b300", "CUDA_VISIBLE_DEVICES"), ("mi355x", "HIP_VISIBLE_DEVICES")]
)
def test_chosen_devices_are_a_variable(hardware: str, name: str) -> None:
    on = Host(hardware, gpus=4)
    (server,) = deploy(own(M31), profile=on.profile(), devices=("1", "3", "GPU-4", "7")).processes
    assert server.env[name] == "1,3,GPU-4,7"
    assert server.value("--tensor-parallel-size") == "4"


def test_chosen_devices_are_shared_out_between_pools() -> None:
    on = Host("h200", gpus=4)
    devices = ("2", "3", "6", "7")
    plans = deploy(recipe(), profile=on.profile(), strategy="pd_cluster", devices=devices).processes
    assert [plan.env["CUDA_VISIBLE_DEVICES"] for plan in plans] == ["2,3", "6,7"]


def test_all_devices_need_no_variable() -> None:
    (server,) = deploy(own(M31), profile=Host("b300").profile()).processes
    assert "CUDA_VISIBLE_DEVICES" not in server.env
