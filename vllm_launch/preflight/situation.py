"""What checks look at: a plan, and what is known of the machine and of vLLM."""

from __future__ import annotations

from ..model.record import Record
from ..model.system import SystemFacts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..model.deployment import Deployment, ProcessPlan
    from ..model.host import HostFacts
    from ..model.kv_cache import KvCache
    from ..model.part import Part
    from ..model.recipe import Variant
    from ..model.vllm import Asked, VllmOptions


class Shape(Record):
    """What a checkpoint's config says about the plan's tensor parallel size and context."""

    refused: str = ""  # why the size cannot be; "": it can
    legal: tuple[int, ...] = ()  # the sizes that can, up to the node's GPUs
    kv_cache: KvCache | None = None
    weight_bytes: int | None = None
    context_length: int | None = None  # tokens that the model is made for


class Situation(Record):
    """One process of a deployment, about to be started on one machine."""

    deployment: Deployment
    process: ProcessPlan
    runtime: str = "native"  # or "docker", "podman"
    hardened: bool = False
    facts: HostFacts | None = None  # None: planned for a profile, not for this machine
    system: SystemFacts = SystemFacts()
    options: VllmOptions | None = None  # None: nothing is known of vLLM's releases
    asked: Asked | None = None  # None: nobody wanted the target's own parser to be asked
    shape: Shape | None = None  # None: no config is at hand
    beside: Part | None = None  # what runs beside servers; ``process`` then has its words alone
    found_later: tuple[str, ...] = ()  # placeholders that will be filled when the process runs
    in_files: tuple[str, ...] = ()  # placeholders left in files that it reads
    written: tuple[str, ...] = ()  # files that are written before the process starts
    # Of the deployment's servers, as far as known: what each is called, its machine's number and
    # address.
    addresses: tuple[tuple[str, int, str], ...] = ()

    @property
    def native(self) -> bool:
        """Whether the process runs without a container engine of ours."""
        return self.runtime == "native"

    @property
    def on_host_network(self) -> bool:
        """Whether the machine's own network is the process's, and no container's."""
        return self.native or self.deployment.on_host_network

    @property
    def brand(self) -> str:
        """The brand of the hardware that is planned for."""
        return self.deployment.choice.hardware.brand

    @property
    def variant(self) -> Variant:
        """The variant that is planned."""
        return self.deployment.recipe.variants[self.deployment.choice.variant]

    @property
    def environment(self) -> dict[str, str]:
        """The variables of the process: the plan's and, without a container, those around it."""
        around = dict(self.system.variables) if self.native else {}
        return {**around, **self.process.env}
