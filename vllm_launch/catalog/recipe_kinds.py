"""Readers of values that only recipes have."""

from __future__ import annotations

from ..model.flags import long
from ..model.recipe import Images, PresetImage
from .kinds import SHAPES, flag, image, keyed, listed, mapping, named, text
from .reading import ABSENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..model.recipe import Floors, Size, Word
    from .reading import Reader, Reading
    from .tree import Node

_BRANDS = ("nvidia", "amd", "tpu", "intel")


def one_or_keyed(record: type[Size | Word | Floors], reader: Reader) -> Reader:
    """One value, or one for each hardware key; a single one stands under "default"."""
    many = keyed(reader)

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] == "map":
            values = many(node, path, reading)
        else:
            value = reader(node, path, reading)
            if value is ABSENT:
                return ABSENT
            values = {"default": value}
        return record(by_key=values, where=reading.source(node, path))

    SHAPES[read] = ("one or keyed", reader)
    return read


def images(single: str) -> Reader:
    """Images by brand; a plain string counts for the brand ``single`` ("*": for any)."""

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] != "map" or any(_is_cuda(key) for key, _, _, _ in node[3]):
            found = {single: _brand_image(node, path, reading)}
        else:
            found = _brand_images(node, path, reading)
        by_brand = {brand: image for brand, image in found.items() if image is not ABSENT}
        return Images(by_brand=by_brand, where=reading.source(node, path))

    SHAPES[read] = ("images", single)
    return read


def _brand_images(node: Node, path: str, reading: Reading) -> dict[str, Any]:
    found = {}
    for key, line, column, child in node[3]:
        below = f"{path}.{key}"
        if key not in _BRANDS:
            reading.unknown_key(("text", line, column, key, ""), below, _BRANDS)
        elif child[0] != "null":
            found[key] = _brand_image(child, below, reading)
    return found


def _brand_image(node: Node, path: str, reading: Reading) -> Any:
    """One image; or of a map by CUDA version, the newest one's."""
    if node[0] != "map":
        return image(node, path, reading)
    found = {}
    for key, line, column, child in node[3]:
        below = f"{path}.{key}"
        if not _is_cuda(key):
            reading.unknown_key(("text", line, column, key, ""), below, ("cu129", "cu130"))
        elif child[0] != "null":
            found[int(key[2:])] = image(child, below, reading)
    return found[max(found)] if found else ABSENT


def _is_cuda(key: str) -> bool:
    return key.startswith("cu") and key[2:].isdecimal() and key.isascii()


def preset_image(pinned: Reader) -> Reader:
    """An image, or what ``pinned`` reads of a mapping."""

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] == "map":
            return pinned(node, path, reading)
        value = image(node, path, reading)
        if value is ABSENT:
            return ABSENT
        return PresetImage(vllm=value, where=reading.source(node, path))

    SHAPES[read] = ("image or", pinned)
    return read


def choice(node: Node, path: str, reading: Reading) -> Any:
    """Whether a feature is on, or in which mode."""
    return node[3] if node[0] == "bool" else text(node, path, reading)


def flags(node: Node, path: str, reading: Reading) -> Any:
    """A list of flags, each with its place."""
    nodes = _flag_nodes(node, path, reading)
    if nodes is ABSENT:
        return ABSENT
    return tuple((long(child[3]), reading.source(child, path)) for child in nodes)


def _flag_node(node: Node, path: str, reading: Reading) -> Any:
    return ABSENT if flag(node, path, reading) is ABSENT else node


def json_arguments(node: Node, path: str, reading: Reading) -> Any:
    """Flags with the values to merge into their JSON, each with its place."""
    values = _mappings(node, path, reading)
    if values is ABSENT:
        return ABSENT
    for key, line, column, _ in node[3]:
        flag(("text", line, column, key, ""), f"{path}.{key}", reading)
    return tuple(
        (long(key), values[key], reading.source(("text", line, 1, key, ""), path))
        for key, line, _, _ in node[3]
        if key in values
    )


def some_variants(reader: Reader) -> Reader:
    """One variant at least: there is nothing to serve without."""
    read_all = named(reader)

    def read(node: Node, path: str, reading: Reading) -> Any:
        if node[0] == "map" and all(child[0] == "null" for _, _, _, child in node[3]):
            return reading.problem(node, path, "found no variant; expected one or more")
        return read_all(node, path, reading)

    SHAPES[read] = ("some named", reader)
    return read


_flag_nodes = listed(_flag_node)
_mappings = keyed(mapping)
