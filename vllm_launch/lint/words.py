"""Words of a recipe that are read for nothing where they are written wrongly."""

from __future__ import annotations

from ..catalog.tree import child
from ..preflight.version import key
from .fault import Spot, at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..catalog.tree import Node
    from .fault import Fault

_STATUS = ("verified", "supported", "unsupported")
_STATUSES = (("meta", "hardware"), ("kv_offload_support",))
_MINIMUM = "min_vllm_version"


def meant(root: Node, file: str) -> Iterator[Fault]:
    """Versions that are none, and what is said of hardware and KV offload in no known word.

    A minimum that cannot be read is compared with nothing; another word than these, such as a
    misspelt "unsupported", leaves hardware offered.
    """
    for word, spot in _versions(root, file):
        if word and word != "nightly" and key(word) is None:
            yield at(
                spot, "LINT_FORMAT", "warning",
                f"{word!r} is no version of vLLM", "Write the number of a release, or nightly.",
            )  # fmt: skip
    for keys in _STATUSES:
        for word, spot in _texts(root, keys, file):
            if word not in _STATUS:
                yield at(
                    spot, "LINT_FORMAT", "warning",
                    f"{word!r} is none of {', '.join(_STATUS)}",
                    "Write one of them: any other word counts for listed, and no more.",
                )  # fmt: skip


def _versions(root: Node, file: str) -> Iterator[tuple[str, Spot]]:
    variants = child(root, "variants")
    names = [entry[0] for entry in variants[3]] if variants and variants[0] == "map" else []
    for keys in (("model",), *(("variants", name) for name in names)):
        for word, spot in _texts(root, keys, file):
            if spot.layer.endswith(f".{_MINIMUM}"):
                yield word, spot


def _texts(root: Node, keys: tuple[str, ...], file: str) -> Iterator[tuple[str, Spot]]:
    """The texts of a mapping: what they say, and where."""
    node: Node | None = root
    for each in keys:
        node = child(node, each) if node is not None else None
    if node is None or node[0] != "map":
        return
    for name, _, _, (kind, line, column, value, _) in node[3]:
        if kind == "text":
            yield (
                value,
                Spot(
                    layer=".".join((*keys, name)),
                    file=getattr(line, "file", file),
                    line=int(line),
                    column=column,
                ),
            )
