"""The controlled words of a recipes directory: hardware profiles and KV offload options."""

from __future__ import annotations

from .record import Record
from .source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .source import Arguments, Variables


class HardwareProfile(Record):
    """A named GPU node. ``vram_gb`` is the node's nominal memory in GB, all devices together."""

    id: str
    brand: str  # "NVIDIA", "AMD", "Google", "Intel", "Huawei"
    generation: str  # "hopper", "blackwell", "amd", "tpu", "cpu", …
    display_name: str = ""
    description: str = ""
    gpu_count: int
    vram_gb: float
    multi_node: bool = False
    scalable: bool = True  # False: cannot be joined with others into a cluster
    restricted: bool = False  # True: only for recipes that list it in meta.hardware
    compute_arch: str = ""  # "sm90"
    gpu_names: tuple[str, ...] = ()  # as drivers report them, for a profile of one's own
    where: Source = Source(layer="hardware_profiles")


class Companion(Record):
    """A process that runs beside the server."""

    label: str
    description: str = ""
    command: str
    where: Source = Source(layer="companion")


class KvOffloadOption(Record):
    """A way to move KV cache to host memory, composing with the serving strategy."""

    id: str
    display_name: str = ""
    label: str = ""
    group: str = ""
    order: float = 0
    description: str = ""
    args: Arguments = ()
    env: Variables = ()
    strategies: tuple[str, ...] | None = None  # None: every serving strategy
    brands: tuple[str, ...] | None = None  # None: every brand
    requires_opt_in: bool = False  # only where the recipe's kv_offload_support verifies it
    companion: Companion | None = None
    install: Any = None
    docs_url: str = ""
    where: Source


class Task(Record):
    """A kind of work that models are listed under."""

    id: str
    display_name: str = ""
    description: str = ""


class Taxonomy(Record):
    """The whole of taxonomy.yaml."""

    hardware_profiles: Mapping[str, HardwareProfile]
    kv_offload: Mapping[str, KvOffloadOption] = {}
    kv_offload_groups: Any = None
    tasks: tuple[Task, ...] = ()
    strategies: tuple[str, ...] = ()
