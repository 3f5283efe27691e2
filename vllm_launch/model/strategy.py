"""Parallelism layouts and the shared KV stores that wrap them."""

from __future__ import annotations

from .record import Record
from .source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .source import Arguments, Variables

_NOWHERE = Source(layer="")


class HardwareMatch(Record):
    """What a strategy needs of a node."""

    min_gpus: int = 1
    max_gpus: int | None = None
    multi_node: bool = False
    architecture: str = ""  # "moe": for mixture-of-experts models only


class StrategyRole(Record):
    """What a prefill or decode pool runs with, whatever the model."""

    vllm_args: Arguments = ()
    env: Variables = ()
    parallelism: str | None = None  # "tp", "tep" or "dep"
    where: Source


class Router(Record):
    """The process in front of several servers."""

    policy: str = "round_robin"
    install: Any = None
    port: int | None = None
    intra_node_data_parallel_size: int | None = None  # pins the router's own figure
    where: Source = _NOWHERE


class Strategy(Record):
    """One parallelism layout, from strategies/NAME.yaml."""

    name: str
    deploy_type: str  # "single_node", "multi_node" or "pd_cluster"
    display_name: str = ""
    short_label: str = ""
    orientation: str = ""
    description: str = ""
    hardware_match: HardwareMatch = HardwareMatch()
    parallelism: str | None = None  # "tp_pp" or "tp_dp" where the name says it too
    parallel_flag: str = "--tensor-parallel-size"
    vllm_args: Arguments = ()
    env: Variables = ()
    prefill: StrategyRole | None = None
    decode: StrategyRole | None = None
    router: Router = Router()
    where: Source


class StoreServer(Record):
    """What each vLLM instance of a KV store runs with."""

    vllm_args: Arguments = ()
    env: Variables = ()
    install: Any = None
    port: int = 8000


class StoreRole(Record):
    """What a prefill or decode role adds to use the store."""

    args: Arguments = ()


class StoreRoles(Record):
    """The store's arguments under prefill/decode."""

    prefill: StoreRole = StoreRole()
    decode: StoreRole = StoreRole()


class StoreProcess(Record):
    """A process of the store: its metadata master, or the store service itself."""

    command: str
    description: str = ""
    note: str = ""
    config: Any = None  # the process's JSON config file
    where: Source = _NOWHERE


class StoreClient(Record):
    """The config file that each vLLM instance reads."""

    mode: str = ""
    note: str = ""
    template: Any = None


class KvStore(Record):
    """A shared KV store that wraps a serving strategy, from kv_store/NAME.yaml."""

    name: str
    deploy_type: str = "kv_store_lb"
    display_name: str = ""
    label: str = ""
    order: float = 0
    description: str = ""
    router: Router = Router()
    vllm: StoreServer = StoreServer()
    pd: StoreRoles = StoreRoles()
    mooncake_master: StoreProcess | None = None
    mooncake_store_config: StoreProcess | None = None
    mooncake_vllm_config: StoreClient | None = None
    min_vllm_version: str = ""
    default_instances: int = 1
    where: Source
