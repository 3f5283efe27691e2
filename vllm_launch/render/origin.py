"""Which source a recipe is from, for people and for programs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..model.origin import Origin


def origin_lines(origin: Origin) -> Iterator[tuple[str, str]]:
    """What there is to say, each with what it is."""
    yield "source", origin.source
    if origin.revision:
        yield "revision", origin.revision
    yield "digest", origin.digest
    for path, digest in origin.overlays:
        yield "overlay", path
        yield "", digest
    for source in origin.shadowed:
        yield "hides", source


def origin_record(origin: Origin) -> dict[str, Any]:
    """The same for programs."""
    return {
        "source": origin.source,
        "revision": origin.revision or None,
        "digest": origin.digest,
        "overlays": [{"file": path, "digest": digest} for path, digest in origin.overlays],
        "hides": list(origin.shadowed),
    }
