"""What is offered where something does not fit: typed, it plans and passes the checks."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.preflight.build import findings
from tests.resolve import build
from tests.resolve.build import library, own
from vllm_launch.errors import LaunchError, NothingFits
from vllm_launch.model.choice import Pool, Pools, Request
from vllm_launch.model.deployment import Deployment
from vllm_launch.model.host import Gpu, HostFacts
from vllm_launch.preflight import Situation
from vllm_launch.resolve.fit import Fit, Load, fits
from vllm_launch.resolve.on_host import Host, deployment_on, host_of, request_for_host

GIB = 1 << 30

with pytest.MonkeyPatch.context() as patch:
    patch.setenv("XDG_CACHE_HOME", "/dev/null")  # collecting tests leaves nothing behind
    RECIPES = tuple(library().recipe_ids())


def nvidia(name: str, capability: str, gib: int, count: int) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(
            index=index, vendor="NVIDIA", name=name, uuid=f"GPU-{index:08x}",
            memory_bytes=gib * GIB,
            compute_capability=capability, memory_used_bytes=0, mig_enabled=False,
        )
        for index in range(count)
    )  # fmt: skip


def amd(device: str, gib: int, count: int) -> tuple[Gpu, ...]:
    return tuple(
        Gpu(
            index=index, vendor="AMD", name="AMD Instinct", uuid=f"{index:08x}",
            pci_device_id=device, gfx_target="gfx950", memory_bytes=gib * GIB,
            memory_used_bytes=0, compute_partition="SPX", memory_partition="NPS1",
        )
        for index in range(count)
    )  # fmt: skip


MACHINES = {
    "1 H200": nvidia("NVIDIA H200", "9.0", 140, 1),
    "2 H200": nvidia("NVIDIA H200", "9.0", 140, 2),
    "7 H200": nvidia("NVIDIA H200", "9.0", 140, 7),
    "8 H200": nvidia("NVIDIA H200", "9.0", 140, 8),
    "8 H100": nvidia("NVIDIA H100 80GB HBM3", "9.0", 80, 8),
    "2 B200": nvidia("NVIDIA B200", "10.0", 179, 2),
    "4 GB200": nvidia("NVIDIA GB200", "10.0", 185, 4),
    "8 A100": nvidia("NVIDIA A100-SXM4-80GB", "8.0", 80, 8),
    "1 A100": nvidia("NVIDIA A100-SXM4-40GB", "8.0", 40, 1),
    "1 RTX 4090": nvidia("NVIDIA GeForce RTX 4090", "8.9", 24, 1),
    "2 RTX 4090": nvidia("NVIDIA GeForce RTX 4090", "8.9", 24, 2),
    "1 GB10": nvidia("NVIDIA GB10", "12.1", 119, 1),
    "1 RTX PRO 6000": nvidia("NVIDIA RTX PRO 6000 Blackwell", "12.0", 95, 1),
    "4 T4": nvidia("Tesla T4", "7.5", 15, 4),
    "8 MI300X": amd("74a1", 192, 8),
    "1 MI355X": amd("75a3", 288, 1),
}  # fmt: skip


@functools.cache
def machine(name: str) -> Host:
    facts = HostFacts(gpus=MACHINES[name])
    return host_of(facts, library().taxonomy.hardware_profiles, {})


def request(name: str, **asked: Any) -> Request:
    return request_for_host(machine(name), Request(**asked), None)


def planned(recipe: str, name: str, **asked: Any) -> Deployment:
    """The plan for the machine, as serve makes it."""
    return deployment_on(machine(name), own(recipe), request(name, **asked))


def refused(deployment: Deployment, name: str) -> list[str]:
    """What the checks of memory and hardware have against a plan."""
    facts = machine(name).facts
    return [
        finding.what
        for process in deployment.processes
        for code in ("GPU_MEMORY", "HARDWARE_FIT")
        for finding in findings(
            Situation(deployment=deployment, process=process, facts=facts), code
        )
        or ()
        if finding.severity != "note"
    ]


def options(words: str) -> dict[str, Any]:
    """The request that the options of a remedy are."""
    given = iter(words.split())
    found = {flag.removeprefix("--"): next(given) for flag in given}
    pools = {
        role: Pool(nodes=int(found.pop(role))) for role in ("prefill", "decode") & found.keys()
    }
    numbers = {key: int(value) for key, value in found.items() if key in ("nodes", "tp")}
    return {**found, **numbers, **({"pools": Pools(**pools)} if pools else {})}


def each(hint: str) -> Iterator[str]:
    """Every single remedy of a hint that is made of options."""
    for way in hint.removeprefix("what would do: ").split(", "):
        flag, _, values = way.partition(" ")
        if flag == "--variant":
            yield from (f"{flag} {value}" for value in values.split(" or "))
        elif flag.startswith("--"):
            yield way


def asked_for(recipe: str, name: str) -> Iterator[dict[str, Any]]:
    """What an operator may ask for of a recipe on a machine."""
    resolver = own(recipe)
    strategies = resolver.chooser.offered(machine(name).profile)
    yield from ({}, {"nodes": 2}, {"nodes": 3})
    for variant in resolver.recipe.variants:
        yield {"variant": variant}
        yield {"variant": variant, "nodes": 2}
        yield from ({"variant": variant, "strategy": strategy} for strategy in strategies)
    yield from ({"strategy": strategy} for strategy in strategies)


def table(recipe: str, name: str) -> tuple[Fit, ...]:
    asked = request(name)
    assert asked.profile is not None
    return fits(own(recipe), asked, asked.profile, Load())


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_an_error_offers_does(recipe: str, name: str) -> None:
    for asked in asked_for(recipe, name):
        try:
            planned(recipe, name, **asked)
        except NothingFits as error:
            hint = error.hint
        except LaunchError:
            continue
        else:
            continue
        for remedy in each(hint):
            plan = planned(recipe, name, **asked | options(remedy))
            assert refused(plan, name) == [], (asked, remedy)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_the_table_offers_does(recipe: str, name: str) -> None:
    for row in table(recipe, name):
        asked: dict[str, Any] = {"variant": row.variant, "strategy": row.strategy}
        if row.strategy.startswith("multi_node"):
            asked["nodes"] = row.nodes
        if not row.fits and not row.change.startswith("--"):
            continue
        remedy = "" if row.fits else row.change
        plan = planned(recipe, name, **asked | options(remedy))
        assert refused(plan, name) == [], (asked, remedy)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_planned_has_room_for_its_weights(recipe: str, name: str) -> None:
    for asked in asked_for(recipe, name):
        try:
            plan = planned(recipe, name, **asked)
        except LaunchError:
            continue
        assert [what for what in refused(plan, name) if "needed for variant" in what] == [], asked


def test_a_recipe_that_offers_no_strategy_there_has_no_table() -> None:
    resolver = build.recipe("compatible_strategies: []")
    with pytest.raises(NothingFits) as caught:
        fits(resolver, Request(), build.profile("h200"), Load())
    assert caught.value.message == "org/model offers no strategy for 1 node of h200"
    assert caught.value.hint == "strategies: none"
