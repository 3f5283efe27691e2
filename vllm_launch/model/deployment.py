"""What runs: the outcome of resolving."""

from __future__ import annotations

from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .choice import Choice
    from .recipe import Recipe
    from .source import Argument, Arguments, Source, Variable, Variables
    from .taxonomy import Companion


_EVERY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - compared with, not listened on
_EXPERT_PARALLEL = (
    "--enable-expert-parallel", "--no-enable-expert-parallel", "--disable-expert-parallel",
)  # fmt: skip
_TLS = ("--ssl-certfile", "--ssl-keyfile")


class ProcessPlan(Record):
    """What one node runs.

    ``layers`` holds every argument that was put forward, in merge order; ``arguments``
    those that held. ``variable_layers`` and ``variables`` likewise.
    """

    role: str  # "server", "head", "worker", "prefill", "decode" or "instance"
    rank: int
    model: str  # its name or path
    arguments: Arguments
    layers: Arguments
    variables: Variables
    variable_layers: Variables
    program: tuple[str, ...] = ("vllm", "serve")  # what the model's name follows
    own_options: tuple[str, ...] = ()  # flags that the program reads before vLLM's parser

    @property
    def title(self) -> str:
        """What people call it."""
        return f"{self.role} {self.rank}"

    @property
    def argv(self) -> list[str]:
        """The native command."""
        argv = [*self.program, self.model]
        for _, tokens, _ in self.arguments:
            argv += tokens
        return argv

    @property
    def env(self) -> dict[str, str]:
        """The variables that the command is given, by name."""
        return {name: value for name, value, _ in self.variables}

    @property
    def address(self) -> str:
        """The one address that it answers at; "" where it is every one, or not known yet."""
        host = (self.value("--host") or "").removeprefix("[").removesuffix("]")
        return "" if host in _EVERY_ADDRESS or "$" in host else host

    @property
    def encrypted(self) -> bool:
        """Whether it answers over TLS alone."""
        return any(flag.partition("=")[0] in _TLS for flag, _, _ in self.arguments)

    def value(self, flag: str) -> str | None:
        """The value of a flag, or None where it is absent or has none."""
        prefix = f"{flag}="
        for name, tokens, _ in self.arguments:
            if name == flag:
                return tokens[1] if len(tokens) > 1 else None
            if "=" in name and name.startswith(prefix):
                return name[len(prefix) :]
        return None

    def number(self, flag: str) -> int | None:
        """A flag's value as a number; None where it is absent or no number."""
        text = self.value(flag) or ""
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None

    def holders_of_weights(self, strategy: str) -> int:
        """GPUs, on all nodes, that hold one copy of the weights together, by the flags."""
        sizes = ["tensor-parallel", "pipeline-parallel", "prefill-context-parallel"]
        if strategy.endswith("_dep") or self._shares_experts:
            sizes.append("data-parallel")
        holders = 1
        for size in sizes:
            holders *= self.number(f"--{size}-size") or 1
        return holders

    @property
    def _shares_experts(self) -> bool:
        """Whether data-parallel ranks hold a part of the experts each: the last flag says."""
        said = [flag for flag, _, _ in self.arguments if flag in _EXPERT_PARALLEL]
        return said[-1:] == [_EXPERT_PARALLEL[0]]

    def beaten(self, argument: Argument) -> Arguments:
        """What was put forward for the same flag and lost, the nearest loser first."""
        flag = argument[0].partition("=")[0]
        same = [
            a for a in self.layers if a[0].partition("=")[0] == flag and a[2] is not argument[2]
        ]
        return tuple(reversed(same))

    def beaten_variables(self, variable: Variable) -> Variables:
        """What else was put forward for the same variable, the nearest loser first."""
        same = [v for v in self.variable_layers if v[0] == variable[0] and v[2] is not variable[2]]
        return tuple(reversed(same))


class KvStorePlan(Record):
    """The shared store's part of a deployment."""

    instances: int
    master: str | None  # a shell command
    mooncake_config: Any  # the JSON file that MOONCAKE_CONFIG_PATH names on each instance
    store_config: Any  # the JSON file of the store service; None where there is none
    store_command: str | None = None
    master_source: Source | None = None
    store_source: Source | None = None


class DynamoPlan(Record):
    """What stands before servers that are Dynamo's workers."""

    frontend: Arguments
    variables: Variables
    requirements: tuple[str, ...] = ()  # Python packages that the image has to have
    port: int = 8000  # where the frontend answers


# Flags that name a machine which other ranks are on.
_OF_OTHER_NODES = ("--master-addr", "--data-parallel-address")


class Deployment(Record):
    """The process plans of one choice, with what runs beside them."""

    recipe: Recipe
    choice: Choice
    deploy_type: str  # "single_node", "multi_node", "pd_cluster" or "kv_store_lb"
    image: str | None  # None: none is known for this hardware
    image_source: Source
    processes: tuple[ProcessPlan, ...]
    router: str | None = None  # a shell command
    router_port: int | None = None  # its usual one; None: vllm-router's own
    router_source: Source | None = None
    pools_shared: bool = False  # prefill and decode on one machine, half of its GPUs each
    companions: tuple[Companion, ...] = ()
    store: KvStorePlan | None = None
    dynamo: DynamoPlan | None = None  # None: vLLM's own API server answers
    notes: tuple[str, ...] = ()

    @property
    def is_alone(self) -> bool:
        """Whether it is one server with nothing beside it: it is no part of anything."""
        beside = self.router or self.companions or self.store or self.dynamo
        return not beside and len(self.processes) == 1

    @property
    def on_host_network(self) -> bool:
        """Whether its containers use the machine's own network: where parts reach each other.

        Ranks and side channels pick and announce ports that nobody could publish beforehand. A
        TPU's container has that network in any case.
        """
        if not self.is_alone or self.choice.hardware.brand == "Google":
            return True
        flags = {flag.partition("=")[0] for flag, _, _ in self.processes[0].arguments}
        return not flags.isdisjoint(_OF_OTHER_NODES)
