"""References of container images. Pure."""

from __future__ import annotations

_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@")
_DIGITS = frozenset("0123456789abcdef")
_DIGESTS = {"sha256": 64, "sha384": 96, "sha512": 128}  # characters of each


def is_image_reference(image: str) -> bool:
    """Whether text has the shape of an image reference: [HOST/]NAME[:TAG][@DIGEST].

    What engines refuse for its letters counts as none: only a host and a tag have capitals. One
    with capitals alone is taken for a host by some engines, and is more often a name written wrong.
    """
    if not image or not image[0].isalnum() or not _ALLOWED.issuperset(image):
        return False
    name, at, digest = image.partition("@")
    first, slash, rest = name.partition("/")
    if slash and (first == "localhost" or "." in first or ":" in first):
        name = rest
    place, slash, last = name.rpartition("/")
    last, colon, tag = last.partition(":")
    path = f"{place}{slash}{last}"
    plain = path == path.lower() and ":" not in place and all(path.split("/"))
    tagged = bool(tag) == bool(colon) and ":" not in tag
    return plain and tagged and (not at or _is_digest(digest))


def _is_digest(text: str) -> bool:
    kind, _, digits = text.partition(":")
    return len(digits) == _DIGESTS.get(kind) and _DIGITS.issuperset(digits)


def holds_login(image: str) -> bool:
    """Whether a user and a password stand before an image's name, as in USER:PASSWORD@HOST/NAME."""
    before, _, behind = image.partition("@")
    return ":" in before and bool(behind) and ("/" in behind or not behind.startswith("sha"))


def told(image: str) -> str:
    """A text that should be a reference, in quotes, without what may be a password in it."""
    return repr(f"…@{image.rpartition('@')[2]}" if holds_login(image) else image)


def no_reference(image: str) -> str:
    """That a text is none."""
    return f"{told(image)} is no image reference"
