"""A recipe as lists and searches know it."""

from __future__ import annotations

from .record import Record


class Served(Record):
    """A variant: what it is called, and the checkpoint that it serves."""

    id: str
    checkpoint: str
    description: str = ""


class Entry(Record):
    """What a recipe's first pages say."""

    id: str
    source: str  # which one it is from
    title: str = ""
    provider: str = ""
    description: str = ""
    tasks: tuple[str, ...] = ()
    parameter_count: str = ""
    active_parameters: str = ""
    context_length: int | None = None  # tokens
    hardware: tuple[tuple[str, str], ...] = ()  # profile id, "verified" or another word
    variants: tuple[Served, ...] = ()

    @property
    def verified(self) -> frozenset[str]:
        """The hardware that it was seen to run on."""
        return frozenset(name for name, support in self.hardware if support == "verified")
