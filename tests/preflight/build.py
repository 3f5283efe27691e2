"""Situations to check: a plan written in one line, on a machine where all is well."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vllm_launch.model.choice import Choice
from vllm_launch.model.deployment import Deployment, KvStorePlan, ProcessPlan
from vllm_launch.model.finding import Finding
from vllm_launch.model.host import Gpu, HostFacts
from vllm_launch.model.recipe import Meta, Model, Recipe, Variant
from vllm_launch.model.source import Source, paired
from vllm_launch.model.system import (
    Cgroup,
    Engine,
    Fabric,
    Filesystem,
    Hub,
    HugePool,
    Image,
    Interface,
    Name,
    Port,
    SystemFacts,
    Vllm,
    Weights,
)
from vllm_launch.model.taxonomy import HardwareProfile
from vllm_launch.model.vllm import VllmOptions
from vllm_launch.preflight import CHECKS, Shape, Situation, wanted
from vllm_launch.vllm_options import load

GIB, MIB = 1 << 30, 1 << 20
RECIPE = Source(layer="model.base_args", file="recipe.yaml", line=7)
OPERATOR = Source(layer="operator", detail="behind --")
BRANDS = {
    "h200": "NVIDIA",
    "b300": "NVIDIA",
    "gb200": "NVIDIA",
    "mi355x": "AMD",
    "ironwood": "Google",
    "xeon6": "Intel",
}
_BY_CODE = {check.code: check for check in CHECKS}


class Case(NamedTuple):
    """One check in one situation, and what it has to say."""

    code: str
    kind: str  # "pass", "found" or "unknown"
    name: str
    situation: Situation
    told: list[str] | None  # None: the check does not apply

    @property
    def id(self) -> str:
        return f"{self.code}-{self.kind}-{self.name}"


@functools.cache
def options() -> VllmOptions:
    """The table that is shipped."""
    return load()


def findings(situation: Situation, code: str) -> list[Finding] | None:
    """What one check finds; None where it does not apply."""
    found = _BY_CODE[code].run(situation)
    return None if found is None else list(found)


def told(situation: Situation, code: str) -> list[str] | None:
    """The same in short: severity and message."""
    found = findings(situation, code)
    return None if found is None else [f"{one.severity}: {one.what}" for one in found]


def only(situation: Situation, code: str) -> Finding:
    """The one finding of a check."""
    found = findings(situation, code)
    assert found is not None
    (one,) = found
    return one


def process(
    command: str | Sequence[str] = "",
    env: Mapping[str, str] | None = None,
    *,
    role: str = "server",
    rank: int = 0,
    source: Source = RECIPE,
    model: str = "org/model",
) -> ProcessPlan:
    """A process plan with these arguments."""
    words = shlex.split(command) if isinstance(command, str) else list(command)
    given = paired((word, source) for word in words)
    variables = tuple((name, value, source) for name, value in (env or {}).items())
    return ProcessPlan(
        role=role,
        rank=rank,
        model=model,
        arguments=given,
        layers=given,
        variables=variables,
        variable_layers=variables,
    )


def profile(hardware: str = "h200", gpus: int = 8) -> HardwareProfile:
    """A hardware profile."""
    generation = {"AMD": "amd", "Intel": "cpu"}.get(BRANDS[hardware], "hopper")
    return HardwareProfile(
        id=hardware, brand=BRANDS[hardware], generation=generation, gpu_count=gpus, vram_gb=1128
    )


def recipe(
    *,
    vram: float | None = 100,
    minimum: str = "",
    hardware: Mapping[str, str] | None = None,
    **model: Any,
) -> Recipe:
    """A recipe of one variant."""
    return Recipe(
        id="org/model",
        where=Source(layer="recipe", file="recipe.yaml", line=1),
        meta=Meta(hardware=hardware or {}),
        model=Model(model_id="org/model", min_vllm_version=minimum, **model),
        variants={
            "default": Variant(
                id="default",
                vram_minimum_gb=vram,
                where=Source(layer="variants.default", file="recipe.yaml", line=9),
            )
        },
    )


def situation(
    command: str | Sequence[str] = "",
    env: Mapping[str, str] | None = None,
    *,
    hardware: str = "h200",
    deploy_type: str = "single_node",
    strategy: str = "single_node_tp",
    role: str = "server",
    rank: int = 0,
    model: str = "org/model",
    source: Source = RECIPE,
    others: Sequence[ProcessPlan] = (),
    image: str | None = "vllm/vllm-openai:v0.33.0",
    image_source: Source = RECIPE,
    store: KvStorePlan | None = None,
    router: str | None = None,
    runtime: str = "native",
    hardened: bool = False,
    facts: HostFacts | None = None,
    system: SystemFacts | None = None,
    shape: Shape | None = None,
    known: VllmOptions | str | None = "all",
    vllm: str = "0.33.0",
    of: Recipe | None = None,
    **changes: Any,
) -> Situation:
    """One process about to start, on a machine where all is well but for ``changes``."""
    own = process(command, env, role=role, rank=rank, source=source, model=model)
    deployment = Deployment(
        recipe=of or recipe(),
        choice=Choice(
            hardware=profile(hardware), variant="default", strategy=strategy, nodes=1, features=()
        ),
        deploy_type=deploy_type,
        image=image,
        image_source=image_source,
        processes=(own, *others),
        router=router,
        store=store,
    )
    bare = Situation(
        deployment=deployment,
        process=own,
        runtime=runtime,
        hardened=hardened,
        facts=facts,
        shape=shape,
        options=options() if known == "all" else known,  # type: ignore[arg-type]
    )
    machine = system if system is not None else healthy(bare, vllm)
    return bare.replace(system=machine.replace(**changes))


def healthy(bare: Situation, vllm: str = "0.33.0") -> SystemFacts:
    """A machine that has whatever the plan wants."""
    asked = wanted(bare)
    return SystemFacts(
        huge_pools=(
            HugePool(size=GIB, total=4096, free=4096, nodes=((0, 2048, 2048), (1, 2048, 2048))),
            HugePool(size=2 * MIB, total=0, free=0, nodes=((0, 0, 0), (1, 0, 0))),
        ),
        memory_bytes=6144 * GIB,
        memory_available_bytes=6000 * GIB,
        cgroup=Cgroup(version=2, path="/sys/fs/cgroup/user.slice"),
        shm=Filesystem(path="/dev/shm", size=3072 * GIB, free=3072 * GIB),
        memlock=-1,
        nofile=1048576,
        capabilities=("IPC_LOCK", "SYS_NICE"),
        in_container=False,
        ports=tuple(Port(port=p, address=a, taken=False) for a, p in asked.ports),
        listeners=tuple(Port(port=p, address=a, taken=True) for a, p in asked.listeners),
        weights=Weights(
            path="/cache/hub/models--org--model/snapshots/1", present=True, expected=4,
            total_bytes=100 * GIB, present_bytes=100 * GIB,
        ),
        hub=Hub(cache="/cache/hub", token=True),
        disk=Filesystem(path="/cache/hub", size=8192 * GIB, free=4096 * GIB),
        numa_nodes=(0, 1),
        memory_policy=True,
        cpus_restricted=False,
        numactl=True,
        interfaces=(Interface(name="lo", up=True), Interface(name="eth0", up=True)),
        names=tuple(
            Name(name=name, addresses=("10.0.0.1",), here=_is_own(bare, name), interface="eth0")
            for name in asked.names
        ),
        own_name=Name(name="node", addresses=("10.0.0.1",), here=True),
        rdma_devices=("mlx5_0", "mlx5_1"),
        imex_channels=("channel0",),
        amd_devices=(("/dev/kfd", ""), ("/dev/dri/renderD128", "")),
        fabric=Fabric(switches=4, manager=True, version="580.65.06"),
        engine=Engine(
            name=bare.runtime, path=f"/usr/bin/{bare.runtime}", version="28.2.2",
            runtimes=("runc", "nvidia"), cdi=("nvidia.com/gpu",), hook=True,
        ),
        image=Image(
            reference=bare.deployment.image or "", local=True, entrypoint=("vllm", "serve"),
            digest="vllm/vllm-openai@sha256:0123", cuda="13.0.1",
        ),
        vllm=Vllm(
            path="/venv/bin/vllm", interpreter="/venv/bin/python", version=vllm,
            distribution="vllm", python="3.12", cuda="13.0",
        ),
        programs=tuple((name, f"/venv/bin/{name}") for name in asked.programs),
        files=tuple((path, "") for path in asked.files),
    )  # fmt: skip


def _is_own(bare: Situation, name: str) -> bool:
    """The head's address is the head's own, a side channel's is everyone's."""
    from vllm_launch.preflight.layout import layout
    from vllm_launch.preflight.network import head

    found = head(bare)
    return found is None or found[0] != name or layout(bare.process).is_head


def gpu(index: int, **fields: Any) -> Gpu:
    """A whole, idle H200."""
    values: dict[str, Any] = {
        "vendor": "NVIDIA",
        "name": "NVIDIA H200",
        "uuid": f"GPU-{index:08x}",
        "compute_capability": "9.0",
        "memory_bytes": 141 * GIB,
        "memory_used_bytes": GIB,
        "memory_free_bytes": 140 * GIB,
        "mig_enabled": False,
        "fabric_state": "completed",
        "ecc_uncorrected": 0,
        "ecc_pending": False,
        "numa_node": index // 4,
    }
    return Gpu(index=index, **{**values, **fields})


def host(*gpus: Gpu, **fields: Any) -> HostFacts:
    """A host with these GPUs, eight H200 where none is named."""
    values: dict[str, Any] = {"nvidia_driver": "580.65.06", "cuda_driver": "13.0"}
    return HostFacts(gpus=gpus or tuple(gpu(i) for i in range(8)), **{**values, **fields})


def amd_gpu(index: int, **fields: Any) -> Gpu:
    """A whole, idle MI355X."""
    values: dict[str, Any] = {
        "vendor": "AMD",
        "name": "AMD Instinct MI355X",
        "gfx_target": "gfx950",
        "memory_bytes": 288 * GIB,
        "memory_used_bytes": GIB,
        "compute_partition": "SPX",
        "memory_partition": "NPS1",
        "numa_node": index // 4,
    }
    return Gpu(index=index, **{**values, **fields})


def amd_host(*gpus: Gpu, **fields: Any) -> HostFacts:
    """A host with eight MI355X."""
    values: dict[str, Any] = {"rocm": "7.2.1", "video_gid": 44, "render_gid": 109}
    return HostFacts(gpus=gpus or tuple(amd_gpu(i) for i in range(8)), **{**values, **fields})


def transfer(**config: Any) -> str:
    """--kv-transfer-config with its value, quoted for a shell."""
    return f"--kv-transfer-config {shlex.quote(json.dumps(config))}"


def connector(name: str, role: str = "kv_both", **extra: Any) -> dict[str, Any]:
    """One connector's configuration."""
    found: dict[str, Any] = {"kv_connector": name, "kv_role": role}
    return {**found, "kv_connector_extra_config": extra} if extra else found


def unread(*fields: str, reason: str = "permission denied") -> dict[str, Any]:
    """Changes to system facts by which fields could not be read."""
    return {**dict.fromkeys(fields), "unknown": tuple((field, reason) for field in fields)}


NIXL = transfer(**connector("NixlConnector", "kv_producer"))
