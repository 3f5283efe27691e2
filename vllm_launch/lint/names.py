"""Backends, connectors, parsers and variables, by the releases that a recipe allows."""

from __future__ import annotations

from ..preflight.environment import is_vllms
from ..preflight.layout import connectors
from ..preflight.named_parts import PARSERS, backends
from ..preflight.plan import config, value
from ..preflight.renames import CONNECTOR_KEYS, VARIABLES
from ..preflight.version import is_less
from .fault import at
from .releases import nearest, of_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .fault import Fault, Spot
    from .releases import Span
    from .written import Block


# Keys of JSON values that take what a flag takes.
_KERNELS = (
    ("--speculative-config", "moe_backend", "--moe-backend"),
    ("--kernel-config", "moe_backend", "--moe-backend"),
    ("--kernel-config", "linear_backend", "--linear-backend"),
)


def parts_known(block: Block, span: Span, plugins: Collection[str]) -> Iterator[Fault]:
    """What the arguments of a block name, apart from what a plugin brings."""
    places = {one.given.flag: one.spot for one in block.arguments}
    for kind, noun, flag, name in _named(block, plugins):
        if "$" in name or not name:
            continue
        having = span.options.having(kind, name)
        near = "" if having else nearest(name, span.options.known(kind, span.newest))
        found = of_name(span, places.get(flag, block.spot), noun, name, having, near=near)
        if found is not None:
            yield found
    yield from _connector_keys(block, span, places)


def _named(block: Block, plugins: Collection[str]) -> Iterator[tuple[str, str, str, str]]:
    process = block.process
    for flag, name in dict.fromkeys(backends(process)):
        yield "attention_backends", "the attention backend", flag, name
    for flag, key, offers in _KERNELS:
        kernel = config(process, flag).get(key)
        if isinstance(kernel, str):
            kind, name = f"choices:{offers}", kernel.lower().replace("-", "_")
            yield kind, f"the choice {key} of {flag}:", flag, name
    for one in connectors(process):
        if not one.module:
            yield "kv_connectors", "the KV connector", one.flag, one.name
    for flag, plugin, kind, noun in PARSERS:
        name = value(process, flag) or ""
        if plugin not in plugins and name.lower() != "none":
            yield kind, f"the {noun}", flag, name


def _connector_keys(block: Block, span: Span, places: dict[str, Spot]) -> Iterator[Fault]:
    """Keys of connectors that no release reads yet."""
    newest = span.options.releases[span.last]
    for one in connectors(block.process):
        for (name, key), last_without in CONNECTOR_KEYS.items():
            if one.name == name and key in one.extra and is_less(last_without, newest) is False:
                declared = key in span.unreleased
                yield at(
                    places.get(one.flag, block.spot),
                    "LINT_UNRELEASED" if declared else "LINT_UNKNOWN",
                    "note" if declared else "warning",
                    f"the key {key} of {name} is not read by any release to {newest}",
                    "It is ignored there.",
                )


def variables_known(block: Block, span: Span) -> Iterator[Fault]:
    """VLLM_ variables; vLLM warns about one that it does not know, and ignores it."""
    for name, _, spot in block.variables:
        if not is_vllms(name):
            continue
        having = span.options.having("variables", name)
        instead = VARIABLES.get(name)
        near = "" if having else nearest(name, span.options.known("variables", span.newest))
        found = of_name(
            span, spot, "the variable", name, having, instead=instead, fatal=False, near=near
        )
        if found is not None and found.code == "LINT_RENAMED" and str(instead).startswith("VLLM_"):
            from .written import Word

            word = Word(text=name, spot=spot)
            found = found.replace(edits=(word.replaced(str(instead)),))
        if found is not None:
            yield found
