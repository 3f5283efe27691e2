"""The project's own recipes: clean on a machine where all is well, and what they need elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.preflight.build import (
    GIB,
    amd_gpu,
    amd_host,
    gpu,
    healthy,
    host,
    options,
    process,
)
from tests.walk import records
from vllm_launch.catalog.library import bundled
from vllm_launch.catalog.shelf import Shelf
from vllm_launch.errors import LaunchError
from vllm_launch.model.choice import Request
from vllm_launch.model.deployment import Deployment
from vllm_launch.model.host import HostFacts
from vllm_launch.model.recipe import Recipe
from vllm_launch.model.source import Source, paired
from vllm_launch.model.system import HugePool, Vllm, Wanted
from vllm_launch.model.taxonomy import HardwareProfile
from vllm_launch.preflight import Review, Situation, review, script, wanted
from vllm_launch.resolve.endpoints import fill, placeholders
from vllm_launch.resolve.footprint import shortfall
from vllm_launch.resolve.resolver import Resolver

M31, M3 = "MiniMaxAI/MiniMax-M3.1-Flash", "MiniMaxAI/MiniMax-M3"
HARDWARE = ("h100", "h200", "b200", "gb200", "b300", "gb300", "mi300x", "mi355x")
NIGHTLY = "0.33.1.dev20+g1a2b3c4"
RELEASE = " is unknown to vLLM 0.33.0"
PAGES = (
    HugePool(size=GIB, total=0, free=0),
    HugePool(size=2 << 20, total=0, free=0),
)


with pytest.MonkeyPatch.context() as patch:
    patch.setenv("XDG_CACHE_HOME", "/dev/null")  # collecting tests leaves nothing behind
    RECIPES = tuple(bundled().recipe_ids())


@functools.cache
def resolver(model: str) -> Resolver:
    """One of the project's own recipes."""
    found = Shelf().find(model)
    library = found.library
    return Resolver(found.recipe, library)


def deployment(model: str, **asked: Any) -> Deployment:
    """A deployment with every placeholder filled."""
    made = resolver(model).resolve(resolver(model).choose(Request(**asked)))
    names = {name for process in made.processes for name in placeholders(process)}
    return fill(made, {name: _filled(name) for name in names})


def _filled(name: str) -> str:
    if name.endswith("RPC_PORT"):
        return "29550"
    if name == "IFACE_NAME":
        return "eth0"
    if name.endswith("_PATH"):
        return "/etc/mooncake.json"
    number = name.rpartition("_")[2]
    return f"10.0.0.{number}" if number.isdecimal() else "10.0.0.1"


def facts(made: Deployment) -> HostFacts:
    """A host that is the profile, idle."""
    hardware = made.choice.hardware
    count, share = hardware.gpu_count, int(hardware.vram_gb / hardware.gpu_count * 1e9)
    if hardware.brand == "AMD":
        gpus = (amd_gpu(i, memory_bytes=share, memory_used_bytes=0) for i in range(count))
        return amd_host(*gpus, rocm="7.2.0")
    capability = "9.0" if hardware.generation == "hopper" else "10.0"
    return host(
        *(
            gpu(
                i,
                name=f"NVIDIA {hardware.display_name}",
                compute_capability=capability,
                memory_bytes=share,
                memory_free_bytes=share,
            )
            for i in range(count)
        )
    )


def plans() -> Iterator[tuple[str, Deployment]]:
    """Every hardware, strategy, variant and store that the recipes offer."""
    for model in (M31, M3):
        strategies = (None, *resolver(model).recipe.compatible_strategies)
        for hardware in HARDWARE:
            for strategy in strategies:
                for offload in (None, "simple", "offloading_cpu", "kv_store_distributed_mooncake"):
                    asked = {"hardware": hardware, "strategy": strategy, "kv_offload": offload}
                    try:
                        made = deployment(model, **asked)
                    except LaunchError:
                        continue
                    if shortfall(made) is None:
                        yield f"{model}-{hardware}-{strategy}-{offload}", made


PLANS = dict(plans())


def reviewed(made: Deployment, role: int = 0, **fields: Any) -> Review:
    """What the checks say of one process on a healthy host."""
    plan = Situation(
        deployment=made,
        process=made.processes[role],
        facts=fields.pop("facts", facts(made)),
        options=options(),
        runtime=fields.pop("runtime", "native"),
    )
    machine = healthy(plan, fields.pop("vllm", NIGHTLY))
    return review(plan.replace(system=machine.replace(**fields)))


def test_there_are_plans() -> None:
    assert len(PLANS) > 80


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("runtime", ["native", "docker"])
def test_a_healthy_host_is_clean(name: str, runtime: str) -> None:
    made = PLANS[name]
    fields = {"vllm": NIGHTLY}
    for role in range(len(made.processes)):
        found = reviewed(made, role, runtime=runtime, **fields).findings
        assert [f"{one.code}: {one.what}" for one in found if one.severity == "fail"] == []
        assert [one.code for one in found if one.severity == "warn"] == []


def layouts(model: str) -> Iterator[tuple[str, Deployment]]:
    """Every variant on the GPUs that may run it, under every strategy, where the weights fit."""
    chooser = resolver(model).chooser
    for variant, hardware in runs_on(model):
        for strategy in chooser.offered(hardware):
            asked = {"variant": variant, "hardware": hardware.id, "strategy": strategy}
            try:
                made = deployment(model, **asked)
            except LaunchError:
                continue
            if shortfall(made) is None:
                yield "-".join(asked.values()), made


def runs_on(model: str) -> Iterator[tuple[str, HardwareProfile]]:
    """Every variant with every GPU by NVIDIA and AMD that may run it."""
    chooser = resolver(model).chooser
    for variant in resolver(model).recipe.variants.values():
        for profile in chooser.profiles.values():
            if profile.brand in ("NVIDIA", "AMD") and chooser.why_not(variant, profile) is None:
                yield variant.id, profile


@pytest.mark.parametrize("model", RECIPES)
def test_a_healthy_host_is_clean_under_every_layout(model: str) -> None:
    found, variants = [], set()
    for name, made in layouts(model):
        variants.add(made.choice.variant)
        for role in range(len(made.processes)):
            failed = (one for one in reviewed(made, role).findings if one.severity == "fail")
            found += [(name, one.code, one.what) for one in failed]
    assert found == []
    assert variants == {variant for variant, _ in runs_on(model)}


@pytest.mark.parametrize("model", RECIPES)
def test_a_recipe_says_what_the_release_lacks(model: str) -> None:
    """Options, keys, variables, backends and parsers: the release has them, or a note says so."""
    recipe = resolver(model).recipe
    lacking = {
        one.what
        for each in settings(recipe)
        for one in review(each).findings
        if one.what.endswith(RELEASE)
    }
    notes = " ".join(note.body for note in recipe.notes)
    assert [what for what in lacking if not any(word in notes for word in _names(what))] == []


def settings(recipe: Recipe) -> list[Situation]:
    """Each argument and variable of a recipe alone, for the release."""
    bare = Situation(deployment=deployment(recipe.id), process=process(), options=options())
    machine = healthy(bare).replace(vllm=Vllm(version="0.33.0"))
    found = []
    for record in records(recipe):
        for field in ("args", "base_args", "extra_args", "vllm_args"):
            for _, tokens, _ in getattr(record, field, None) or ():
                found.append(process(tokens))
        for field in ("env", "base_env", "extra_env"):
            for name, value, _ in getattr(record, field, None) or ():
                found.append(process(env={name: value}))
    return [bare.replace(process=one, system=machine) for one in found]


def _names(what: str) -> Iterator[str]:
    """The words of a finding that can be no others than the name in question."""
    for word in what.removesuffix(RELEASE).split():
        if "_" in word or word.startswith("--"):
            yield word
            return


@pytest.mark.parametrize("model", [M31, M3])
def test_the_tuned_configurations_are_clean(model: str) -> None:
    for name, preset in resolver(model).recipe.presets.items():
        for point in (None, *preset.points):
            made = deployment(model, preset=name, point=point)
            for role in range(len(made.processes)):
                found = reviewed(made, role).findings
                assert [(name, one.code, one.what) for one in found if one.severity == "fail"] == []


def prefill_of(**fields: Any) -> Review:
    made = deployment(M31, hardware="mi355x", strategy="pd_cluster")
    return reviewed(made, 0, **fields)


def test_the_prefill_node_without_pages() -> None:
    """The documented failure: 560 GiB a rank, in pages that nobody has reserved."""
    found = prefill_of(huge_pools=PAGES)
    (one,) = (f for f in found.findings if f.severity == "fail")
    path = "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages"
    assert one.code == "HUGETLB"
    assert one.what == "2240 pages of 1 GiB needed (4 ranks × 560), 0 available"
    assert one.command == f"echo 2240 | sudo tee {path}"
    assert one.source is not None
    assert one.source.layer == (
        "strategy_overrides.pd_cluster.prefill.hardware_overrides.mi355x.extra_args"
    )
    assert found.failed
    assert one.command in script(found.findings)


def test_the_decode_node_needs_none() -> None:
    made = deployment(M31, hardware="mi355x", strategy="pd_cluster")
    assert not reviewed(made, 1, huge_pools=PAGES).failed


def lacking(**asked: Any) -> dict[str, str]:
    """What a plan names that vLLM 0.33.0 does not have, with what to use instead."""
    made = deployment(M31, hardware="mi355x", **asked)
    found = [one for role in range(len(made.processes)) for one in
             reviewed(made, role, vllm="0.33.0").findings]  # fmt: skip
    return {one.what: one.remedy for one in found if "0.33.0" in one.what}


def test_what_the_release_lacks_for_mi355x() -> None:
    features = (("prefill_dbo_sp", None), ("mono_decode", None))
    instead = (
        "Use the recipe's image vllm/vllm-openai-rocm:nightly (--runtime docker), "
        "or a nightly build of vLLM."
    )
    assert lacking(add_features=features) == {
        "the key indexer_decode_cp of --attention-config is unknown to vLLM 0.33.0": instead,
        "the variable VLLM_ROCM_MINIMAX_M3_SP_PREFILL is unknown to vLLM 0.33.0": instead,
    }
    assert lacking(strategy="pd_cluster") == {
        "the key indexer_decode_cp of --attention-config is unknown to vLLM 0.33.0": instead,
        "the key cpu_hugepage_block_size of SimpleCPUOffloadConnector is not read by vLLM 0.33.0": (
            instead
        ),
    }


def test_with_the_release_it_does_not_start_with_its_image_it_does() -> None:
    made = deployment(M31, hardware="mi355x")
    assert reviewed(made, vllm="0.33.0").failed
    assert not reviewed(made, runtime="docker").failed
    named = {one.code: one.severity for one in reviewed(made, runtime="docker").findings}
    assert named["CONFIG_KEY"] == "note"


def test_without_a_vllm_the_names_are_still_told() -> None:
    made = deployment(M31, hardware="mi355x")
    found = reviewed(made).findings
    absent = reviewed(made, vllm=NIGHTLY).findings
    assert [one.code for one in found] == [one.code for one in absent]
    plan = Situation(deployment=made, process=made.processes[0], options=options())
    none = review(plan.replace(system=healthy(plan).replace(vllm=Vllm())))
    assert {one.code: one.severity for one in none.findings} == {
        "VLLM_MISSING": "fail",
        "HOST_FACTS": "note",
        "VERSION_UNLISTED": "note",
        "CONFIG_KEY": "note",
    }


def test_the_block_size_of_the_recipe() -> None:
    operator = Source(layer="operator")
    args = paired((word, operator) for word in ("--block-size", "64"))
    found = reviewed(deployment(M31, hardware="b300", args=args)).findings
    assert [(one.code, one.what) for one in found if one.severity == "fail"] == [
        ("BLOCK_SIZE", "--block-size 128 needed by this model, found --block-size 64")
    ]


def test_both_pools_on_one_node_use_its_ports_once() -> None:
    from vllm_launch.model.choice import Pools

    made = deployment(M3, hardware="b300", strategy="pd_cluster", pools=Pools(shared=True))
    assert not reviewed(made, 0).failed
    ports = {port for role in (0, 1) for _, port in _wanted(made, role).ports}
    assert ports == {8001, 5557, 8002, 5558}


def _wanted(made: Deployment, role: int) -> Wanted:
    return wanted(Situation(deployment=made, process=made.processes[role]))
