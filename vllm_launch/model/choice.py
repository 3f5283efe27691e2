"""What was picked for one run, by the operator or for them, and why."""

from __future__ import annotations

from .record import Record
from .taxonomy import HardwareProfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from .source import Arguments, Variables

    Reason: TypeAlias = tuple[str, str, str]  # subject, what was picked, why


class Pool(Record):
    """The prefill or the decode pool of a pd_cluster, as asked for."""

    nodes: int | None = None  # None: the recipe's figure, else 1
    rank: int | None = None  # None: every node's process
    parallelism: str | None = None  # None: the recipe's


class Pools(Record):
    """Both pools; ``shared`` puts them on one node, half of its GPUs each."""

    prefill: Pool = Pool()
    decode: Pool = Pool()
    shared: bool = False


class Request(Record):
    """What is asked for. None leaves it to the rules of choosing."""

    hardware: str | None = None
    variant: str | None = None
    strategy: str | None = None
    nodes: int | None = None
    tp: int | None = None
    features: tuple[tuple[str, str | None], ...] | None = None  # exactly these
    add_features: tuple[tuple[str, str | None], ...] = ()  # beside the default ones
    drop_features: tuple[str, ...] = ()
    kv_offload: str | None = None
    instances: int | None = None
    pools: Pools | None = None
    preset: str | None = None
    point: str | None = None
    image: str | None = None
    args: Arguments = ()  # after everything else
    args_role: str | None = None  # only for the processes of this role; None: for all
    pool_args: tuple[tuple[str, Arguments], ...] = ()  # before these, each for one pool's servers
    env: Variables = ()
    model_path: str | None = None  # a local checkpoint, instead of the model id
    profile: HardwareProfile | None = None  # a real host's: plan for it and no other
    devices: tuple[str, ...] | None = None  # of that host, where not all are to be used
    mask: tuple[tuple[str, str], ...] | None = None  # what hides the others; None: by index
    mask_because: str = "--gpus"
    because: str = ""  # why the profile was picked
    set_by: tuple[
        tuple[str, str], ...
    ] = ()  # (option, what set it), such as ("tp", "config.yaml:3")

    def setter(self, option: str, usual: str) -> str:
        """What set an option."""
        return dict(self.set_by).get(option) or usual


class Choice(Record):
    """A request with everything decided."""

    hardware: HardwareProfile
    variant: str
    strategy: str
    nodes: int
    features: tuple[tuple[str, str | None], ...]  # (name, mode), in order
    kv_offload: str | None = None  # an option or a store
    pools: Pools | None = None
    preset: str | None = None
    point: str | None = None
    devices: tuple[str, ...] | None = None  # indices or UUIDs of the GPUs to use; None: all
    request: Request = Request()
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
