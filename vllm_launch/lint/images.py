"""Container images: whether a reference is one, and whether it will stay what it is."""

from __future__ import annotations

from ..resolve.images import is_image_reference
from .fault import at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .fault import Fault, Spot


def named(images: Iterable[tuple[str, Spot]]) -> Iterator[Fault]:
    """Every image that a file names."""
    for image, spot in images:
        if not is_image_reference(image):
            yield at(
                spot, "LINT_IMAGE", "error", f"{image!r} is no image reference",
                "Write NAME:TAG or NAME@sha256:…, without a command before it.",
            )  # fmt: skip
        elif "@sha256:" not in image and not _stays(image):
            yield at(
                spot, "LINT_IMAGE_TAG", "note", f"{image} may be another image tomorrow",
                "Name a release's tag, or the digest: NAME@sha256:…",
            )  # fmt: skip


def _stays(image: str) -> bool:
    """Whether a tag is one that is not moved: a release's, or a commit's."""
    import re

    tag = image.rpartition("/")[2].partition(":")[2]
    return bool(re.search(r"\d+\.\d+\.\d+", tag) or re.search(r"[0-9a-f]{12,}$", tag))
