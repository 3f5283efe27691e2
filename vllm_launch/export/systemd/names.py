"""The names of units and of the files that they read."""

from __future__ import annotations

from ...model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...model.part import Part

ETC = "/etc/vllm-launch"


class Names(Record):
    """Of one deployment's units."""

    name: str  # of the deployment: a DNS label
    several: bool  # whether it has more than one part

    @property
    def target(self) -> str:
        """The unit that several parts belong to."""
        return f"vllm-{self.name}.target"

    @property
    def main_unit(self) -> str:
        """The unit that starts and stops all of it."""
        return self.target if self.several else f"vllm-{self.name}.service"

    @property
    def directory(self) -> str:
        """Where parts find their configuration files."""
        return f"{ETC}/{self.name}"

    @property
    def env_file(self) -> str:
        """The file of secrets, in ETC."""
        return f"{self.name}.env"

    def container(self, part: Part) -> str:
        """The name of a part's container."""
        return self.unit(part).removesuffix(".service")

    def unit(self, part: Part) -> str:
        """A part's own unit."""
        suffix = f"-{part.name}" if self.several else ""
        return f"vllm-{self.name}{suffix}.service"
