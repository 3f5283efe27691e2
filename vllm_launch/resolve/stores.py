"""KV offload options and shared KV stores."""

from __future__ import annotations

from ..errors import NothingFits, UsageError
from ..model.deployment import KvStorePlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import ProcessPlan
    from ..model.recipe import Recipe
    from ..model.strategy import KvStore, Strategy
    from ..model.taxonomy import HardwareProfile, KvOffloadOption


def check_offload(
    option: KvOffloadOption, recipe: Recipe, strategy: Strategy, hardware: HardwareProfile
) -> None:
    """Raise where a KV offload option may not be used here, saying what is possible instead."""
    without = "leave --kv-offload out"
    if strategy.deploy_type == "pd_cluster":
        raise UsageError(
            f"KV offload {option.id} does not compose with pd_cluster, which owns "
            "--kv-transfer-config",
            hint="use a kv_store_… option, or a serving strategy",
        )
    if option.strategies and strategy.name not in option.strategies:
        raise UsageError(
            f"KV offload {option.id} does not work under the strategy {strategy.name}",
            hint=f"strategies that it works under: {', '.join(option.strategies)}; or {without}",
        )
    if option.brands and hardware.brand not in option.brands:
        raise NothingFits(
            f"KV offload {option.id} does not run on {hardware.brand} ({hardware.id})",
            hint=f"it runs on {', '.join(option.brands)}; {without}",
        )
    support = recipe.kv_offload_support.get(option.id)
    if support == "unsupported" or (option.requires_opt_in and support != "verified"):
        raise UsageError(
            f"KV offload {option.id} is not verified for {recipe.id}",
            hint=f"the recipe must list it as verified under kv_offload_support; or {without}",
        )


def store_plan(store: KvStore, instances: int) -> KvStorePlan:
    """The store's own processes and config files."""
    service, client = store.mooncake_store_config, store.mooncake_vllm_config
    return KvStorePlan(
        instances=instances,
        master=store.mooncake_master.command if store.mooncake_master else None,
        mooncake_config=client.template if client else None,
        store_config=service.config if service else None,
        store_command=service.command if service else None,
        master_source=store.mooncake_master.where if store.mooncake_master else None,
        store_source=service.where if service else None,
    )


def instance_router(store: KvStore, instances: int, first: ProcessPlan) -> str | None:
    """The shell command of the router over several instances; one needs none."""
    if instances < 2:
        return None
    port = first.value("--port") or store.vllm.port
    lines = [f"vllm-router --policy {store.router.policy}"]
    urls = f"{'https' if first.encrypted else 'http'}://$VLLM_INSTANCE_"
    lines += [f"--backend-url {urls}{i}:{port}" for i in range(1, instances + 1)]
    lines += ["--host $ROUTER_HOST", "--port $ROUTER_PORT", "--cache-threshold 0.5"]
    lines += ["--balance-abs-threshold 4", "--balance-rel-threshold 1.1"]
    return " \\\n    ".join(lines)
