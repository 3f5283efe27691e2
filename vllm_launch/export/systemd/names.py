"""The names of units and of the files that they read."""

from __future__ import annotations

from ...model.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...model.part import Part

ETC = "/etc/vllm-launch"


class Names(Record):
    """Of one deployment's units."""

    whole: str  # of the deployment: a DNS label
    several: bool  # whether it has more than one part

    @property
    def target(self) -> str:
        return f"vllm-{self.whole}.target"

    @property
    def whole_unit(self) -> str:
        """What is started and stopped."""
        return self.target if self.several else f"vllm-{self.whole}.service"

    @property
    def directory(self) -> str:
        """Where parts find their configuration files."""
        return f"{ETC}/{self.whole}"

    @property
    def env_file(self) -> str:
        return f"{self.whole}.env"

    def container(self, part: Part) -> str:
        return self.unit(part).removesuffix(".service")

    def unit(self, part: Part) -> str:
        suffix = f"-{part.name}" if self.several else ""
        return f"vllm-{self.whole}{suffix}.service"
