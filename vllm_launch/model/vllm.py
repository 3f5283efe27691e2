"""What the vLLM releases know: options, configuration keys, variables, backends, parsers."""

from __future__ import annotations

from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_OPPOSITE = {"--enable-": "--disable-", "--disable-": "--enable-"}


class Option(Record):
    """One option of ``vllm serve`` in some releases."""

    flags: tuple[str, ...]  # the first is its name
    kind: str  # "value", "bool" (also as --no-…) or "flag" (on by being there)
    type: str = ""  # the parser's function: "int", "parse_dataclass", …
    nargs: str = ""  # "+": one or more words, "?": none or one
    deprecated: int = 0  # a bit for each release that says so
    releases: int = 0  # a bit for each release that has it, the lowest for the oldest


class VllmOptions(Record):
    """Names by release. A set of releases is an integer, the lowest bit the oldest release.

    Kinds of names: "variables", "attention_backends", "kv_connectors", "tool_parsers",
    "reasoning_parsers", "flags", "fields:CLASS" (of a configuration class), "choices:--flag".
    """

    releases: tuple[str, ...]  # ascending
    names: Mapping[str, Mapping[str, int]]
    options: Mapping[str, tuple[Option, ...]]  # by flag; a name has one entry for each form
    asked: int | None = None  # the one of these that is no release: a build that was asked itself

    def having(self, kind: str, name: str) -> int:
        """The releases that have a name."""
        return self.names.get(kind, {}).get(name, 0)

    def known(self, kind: str, among: int) -> list[str]:
        """The names that any of these releases has."""
        return [name for name, bits in self.names.get(kind, {}).items() if bits & among]

    def forms(self, flag: str) -> tuple[Option, ...]:
        """An option's forms by one of its flags; --no-… names those of a boolean option."""
        return self.options.get(flag) or self.options.get(self._negated(flag), ())

    def having_flag(self, flag: str) -> int:
        """The releases that accept a flag, also as --no-…"""
        return self.having("flags", flag) or self.having("flags", self._negated(flag))

    def _negated(self, flag: str) -> str:
        """What --no-… negates: a boolean option's own flag, never the opposite of one."""
        base = f"--{flag[5:]}" if flag.startswith("--no-") else ""
        forms = self.options.get(base)
        if not forms or forms[0].kind != "bool" or base == opposite(forms[0].flags[0]):
            return ""
        return base


class Asked(Record):
    """What came of asking the target's own parser, where that was wanted."""

    version: str = ""  # of the build that answered, "0.32.0+cpu"; "": none did
    error: str = ""  # why none did
    command: str = ""  # shell text that mends or shows it
    refused: str = ""  # what its parser says against the plan's command; "": nothing
    certain: bool = True  # whether the parser would say that on any machine


def opposite(flag: str) -> str:
    """What newer releases pair with a flag: --disable-x with --enable-x, and the reverse."""
    for prefix, other in _OPPOSITE.items():
        if flag.startswith(prefix):
            return other + flag[len(prefix) :]
    return ""
